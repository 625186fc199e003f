/**
 * Whether the clock of a peer keeps within the bound: leases and promises rest on that.
 *
 * A message carries a reading of its sender's clock, and answers a question of the receiver. The receiver does not know when the peer's clock was
 * read, but not before the receiver asked. So between two such messages of a peer
 *
 *     elapsed here   is between   arrivals − delay of the second   and   arrivals + delay of the first
 *
 * and the peer's rate lies between two limits. A peer is outside the bound only if both limits are, so a slow network or a paused process never
 * makes a good clock look wrong. A suspension that goes unnoticed stops a clock for the tolerance, which widens the limits. A longer time shows
 * smaller differences: messages {@link windowMs} to twice as long apart are compared, and until the first window is over the first
 * message and the last.
 */

import { CLOCK_RATE_BOUND } from './clock-rates.ts';
import type { Instant } from './time.ts';

export interface ClockReading {
  /** By the peer's clock, at sending. */
  readonly stamp: Instant;
  /** By the own clock, on arrival. */
  readonly at: Instant;
  /** The longest that can have passed since the peer's clock was read, by the own clock. */
  readonly delayMs: number;
}

/** Numbers that are equal but for their last digit. */
const ROUNDING = 1e-9;

export class ClockWatch {
  readonly #windowMs: number;
  readonly #toleranceMs: number;
  #older: ClockReading | undefined;
  #newer: ClockReading | undefined;
  /** How fast the peer's clock runs beside the own one, if that is outside the bound: the limit nearer to the bound. */
  rate: number | undefined;

  constructor(windowMs: number, toleranceMs: number) {
    this.#windowMs = windowMs;
    this.#toleranceMs = toleranceMs;
  }

  read(reading: ClockReading): void {
    const { stamp, at, delayMs } = reading;
    this.#older ??= reading;
    this.#newer ??= reading;
    const since = this.#older;
    if (at - this.#newer.at >= this.#windowMs) [this.#older, this.#newer] = [this.#newer, reading];
    const [theirMs, ourMs, toleranceMs] = [stamp - since.stamp, at - since.at, this.#toleranceMs];
    const atLeast = theirMs / (ourMs + since.delayMs + toleranceMs);
    const atMost = ourMs > delayMs ? (theirMs + toleranceMs) / (ourMs - delayMs) : Number.POSITIVE_INFINITY;
    if (atLeast > CLOCK_RATE_BOUND * (1 + ROUNDING)) this.rate = atLeast;
    else this.rate = atMost < (1 - ROUNDING) / CLOCK_RATE_BOUND ? atMost : undefined;
  }
}
