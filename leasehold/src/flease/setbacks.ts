/**
 * What attempts that came to nothing leave behind, until one comes to something: how often, why, and who was faster.
 *
 *     outbid in round 7 ──► round 8, after a pause; who renews: 11; outbid by 12: 28; outbid by 29: 93; …
 *
 * Rounds begin anew in every interval of ballots, so what was seen of an earlier one is of no use. What is known of
 * others is old after a pause: where they take it and give it back a hundred times a second, one more than what was
 * seen is never enough. So who is outbid takes leaps: who renews or gives back from the first time, for it has a
 * lease to lose, or others wait for it; who wants to have it from the second. Who only asks takes none. Attempts that
 * failed because nobody answered do not count: two who are cut off together would drive each other up, where each is
 * promised by both of them what the other had. (Half of an even number still can, if one's own acceptor refuses it,
 * too; with leaps of 4^6 at most, and pauses between, an interval is over long before there are no more rounds.)
 *
 * Who only wants to know, or not to wait, is told after a few of them that nothing comes of it.
 *
 * Most claims have no setbacks, and there may be millions of them; so this is there only when there are any.
 */

import type { Attempt, Purpose, Reluctance } from './attempt.ts';
import { ROUND_MAX } from './messages.ts';

/** How many times higher above the round that has outbid somebody it leaps than it did before. */
const LEAP = 4;
/** And how often that grows. */
const LEAPS_MAX = 6;
/** A `try` or an `ask` fails after so many attempts that no majority has answered. */
const TRIES_MAX = 3;
/** If a majority answers, and others are faster each time, it fails when it has waited for so many times to answer. */
const PATIENCE_ANSWERS = 3;

export class Setbacks {
  /** Attempts that came to nothing. */
  failures = 0;
  /** So many of them because somebody was faster: only these call for a leap. */
  #outbids = 0;
  /** The last so many of them without an answer from a majority. */
  unanswered = 0;
  /** Queries whose answers differed, since the last failure. */
  doubts = 0;
  /** Why the last one came to nothing. */
  reluctant: ReadonlyMap<string, Reluctance> = new Map();
  /** The highest round of somebody else, and the interval of ballots that it belongs to. */
  #roundSeen = 0;
  #interval = Number.NaN;

  get areAny(): boolean {
    return this.failures > 0 || this.doubts > 0;
  }

  /** Whether somebody was faster. */
  get areOutbid(): boolean {
    return this.#outbids > 0;
  }

  /** @param intervalMs of ballots */
  failed(attempt: Attempt, intervalMs: number): void {
    const interval = Math.floor(attempt.ballot.askedMs / intervalMs);
    this.#roundSeen = Math.max(this.#interval === interval ? this.#roundSeen : 0, attempt.roundSeen);
    this.#interval = interval;
    this.reluctant = attempt.reluctant;
    this.failures += 1;
    const { isOutbid } = attempt;
    this.unanswered = isOutbid ? 0 : this.unanswered + 1;
    if (isOutbid) this.#outbids += 1;
    this.doubts = 0;
  }

  /** Who does not want to wait for ever and has waited since then has waited long enough; minus infinity: nobody has. */
  tooLongSinceMs(nowMs: number, answerMs: number): number {
    if (this.failures < TRIES_MAX) return Number.NEGATIVE_INFINITY;
    return this.unanswered < TRIES_MAX ? nowMs - PATIENCE_ANSWERS * answerMs : Number.POSITIVE_INFINITY;
  }

  /** Something else is to be done from here on, and at once. Who was faster is still worth knowing. */
  beginAnew(): void {
    this.failures = 0;
    this.#outbids = 0;
    this.unanswered = 0;
  }

  /** Higher than any that has outbid us in this interval. */
  round(purpose: Purpose, nowMs: number, intervalMs: number): number {
    const seen = this.#interval === Math.floor(nowMs / intervalMs) ? this.#roundSeen : 0;
    return Math.min(ROUND_MAX, seen + this.#leap(purpose));
  }

  #leap(purpose: Purpose): number {
    const leaps = purpose === 'ask' || (purpose === 'take' && this.#outbids < 2) ? 0 : this.#outbids;
    return LEAP ** Math.min(leaps, LEAPS_MAX);
  }
}
