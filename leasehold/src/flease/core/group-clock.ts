/**
 * What time is it in the group? Leases of a group are counted on wall clocks, because only wall clocks mean the same
 * on two machines, to within the skew. But people and daemons set wall clocks, so this clock watches for jumps.
 *
 *     wall        ──────────┐     set back, or forward, by more than half the skew: either the time before or
 *     monotonic   ──────────┼──── the time since may be wrong, and a peer may have been misled; so the member
 *     this clock  ──────────┘     loses its memory: as after a restart
 *
 * Small steps are followed: forward at once; back by standing still, so that this clock never goes back. As long as
 * each wall clock is within half the skew of true time, that is harmless: the wall clock has shown the present value
 * before, and true time moves on towards it. But many small steps back, each less than a jump, add up to a clock that
 * stands still for long, which all others may leave behind, even if theirs were set alike. So being ahead of the wall
 * clock by more than half the skew counts as a jump, too.
 *
 * The monotonic clock supplies fractions of a millisecond. A wall clock that reads 17 is somewhere from 17 to 18; of
 * these values this clock shows the one nearest to its own course. So it is less than a millisecond off, either way,
 * and two such clocks differ by up to 2 ms more than the wall clocks do.
 *
 * A machine that was suspended finds its wall clock ahead of the monotonic one, so suspension is noticed here too. A
 * pause that freezes both clocks is not noticed; then peers find this member behind, and say so: `peer-clocks.ts`.
 * Until one packet has gone to and fro no process can know, and only the resource can refuse, by comparing lease
 * numbers.
 */

import { type Instant, later } from '../../runtime/time.ts';

export interface ClockReading {
  readonly now: Instant;
  readonly wallMs: number;
}

/** A wall clock is read in whole milliseconds; true wall time may be this much further. */
const READING_MS = 1;
/** Numbers of this size cannot resolve less, with some to spare. */
const FINEST_MS = 0.001;

export class GroupClock {
  readonly #toleranceMs: number;
  /** How far the wall clock is ahead of the monotonic one. */
  #aheadMs: number;
  #shownMs: number;
  #reading: ClockReading;

  constructor(reading: ClockReading, clockSkewMs: number) {
    this.#toleranceMs = clockSkewMs / 2;
    this.#reading = reading;
    this.#aheadMs = reading.wallMs - reading.now;
    this.#shownMs = reading.wallMs;
  }

  /** The time as of the last reading. */
  get nowMs(): number {
    return this.#shownMs;
  }

  /** Whether the wall clock has jumped since the last reading, or was set back little by little. Changes nothing. */
  hasJumped({ now, wallMs }: ClockReading): boolean {
    const steppedMs = Math.abs(wallMs - now - this.#aheadMs);
    const leftBehindMs = this.#shownMs - (wallMs + READING_MS);
    return Math.max(steppedMs, leftBehindMs) > this.#toleranceMs;
  }

  /** The time at this reading. Changes nothing. */
  at({ now, wallMs }: ClockReading): number {
    return Math.max(this.#shownMs, now + this.#follow(wallMs - now));
  }

  /** Moves on to this reading. After a jump the time is that of the wall clock, even if that is earlier. */
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

  /** The monotonic instant at which this clock will have passed `ms`: a caller woken then need not be woken again. */
  instantOf(ms: number): Instant {
    return later(this.#reading.now, Math.max(0, ms - this.#shownMs) + FINEST_MS);
  }

  #follow(aheadMs: number): number {
    return Math.min(Math.max(this.#aheadMs, aheadMs), aheadMs + READING_MS);
  }
}
