/**
 * The back-off after failed attempts, until one succeeds: how many failed, why, and which round outbid them.
 *
 *     outbid in round 7 ──► round 8, after a pause; a renewal: 11; outbid by 12: 28; outbid by 29: 93; …
 *
 * Rounds restart in every interval of ballots, so a round of an earlier interval is of no use. After a pause, the
 * rounds of rivals are out of date: where rivals take and release a lease a hundred times a second, one more than the
 * last round seen is never enough. So an outbid attempt leaps. A renewal or a release leaps from the first time on,
 * because a lease may be lost or other members wait; an attempt to take leaps from the second; an `ask` never.
 * Attempts that failed without answers do not count: two members that are cut off together would drive each other up,
 * because each acceptor promises to both in turn. (Half of an even group still can, if the member's own acceptor
 * refuses as well; but with leaps of at most 4^6, and pauses, the interval ends long before the rounds do.)
 *
 * `ask` and `try` fail after a few attempts.
 *
 * Most resources have no back-off, and there may be millions of resources; so the object exists only while there is
 * one.
 */

import type { Attempt, Operation, RefusalCause } from './attempt.ts';
import { ROUND_MAX } from './messages.ts';

/** Each leap above the outbidding round is so many times the one before. */
const LEAP = 4;
/** How often the leap grows. */
const LEAPS_MAX = 6;
/** A `try` or an `ask` fails after so many attempts without a majority of answers. */
const TRIES_MAX = 3;
/** If a majority answers but rivals are faster each time, the request fails after so many answer timeouts. */
const PATIENCE_ANSWERS = 3;

export class Backoff {
  /** Failed attempts. */
  failures = 0;
  /** Failed attempts that were outbid: only these call for a leap. */
  #outbids = 0;
  /** The most recent attempts without a majority of answers. */
  unanswered = 0;
  /** Queries whose answers differed, since the last failure. */
  doubts = 0;
  /** Why the last attempt failed. */
  refusals: ReadonlyMap<string, RefusalCause> = new Map();
  /** The highest round of a rival, and its interval of ballots. */
  #roundSeen = 0;
  #interval = Number.NaN;

  get isActive(): boolean {
    return this.failures > 0 || this.doubts > 0;
  }

  /** Whether a rival was faster. */
  get wasOutbid(): boolean {
    return this.#outbids > 0;
  }

  /** @param intervalMs of ballots */
  failed(attempt: Attempt, intervalMs: number): void {
    const interval = Math.floor(attempt.ballot.askedMs / intervalMs);
    this.#roundSeen = Math.max(this.#interval === interval ? this.#roundSeen : 0, attempt.roundSeen);
    this.#interval = interval;
    this.refusals = attempt.refusals;
    this.failures += 1;
    const { isOutbid } = attempt;
    this.unanswered = isOutbid ? 0 : this.unanswered + 1;
    if (isOutbid) this.#outbids += 1;
    this.doubts = 0;
  }

  /** An `ask` or a `try` that waits since then, or longer, fails now; minus infinity: none does. */
  tooLongSinceMs(nowMs: number, answerTimeoutMs: number): number {
    if (this.failures < TRIES_MAX) return Number.NEGATIVE_INFINITY;
    return this.unanswered < TRIES_MAX
      ? nowMs - PATIENCE_ANSWERS * answerTimeoutMs
      : Number.POSITIVE_INFINITY;
  }

  /** Something new begins, at once. The rounds of rivals stay known. */
  reset(): void {
    this.failures = 0;
    this.#outbids = 0;
    this.unanswered = 0;
  }

  /** A round above any that outbid us in this interval. */
  round(operation: Operation, nowMs: number, intervalMs: number): number {
    const seen = this.#interval === Math.floor(nowMs / intervalMs) ? this.#roundSeen : 0;
    return Math.min(ROUND_MAX, seen + this.#leap(operation));
  }

  #leap(operation: Operation): number {
    const leaps = operation === 'ask' || (operation === 'take' && this.#outbids < 2) ? 0 : this.#outbids;
    return LEAP ** Math.min(leaps, LEAPS_MAX);
  }
}
