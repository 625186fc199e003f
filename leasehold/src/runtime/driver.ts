/**
 * The loop around every core, in a simulated world and in a real process alike.
 *
 * An input goes to the core with the present instant; before, the suspension guard is asked about that very instant,
 * so that nothing is decided on a clock that stood still; the effects are carried out in order; then the one alarm is
 * set.
 *
 *     input ──► was the machine suspended? ──► core ──► effects ──► alarm
 *                        └─ yes: core.suspended first
 *
 * An input that comes during another input waits: a core is never entered twice.
 *
 * If an effect throws, the later effects of that input are not carried out. No core takes an effect for done without a
 * confirmation, so nothing unsafe follows: a message is as if lost, a batch as if never answered. All else goes on: an
 * input is taken although an effect of the suspension before it threw, waiting inputs are taken, the alarm is set, later
 * inputs are taken; then the first exception is thrown to the caller of the input. So one fault neither is swallowed nor
 * ends all renewals in a process that survives the fault.
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

/** A timer that is set anew after every input; undefined turns the timer off. */
export interface Alarm {
  set(at: Instant | undefined): void;
}

export interface DriverOptions<Effect> {
  readonly core: Core<Effect>;
  readonly clock: Pick<Runtime, 'now'>;
  readonly guard: SuspensionGuard;
  /** Makes the alarm that wakes the core. */
  alarm(wake: () => void): Alarm;
  execute(effect: Effect): void;
  /** The guard says that the machine was suspended; the core is about to hear so. */
  suspended?(): void;
  /** After an input and all effects. */
  afterInput?(): void;
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
    const { core, clock, guard } = this.#options;
    const faults: unknown[] = [];
    const attempt = (step: () => void): void => {
      try {
        step();
      } catch (fault) {
        faults.push(fault);
      }
    };
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const input = next;
      const now = clock.now();
      if (guard.wasSuspended(now)) {
        attempt(() => this.#options.suspended?.());
        attempt(() => this.#execute(core.suspended(now)));
      }
      attempt(() => this.#execute(input(now)));
    }
    this.#busy = false;
    attempt(() => {
      if (!this.#over) this.#alarm.set(core.wakeAt);
      this.#options.afterInput?.();
    });
    if (faults.length > 0) throw faults[0];
  }

  /**
   * The present instant, for a question to the core that changes nothing. Undefined if the core may not be asked: the driver is stopped, or the
   * machine was suspended, which the core must hear first. The instant is good for questions of this turn.
   */
  look(): Instant | undefined {
    if (this.#over) return undefined;
    const { clock, guard } = this.#options;
    const now = clock.now();
    if (!guard.looksSuspended(now)) return now;
    this.input(() => []);
    return undefined;
  }

  /** The input that is being carried out is carried out to its end. No other input has any effect, nor do those that wait. */
  stop(): void {
    this.#over = true;
    this.#waiting.length = 0;
    this.#alarm.set(undefined);
  }

  #execute(effects: readonly Effect[]): void {
    for (const effect of effects) this.#options.execute(effect);
  }
}

/**
 * The alarm of a real process. Mostly the new time is a little later than the old one; then the timer is left alone,
 * fires too early, and is set anew.
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
