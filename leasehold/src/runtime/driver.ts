/**
 * The loop around every core, in a simulated world and in a real process alike.
 *
 * An input goes to the core with the present reading of the clock; before, the suspension guard is asked about that very reading,
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
 *
 * **By turns.** A core that collects ({@link CollectingCore}) is driven by turns of the event loop. Its inputs go to the core at once, also
 * during an effect; all effects wait for the end of the turn.
 *
 *     input ─┐            ┌─ as soon as one is full ─► packets
 *     input ─┼──► core ───┤                         ┌─► packets: the rest
 *     input ─┘            └──── end of the turn ────┼─► effects
 *                                                   └─► alarm
 *
 * A thousand resources that are acquired in one turn are then a few packets to each peer and not a thousand. The order is the order
 * of the inputs, except that packets leave first. The effects of a turn do not depend on each other: if one throws, all others are carried
 * out. The error of an effect is thrown at the end of the turn, the error of the core to the caller of the input.
 */

import type { Runtime } from './runtime.ts';
import { type Instant, instant } from './time.ts';
import { type AtEndOfTurn, OncePerTurn } from './turn.ts';

/** A core. `Reading` is what it is told of the time; most cores are told the monotonic clock. */
export interface Core<Effect, Reading = Instant> {
  /** When {@link wake} next has something to do. */
  readonly wakeAt: Instant | undefined;
  wake(reading: Reading): readonly Effect[];
  suspended(reading: Reading): readonly Effect[];
}

/** A core whose packets are collected over a turn. It judges its clocks by itself, at every input. */
export interface CollectingCore<Effect, Reading = Instant> {
  readonly wakeAt: Instant | undefined;
  wake(reading: Reading): readonly Effect[];
  /** Whether some packet has enough in it to leave before the end of the turn. */
  readonly hasFullPackets: boolean;
  takeFullPackets(): readonly Effect[];
  /** All packets, full or not, and the effects of an input that threw. */
  endTurn(): readonly Effect[];
}

/** A timer that is set anew after every input, or every turn; undefined turns the timer off. */
export interface Alarm {
  set(at: Instant | undefined): void;
}

/** Was the machine suspended since the last input? See `suspension.ts`. */
export interface Guard<Reading = Instant> {
  wasSuspended(reading: Reading): boolean;
  /** The same, without taking note. */
  looksSuspended(reading: Reading): boolean;
}

interface Surroundings<Effect, Reading> {
  readonly clock: { now(): Reading };
  /** Makes the alarm that wakes the core. */
  alarm(wake: () => void): Alarm;
  execute(effect: Effect): void;
  /** After an input, or a turn, and all effects. */
  afterInput?(): void;
}

export interface DriverOptions<Effect, Reading = Instant> extends Surroundings<Effect, Reading> {
  readonly core: Core<Effect, Reading>;
  readonly guard: Guard<Reading>;
  /** The guard says that the machine was suspended; the core is about to hear so. */
  suspended?(): void;
  readonly atEndOfTurn?: never;
}

export interface TurnDriverOptions<Effect, Reading = Instant> extends Surroundings<Effect, Reading> {
  readonly core: CollectingCore<Effect, Reading>;
  readonly guard?: never;
  readonly atEndOfTurn: AtEndOfTurn;
}

interface Fault {
  readonly thrown: unknown;
}

type Options<Effect, Reading> = DriverOptions<Effect, Reading> | TurnDriverOptions<Effect, Reading>;

export class Driver<Effect, Reading = Instant> {
  readonly #options: Options<Effect, Reading>;
  readonly #alarm: Alarm;
  readonly #waiting: ((reading: Reading) => readonly Effect[])[] = [];
  readonly #collector: Collector<Effect, Reading> | undefined;
  #isBusy = false;
  #isOver = false;

  constructor(options: Options<Effect, Reading>) {
    const { core } = options;
    this.#options = options;
    this.#collector = options.atEndOfTurn && new Collector(options, () => this.#setAlarm());
    this.#alarm = options.alarm(() => this.input((reading) => core.wake(reading)));
  }

