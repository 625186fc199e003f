/**
 * Was this machine suspended since we last looked?
 *
 * The monotonic clock that leases are counted on stands still while a laptop sleeps or a virtual machine is stopped,
 * so a lease would seem valid although another process holds the lease by now. The wall clock does go on, but jumps
 * when somebody sets it. So two clocks are asked: when the wall clock has jumped against the monotonic one, the time
 * since boot, which counts suspensions and which nobody sets, decides. Reading the time since boot is slow, so it is
 * read only then.
 *
 *     monotonic   ├────────┤          ├───
 *     wall        ├────────────────────────   jumped: ask
 *     since boot  ├────────────────────────   agrees: suspended
 *
 * Between the readings of two clocks the process may be paused, and then one seems ahead by that much. The guard
 * judges by a reading of the monotonic clock from before the others, and remembers by one from after them: so such a
 * pause may pass for a suspension, but can never make up for one.
 *
 * A pause that freezes the time since boot as well cannot be seen from inside, nor one during which
 * the wall clock was set back by just as much. Only the resource can refuse then, by comparing
 * lease numbers.
 */

import type { Runtime } from './runtime.ts';
import type { Instant } from './time.ts';

type Clocks = Pick<Runtime, 'now' | 'wallMs' | 'uptimeMs'>;

/** So often a process may be paused while reading three clocks before the pause is taken for a suspension. */
const TRIES_MAX = 3;

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
    const { uptimeAtLeastMs, wallAheadMs } = this.#compare();
    this.#wallAheadMs = wallAheadMs;
    this.#uptimeAheadMs = uptimeAtLeastMs;
  }

  /** The tolerance goes with the lease, and leases can become longer or shorter. */
  set toleranceMs(toleranceMs: number) {
    this.#toleranceMs = toleranceMs;
  }

  /**
   * True once for every suspension. Call this before anything that trusts the clock.
   *
   * @param now the reading that is going to be trusted, just made
   */
  wasSuspended(now: Instant): boolean {
    if (!this.#hasJumped(this.#clocks.wallMs() - now)) return false;
    const { uptimeAtMostMs: uptimeAheadMs, uptimeAtLeastMs, wallAheadMs } = this.#compare();
    this.#wallAheadMs = wallAheadMs;
    if (uptimeAheadMs - this.#uptimeAheadMs < this.#toleranceMs) return false; // Short ones add up.
    this.#uptimeAheadMs = uptimeAtLeastMs;
    return true;
  }

  /** The answer of {@link wasSuspended}, without taking note. */
  looksSuspended(now: Instant): boolean {
    if (!this.#hasJumped(this.#clocks.wallMs() - now)) return false;
    return this.#compare().uptimeAtMostMs - this.#uptimeAheadMs >= this.#toleranceMs;
  }

  /** Ahead or back: a wall clock that was set back during a suspension must not hide the suspension. */
  #hasJumped(wallAheadMs: number): boolean {
    const suspicious = Math.abs(wallAheadMs - this.#wallAheadMs) >= this.#toleranceMs;
    return suspicious;
  }

  /**
   * How far the other clocks are ahead of the monotonic one. Two clocks cannot be read at once, and on a busy machine
   * much time may pass between: so the monotonic one is read before and after, and the truth lies between. A pause
   * widens that interval, a suspension moves the interval; hence a few tries.
   */
  #compare(): { uptimeAtLeastMs: number; uptimeAtMostMs: number; wallAheadMs: number } {
    let uptimeAtLeastMs = Number.NEGATIVE_INFINITY;
    let uptimeAtMostMs = Number.POSITIVE_INFINITY;
    let wallAheadMs = Number.NEGATIVE_INFINITY;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const before = this.#clocks.now();
      const wallMs = this.#clocks.wallMs();
      const uptimeMs = this.#clocks.uptimeMs();
      const after = this.#clocks.now();
      uptimeAtLeastMs = Math.max(uptimeAtLeastMs, uptimeMs - after);
      uptimeAtMostMs = Math.min(uptimeAtMostMs, uptimeMs - before);
      wallAheadMs = Math.max(wallAheadMs, wallMs - after);
      if (after - before < this.#toleranceMs / 4) break;
    }
    return { uptimeAtLeastMs, uptimeAtMostMs, wallAheadMs };
  }
}
