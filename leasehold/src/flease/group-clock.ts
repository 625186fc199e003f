/**
 * What time is it in the group? Leases of a group are counted on wall clocks, because only these mean the same
 * on two machines, to within the skew. But wall clocks are set by people and daemons, so this one is watched.
 *
 *     wall        ──────────┐     set back, or forward, by more than half the skew: it cannot be told whether
 *     monotonic   ──────────┼──── it was right before or is right since; either way somebody may have been
 *     this clock  ──────────┘     misled, so the member loses its memory: as after a restart
 *
 * Small steps are followed. Forward at once; back by standing still, so that it never goes back. As long as each wall
 * clock is within half the skew of true time that is harmless: what is shown was shown by the wall clock before, and
 * true time moves on towards it. But many small steps back, each of them less than a jump, add up to a clock that
 * stands still for long, which all others may leave behind, also if theirs were set alike. So what counts as a jump,
 * too, is to be ahead of the wall clock by more than half the skew.
 *
 * What is finer than a millisecond the monotonic clock supplies: a wall clock that reads 17 is somewhere from 17 to
 * 18, and of all that fits to that this one shows what is nearest to what it showed before. So it is less than a
 * millisecond off, either way, and two of them differ by up to 2 ms more than the wall clocks do.
 *
 * A machine that was suspended finds its wall clock ahead of the monotonic one, and so is noticed here too. A
 * pause that freezes both is not; then the others find us behind, and say so: `peer-clocks.ts`. Until one
 * packet has gone to and fro nobody can know, and only the resource can refuse, by comparing lease numbers.
 */

import { type Instant, later } from '../runtime/time.ts';

export interface ClockReading {
  readonly now: Instant;
  readonly wallMs: number;
}

/** A wall clock is read in whole milliseconds, and may be this much further. */
const READING_MS = 1;
/** Finer than this such great numbers cannot be told apart, with some to spare. */
const FINEST_MS = 0.001;

export class GroupClock {
  readonly #toleranceMs: number;
  /** What the wall clock is ahead of the monotonic one. */
  #aheadMs: number;
  #shownMs: number;
  #reading: ClockReading;

  constructor(reading: ClockReading, clockSkewMs: number) {
    this.#toleranceMs = clockSkewMs / 2;
    this.#reading = reading;
    this.#aheadMs = reading.wallMs - reading.now;
    this.#shownMs = reading.wallMs;
  }

  /** What it shows, as of the last reading. */
  get nowMs(): number {
    return this.#shownMs;
  }

  /**
   * Whether the wall clock has jumped since the last reading, or was set back little by little. Takes no note of it.
   */
  hasJumped({ now, wallMs }: ClockReading): boolean {
    const steppedMs = Math.abs(wallMs - now - this.#aheadMs);
    const leftBehindMs = this.#shownMs - (wallMs + READING_MS);
    return Math.max(steppedMs, leftBehindMs) > this.#toleranceMs;
  }

  /** What it would show. Takes no note of it. */
  at({ now, wallMs }: ClockReading): number {
    return Math.max(this.#shownMs, now + this.#follow(wallMs - now));
  }

  /** Moves on to this reading. After a jump it shows what the wall clock shows, even if that is earlier. */
  read(reading: ClockReading): number {
    this.#reading = reading;
    const aheadMs = reading.wallMs - reading.now;
    if (this.hasJumped(reading)) {
      this.#aheadMs = aheadMs;
      this.#shownMs = reading.wallMs;
    } else {
      this.#shownMs = this.at(reading);
      this.#aheadMs = this.#follow(aheadMs);
    }
    return this.#shownMs;
  }

  /** When this clock will have passed that, on the monotonic one: whoever is woken then need not be woken again. */
  instantOf(ms: number): Instant {
    return later(this.#reading.now, Math.max(0, ms - this.#shownMs) + FINEST_MS);
  }

  #follow(aheadMs: number): number {
    return Math.min(Math.max(this.#aheadMs, aheadMs), aheadMs + READING_MS);
  }
}