  /** @throws the first error of the core, or of an effect that does not wait for the end of the turn; all else is done before */
  input(act: (reading: Reading) => readonly Effect[]): void {
    if (this.#isOver) return;
    if (this.#isBusy) {
      this.#waiting.push(act);
      return;
    }
    this.#isBusy = true;
    const options = this.#options;
    let fault: Fault | undefined;
    for (
      let next: typeof act | undefined = act;
      next !== undefined;
      next = this.#waiting.length === 0 ? undefined : this.#waiting.shift()
    ) {
      const reading = options.clock.now();
      if (options.guard?.wasSuspended(reading)) {
        try {
          options.suspended?.();
        } catch (thrown) {
          fault ??= { thrown };
        }
        try {
          this.#take(options.core.suspended(reading));
        } catch (thrown) {
          fault ??= { thrown };
        }
      }
      try {
        this.#take(next(reading));
      } catch (thrown) {
        fault ??= { thrown };
      }
    }
    this.#isBusy = false;
    try {
      if (this.#collector === undefined) {
        this.#setAlarm();
        options.afterInput?.();
      } else this.#collector.afterInput();
    } catch (thrown) {
      fault ??= { thrown };
    }
    if (fault !== undefined) throw fault.thrown;
  }

  /**
   * The present reading, for a question to the core that changes nothing. Undefined if the core may not be asked: the driver is stopped, or the
   * machine was suspended, which the core must hear first. The reading is good for questions of this turn.
   */
  look(): Reading | undefined {
    if (this.#isOver) return undefined;
    const { clock, guard } = this.#options;
    const reading = clock.now();
    if (guard?.looksSuspended(reading) !== true) return reading;
    this.input(() => []);
    return undefined;
  }

  /** The input, or the turn, that is being carried out is carried out to its end. No other input has any effect, nor do those that wait. */
  stop(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
    this.#collector?.stop();
    this.#alarm.set(undefined);
  }

  #take(effects: readonly Effect[]): void {
    if (this.#collector !== undefined) this.#collector.add(effects);
    else for (const effect of effects) this.#options.execute(effect);
  }

  #setAlarm(): void {
    if (!this.#isOver) this.#alarm.set(this.#options.core.wakeAt);
  }
}

/** What a turn has brought, until its end. */
class Collector<Effect, Reading> {
  readonly #options: TurnDriverOptions<Effect, Reading>;
  readonly #setAlarm: () => void;
  readonly #turn: OncePerTurn;
  #effects: Effect[] = [];
  #fault: Fault | undefined;
  #isExecuting = false;
  /** The effects that are being executed have led to others. */
  #goesOn = false;
  #isOver = false;

  constructor(options: TurnDriverOptions<Effect, Reading>, setAlarm: () => void) {
    this.#options = options;
    this.#setAlarm = setAlarm;
    this.#turn = new OncePerTurn(options.atEndOfTurn, () => this.#endTurn());
  }

  add(effects: readonly Effect[]): void {
    for (const effect of effects) this.#effects.push(effect);
  }

  afterInput(): void {
    if (this.#isExecuting) {
      this.#goesOn = true; // What this input has brought leaves after all earlier effects.
      return;
    }
    this.#turn.soon();
    if (!this.#options.core.hasFullPackets) return;
    this.#isExecuting = true;
    this.#execute(this.#options.core.takeFullPackets());
    this.#isExecuting = false;
  }

  /** Nothing is executed any more, but an error is thrown that was to be thrown. */
  stop(): void {
    this.#isOver = true;
  }

  #endTurn(): void {
    if (!this.#isOver) this.#executeAll();
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault !== undefined) throw fault.thrown;
  }

  #executeAll(): void {
    const options = this.#options;
    const effects = this.#effects;
    this.#effects = [];
    this.#goesOn = false;
    this.#isExecuting = true;
    this.#execute(options.core.endTurn());
    this.#execute(effects);
    try {
      options.afterInput?.();
    } catch (thrown) {
      this.#fault ??= { thrown };
    }
    this.#isExecuting = false;
    this.#setAlarm();
    try {
      if (this.#goesOn) this.#turn.soon();
    } catch (thrown) {
      this.#fault ??= { thrown };
    }
  }

  #execute(effects: readonly Effect[]): void {
    for (const effect of effects) {
      try {
        this.#options.execute(effect);
      } catch (thrown) {
        this.#fault ??= { thrown };
      }
    }
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
