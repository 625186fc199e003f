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
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
        this.#take(next);
    } finally {
      this.#busy = false;
    }
    if (!this.#over) this.#alarm.set(this.#options.core.wakeAt);
    this.#options.afterwards?.();
  }

  /** No input after this one has any effect. */
  stop(): void {
    this.#over = true;
    this.#alarm.set(undefined);
  }

  #take(act: (now: Instant) => Effect[]): void {
    const { core, clock, guard, carryOut } = this.#options;
    const now = clock.now();
    if (guard.wasSuspended(now)) for (const effect of core.suspended(now)) carryOut(effect);
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
