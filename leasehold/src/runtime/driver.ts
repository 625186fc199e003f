/**
 * What every core needs around it, in a simulated world and in a real process alike.
 *
 * An input goes to the core with the present instant; before it, the suspension guard is asked about
 * that very instant, so that nothing is decided on a clock that stood still; the effects are carried
 * out in order; then the one alarm is set.
 *
 *     input ──► was the machine suspended? ──► core ──► effects ──► alarm
 *                        └─ yes: core.suspended first
 *
 * An input that comes while another is being carried out waits for it: a core is never entered twice.
 *
 * If an effect throws, what the core wanted done after it in that input is not done. No core takes for
 * done what it has not heard of, so nothing unsafe comes of that: a message is as if lost, a batch as if
 * never answered. All else goes on: inputs that wait are taken, the alarm is set, later inputs are taken;
 * then the first thing thrown is thrown to whoever brought the input in. So one fault neither is
 * swallowed nor ends all renewals in a process that survives it.
 */

import type { Runtime } from './runtime.ts';
import type { SuspensionGuard } from './suspension.ts';
import { type Instant, instant } from './time.ts';

export interface Core<Effect> {
  /** When {@link wake} next has something to do. */
  readonly wakeAt: Instant | undefined;
  wake(now: Instant): Effect[];
  suspended(now: Instant): Effect[];
}

/** A timer that is set anew after every input; undefined turns it off. */
export interface Alarm {
  set(at: Instant | undefined): void;
}

export interface DriverOptions<Effect> {
  readonly core: Core<Effect>;
  readonly clock: Pick<Runtime, 'now'>;
  readonly guard: SuspensionGuard;
  /** Makes the alarm that wakes the core. */
  alarm(wake: () => void): Alarm;
  carryOut(effect: Effect): void;
  /** The guard says that the machine was suspended; the core is about to hear of it. */
  suspended?(): void;
  /** After an input and all that came of it. */
  afterwards?(): void;
}

export class Driver<Effect> {
  readonly #options: DriverOptions<Effect>;
  readonly #alarm: Alarm;
  readonly #waiting: ((now: Instant) => Effect[])[] = [];
  #busy = false;
  #over = false;

  constructor(options: DriverOptions<Effect>) {
    this.#options = options;
    this.#alarm = options.alarm(() => this.input((now) => options.core.wake(now)));
  }

  input(act: (now: Instant) => Effect[]): void {
    if (this.#over) return;
    this.#waiting.push(act);
    if (this.#busy) return;
    this.#busy = true;
    let fault: { readonly thrown: unknown } | undefined;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        this.#take(next);
      } catch (thrown) {
        fault ??= { thrown };
      }
    }
    this.#busy = false;
    try {
      if (!this.#over) this.#alarm.set(this.#options.core.wakeAt);
      this.#options.afterwards?.();
    } catch (thrown) {
      fault ??= { thrown };
    }
    if (fault !== undefined) throw fault.thrown;
  }

  /** No input after this one has any effect. */
  stop(): void {
    this.#over = true;
    this.#alarm.set(undefined);
  }

  #take(act: (now: Instant) => Effect[]): void {
    const { core, clock, guard, carryOut } = this.#options;
    const now = clock.now();
    if (guard.wasSuspended(now)) {
      this.#options.suspended?.();
      for (const effect of core.suspended(now)) carryOut(effect);
    }
    for (const effect of act(now)) carryOut(effect);
  }
}

/**
 * The alarm of a real process. Mostly it is set a little later than before; then the timer is left
 * as it is, goes off too early, and is set anew.
 */
export function alarmOn(runtime: Runtime, wake: () => void): Alarm {
  let wanted: Instant = instant(Number.POSITIVE_INFINITY);
  let timer: { readonly at: Instant; readonly handle: Disposable } | undefined;
  const arm = (): void => {
    if (wanted === Number.POSITIVE_INFINITY || (timer !== undefined && timer.at <= wanted)) return;
    timer?.handle[Symbol.dispose]();
    timer = { at: wanted, handle: runtime.wakeAt(wanted, ring) };
  };
  const ring = (): void => {
    timer = undefined;
    if (runtime.now() < wanted) arm();
    else {
      wanted = instant(Number.POSITIVE_INFINITY);
      wake();
    }
  };
  return {
    set(at) {
      wanted = at ?? instant(Number.POSITIVE_INFINITY);
      if (at === undefined) {
        timer?.handle[Symbol.dispose]();
        timer = undefined;
      } else arm();
    },
  };
}
