/**
 * The three clocks of one machine, none of which tells the true time.
 *
 *                     machine suspended
 *     true time   ────────┼───────┼────────►
 *     monotonic   ────────┤       ├────────►   stands still; any origin; runs at `rate`
 *     wall        ────────────────────────►    goes on; may be stepped either way
 *     uptime      ────────────────────────►    goes on; or stands still as well (a paused VM)
 *
 * Between two changes every clock is a straight line over true time. A change (of rate, a
 * suspension, a step) starts a new line where the old one ended, so the monotonic clock never
 * jumps and never goes back.
 *
 * The clock does not know the world: the world tells the true time, which must never go back.
 */

import { invalidOption } from '../runtime/errors.ts';
import { instant, type Instant } from '../runtime/time.ts';

export interface ClockOptions {
  /**
   * How fast all three clocks run against true time: at 0.93 they show 0.93 s after a true second.
   *
   * @default 1
   */
  rate?: number | undefined;

  /**
   * The reading of the monotonic clock at the true time 0. Give every machine another origin, or code that compares
   * the readings of two machines will seem to work.
   *
   * @default 0
   */
  originMs?: number | undefined;

  /**
   * The reading of the wall clock at the true time 0.
   *
   * @default 1_750_000_000_000 (June 2025)
   */
  wallOriginMs?: number | undefined;

  /**
   * How long the machine had been up at the true time 0.
   *
   * @default originMs
   */
  uptimeOriginMs?: number | undefined;
}

export interface SuspendOptions {
  /**
   * Whether the uptime stands still as well, as in a virtual machine that the host paused. The guest then has no way
   * to notice.
   *
   * @default false
   */
  freezeUptime?: boolean | undefined;
}

export class SimClock {
  /** The true time of the last change, and the readings of the clocks then. */
  #sinceMs = 0;
  #monotonicMs: number;
  #wallMs: number;
  #uptimeMs: number;
  #rate: number;
  #suspended: 'no' | 'uptime goes on' | 'uptime frozen' = 'no';
  #suspensions = 0;
  readonly #listeners: (() => void)[] = [];

  constructor(options: ClockOptions = {}) {
    const { rate = 1, originMs = 0, wallOriginMs = 1_750_000_000_000 } = options;
    this.#rate = checkedRate(rate);
    this.#monotonicMs = originMs;
    this.#wallMs = wallOriginMs;
    this.#uptimeMs = options.uptimeOriginMs ?? originMs;
  }

  get rate(): number {
    return this.#rate;
  }

  get suspended(): boolean {
    return this.#suspended !== 'no';
  }

  /** The monotonic clock. */
  now(trueMs: number): Instant {
    if (this.#suspended !== 'no') return instant(this.#monotonicMs);
    return instant(this.#monotonicMs + (trueMs - this.#sinceMs) * this.#rate);
  }

  wallMs(trueMs: number): number {
    return this.#wallMs + (trueMs - this.#sinceMs) * this.#rate;
  }

  uptimeMs(trueMs: number): number {
    if (this.#suspended === 'uptime frozen') return this.#uptimeMs;
    return this.#uptimeMs + (trueMs - this.#sinceMs) * this.#rate;
  }

  /**
   * The true time at which the monotonic clock shows `at`, a rounding error late rather than
   * early, if nothing changes before then; Infinity while suspended. Instants from before the
   * last change give the time of that change.
   */
  trueMsOf(at: Instant): number {
    if (at <= this.#monotonicMs) return this.#sinceMs;
    if (this.#suspended !== 'no') return Number.POSITIVE_INFINITY;
    let trueMs = this.#sinceMs + (at - this.#monotonicMs) / this.#rate;
    for (let step = Math.max(1, trueMs) * Number.EPSILON; this.now(trueMs) < at; step *= 2) {
      trueMs += step;
    }
    return trueMs;
  }

  /** From now on the clocks run at this rate. They do not jump. */
  setRate(trueMs: number, rate: number): void {
    this.#bend(trueMs);
    this.#rate = checkedRate(rate);
    this.#tell();
  }

  /** Moves the wall clock, and only that, ahead or back. */
  stepWall(trueMs: number, byMs: number): void {
    this.#bend(trueMs);
    this.#wallMs += byMs;
    this.#tell();
  }

  /**
   * Suspends the machine: the monotonic clock stands still until {@link resume}. Returns the
   * number of this suspension.
   */
  suspend(trueMs: number, { freezeUptime = false }: SuspendOptions = {}): number {
    this.#bend(trueMs);
    this.#suspended = freezeUptime ? 'uptime frozen' : 'uptime goes on';
    this.#suspensions += 1;
    this.#tell();
    return this.#suspensions;
  }

  /** Ends the suspension; given a number, only if that is the last one. */
  resume(trueMs: number, suspension: number = this.#suspensions): void {
    if (this.#suspended === 'no' || suspension !== this.#suspensions) return;
    this.#bend(trueMs);
    this.#suspended = 'no';
    this.#tell();
  }

  /** Calls back after every change: a listener that has turned an instant into a true time must do so anew. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Ends the old line and begins a new one at this point. */
  #bend(trueMs: number): void {
    this.#monotonicMs = this.now(trueMs);
    this.#wallMs = this.wallMs(trueMs);
    this.#uptimeMs = this.uptimeMs(trueMs);
    this.#sinceMs = trueMs;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

function checkedRate(rate: number): number {
  if (rate > 0 && Number.isFinite(rate)) return rate;
  throw invalidOption('rate', rate, 'it must be positive; to stop a clock, suspend it');
}
