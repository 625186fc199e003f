/**
 * Was this machine suspended since we last looked?
 *
 * The monotonic clock that leases are counted on stands still while a laptop sleeps or a virtual
 * machine is stopped, so a lease would seem valid although the world has given it to another. The
 * wall clock does go on, but it also jumps when somebody sets it. So two clocks are asked: when the
 * wall clock has jumped against the monotonic one, the time since boot, which counts suspensions
 * and which nobody sets, decides. Reading it is slow, so it is read only then.
 *
 *     monotonic   ├────────┤          ├───
 *     wall        ├────────────────────────   jumped: ask
 *     since boot  ├────────────────────────   agrees: suspended
 *
 * Between the readings of two clocks the process may be paused, and then one seems ahead by that much.
 * It judges by a reading of the monotonic clock from before the others, and remembers by one from
 * after them: so such a pause may pass for a suspension, but can never make up for one.
 *
 * A pause that freezes the time since boot as well cannot be seen from inside, nor one during which
 * the wall clock was set back by just as much. Only the resource can refuse then, by comparing
 * lease numbers.
 */

import type { Runtime } from './runtime.ts';
import type { Instant } from './time.ts';

type Clocks = Pick<Runtime, 'now' | 'wallMs' | 'uptimeMs'>;

export class SuspensionGuard {
  readonly #clocks: Clocks;
  #toleranceMs: number;
  /** How far each clock was ahead of the monotonic one when last compared, or a little less. */
  #wallAheadMs: number;
  #uptimeAheadMs: number;

  /** @param toleranceMs the shortest suspension that matters: less than the margin of a lease */
  constructor(clocks: Clocks, toleranceMs: number) {
    this.#clocks = clocks;
    this.#toleranceMs = toleranceMs;
    const wallMs = clocks.wallMs();
    const uptimeMs = clocks.uptimeMs();
    const after = clocks.now();
    this.#wallAheadMs = wallMs - after;
    this.#uptimeAheadMs = uptimeMs - after;
  }

  /** It goes with the lease, and leases can become longer or shorter. */
  set toleranceMs(toleranceMs: number) {
    this.#toleranceMs = toleranceMs;
  }

  /**
   * True once for every suspension. Call it before anything that trusts the clock.
   *
   * @param now the reading that is going to be trusted, just made
   */
  wasSuspended(now: Instant): boolean {
    const wallMs = this.#clocks.wallMs();
    const uptimeMs = this.#uptimeIfJumped(wallMs - now);
    if (uptimeMs === undefined) return false;
    const after = this.#clocks.now();
    this.#wallAheadMs = wallMs - after;
    const uptimeAheadMs = uptimeMs - now;
    if (uptimeAheadMs - this.#uptimeAheadMs < this.#toleranceMs) return false; // Short ones add up.
    this.#uptimeAheadMs = uptimeMs - after;
    return true;
  }

  /** What {@link wasSuspended} would say, without taking note of it. */
  looksSuspended(now: Instant): boolean {
    const uptimeMs = this.#uptimeIfJumped(this.#clocks.wallMs() - now);
    return uptimeMs !== undefined && uptimeMs - now - this.#uptimeAheadMs >= this.#toleranceMs;
  }

  /**
   * The time since boot, read only if the wall clock has jumped, ahead or back: one that was set
   * back during a suspension must not hide it.
   */
  #uptimeIfJumped(wallAheadMs: number): number | undefined {
    const suspicious = Math.abs(wallAheadMs - this.#wallAheadMs) >= this.#toleranceMs;
    return suspicious ? this.#clocks.uptimeMs() : undefined;
  }
}
