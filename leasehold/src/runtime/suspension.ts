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
 * A pause that freezes the time since boot as well cannot be seen from inside, nor one during which
 * the wall clock was set back by just as much. Only the resource can refuse then, by comparing
 * lease numbers.
 */

import type { Runtime } from './runtime.ts';

type Clocks = Pick<Runtime, 'now' | 'wallMs' | 'uptimeMs'>;

export class SuspensionGuard {
  readonly #clocks: Clocks;
  readonly #toleranceMs: number;
  /** How far each clock was ahead of the monotonic one when last compared. */
  #wallAheadMs: number;
  #uptimeAheadMs: number;

  /** @param toleranceMs the shortest suspension that matters: less than the margin of a lease */
  constructor(clocks: Clocks, toleranceMs: number) {
    this.#clocks = clocks;
    this.#toleranceMs = toleranceMs;
    const now = clocks.now();
    this.#wallAheadMs = clocks.wallMs() - now;
    this.#uptimeAheadMs = clocks.uptimeMs() - now;
  }

  /** True once for every suspension. Call it before anything that trusts the clock. */
  wasSuspended(): boolean {
    const { wallAheadMs, uptimeAheadMs } = this.#compare();
    if (uptimeAheadMs === undefined) return false;
    this.#wallAheadMs = wallAheadMs;
    if (uptimeAheadMs - this.#uptimeAheadMs < this.#toleranceMs) return false; // Short ones add up.
    this.#uptimeAheadMs = uptimeAheadMs;
    return true;
  }

  /** What {@link wasSuspended} would say, without taking note of it. */
  looksSuspended(): boolean {
    const { uptimeAheadMs } = this.#compare();
    return uptimeAheadMs !== undefined && uptimeAheadMs - this.#uptimeAheadMs >= this.#toleranceMs;
  }

  /**
   * The time since boot is read only if the wall clock has jumped, ahead or back: one that was set
   * back during a suspension must not hide it.
   */
  #compare(): { readonly wallAheadMs: number; readonly uptimeAheadMs: number | undefined } {
    const now = this.#clocks.now();
    const wallAheadMs = this.#clocks.wallMs() - now;
    const suspicious = Math.abs(wallAheadMs - this.#wallAheadMs) >= this.#toleranceMs;
    return { wallAheadMs, uptimeAheadMs: suspicious ? this.#clocks.uptimeMs() - now : undefined };
  }
}
