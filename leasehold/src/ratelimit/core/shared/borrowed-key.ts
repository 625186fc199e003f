/**
 * The state of a key that another process owns, at a borrower: the batches in hand, the last denial, the ask under way, and the requests
 * that wait for its answer.
 *
 * An answer counts only while its ask is the last one for the key. An answer that comes twice, or after the key was asked for again, is
 * dropped, and no token of that answer is ever used. So every ask can report with certainty the tokens left of all earlier batches.
 */

import { type Instant, later } from '../../../runtime/time.ts';
import type { Rate } from '../local/rate.ts';
import { type RateLimitResult, resultOf } from '../local/result.ts';
import type { Leftover } from './messages.ts';
import { GRANT_MS } from './timing.ts';

export interface Waiting {
  readonly id: number;
  readonly cost: number;
  readonly rate: Rate;
  readonly until: Instant;
}

interface Batch {
  readonly id: number;
  tokens: number;
  /** Tokens used since the last report to the owner. */
  used: number;
  readonly until: Instant;
}

export interface AskUnderWay {
  readonly id: number;
  readonly to: string;
  readonly need: number;
  readonly at: Instant;
}

/** Tokens for so long are asked for at once, at the present rate of requests. */
const BATCH_MS = 100;
/** The same while the owner has plenty of tokens. Shorter than `GRANT_MS` by more than the time for which a batch is asked for ahead. */
const AMPLE_BATCH_MS = 250;
/** The owner has plenty if it has so many times the tokens of a longer batch. A batch that is lost then costs the others little. */
const AMPLE_TIMES = 8;
/**
 * While the owner has plenty, a batch has at least the tokens that come back in this time. Otherwise a slow answer would make itself slower: requests wait,
 * so few are counted, so the next batch is small and is asked for again soon.
 */
const AMPLE_REFILL_MS = 25;
/** After so many requests since the last ask a key counts as busy: its next batch is asked for before the last one ends. */
const BUSY = 4;
/** Tokens that are not needed yet are asked for at most so often. */
const AHEAD_EVERY_MS = 20;
/** A key that is asked for seldom has a rate, too: it is counted over at least this time. */
const RATE_OVER_MS = 10;

export class BorrowedKey {
  readonly key: string;
  readonly waiting: Waiting[] = [];
  /** Since when requests are decided without the owner, and the last of them; undefined: the owner answers. */
  cutOff: { readonly since: Instant; lastAt: Instant } | undefined;
  /** The first request that did not wait, since the owner last answered. */
  unansweredSince: Instant | undefined;
  /** Tokens used since the last ask: the next ask is sized by them. */
  used = 0;
  lastAskedAt: Instant | undefined;
  lastWant = 0;
  remaining = 0;
  resetAt: number = Number.NEGATIVE_INFINITY;
  #batches: Batch[] = [];
  #ask: AskUnderWay | undefined;
  /** The last ask, answered or not. */
  lastAskId: number | undefined;
  /** Set by the application, and therefore lifted by no answer of the owner. */
  #blockedUntil: Instant | undefined;
  #denial: { readonly need: number; readonly until: Instant; readonly believedUntil: Instant } | undefined;

  constructor(key: string) {
    this.key = key;
  }

  /** Tokens in hand. */
  tokens(now: Instant): number {
    let first = this.#batches[0];
    for (; first !== undefined && first.until <= now; first = this.#batches[0]) this.#batches.shift();
    let sum = 0;
    for (const { tokens } of this.#batches) sum += tokens;
    return sum;
  }

  /** Takes tokens from the batches that end first. There must be enough. */
  take(cost: number): void {
    let left = cost;
    for (const batch of this.#batches) {
      const taken = Math.min(batch.tokens, left);
      batch.tokens -= taken;
      batch.used += taken;
      left -= taken;
    }
    this.used += cost;
  }

  /**
   * Puts tokens back where they came from. Tokens of a batch that has ended, or that the owner was told are used, are lost: the owner
   * has begun to replace them.
   */
  putBack(tokens: number, now: Instant): void {
    this.tokens(now);
    let left = tokens;
    for (const batch of this.#batches) {
      const back = Math.min(batch.used, left);
      batch.tokens += back;
      batch.used -= back;
      left -= back;
    }
  }

  /** How long a request that lacks so many tokens is denied by a block or the owner's last denial; not positive: not at all. */
  deniedForMs(lacking: number, now: Instant): number {
    const blockedMs = this.blockedForMs(now);
    const denial = this.#denial;
    if (denial === undefined || lacking < denial.need || now >= denial.believedUntil) return blockedMs;
    return Math.max(blockedMs, denial.until - now);
  }

  /** How long every request is denied; not positive: not at all. */
  blockedForMs(now: Instant): number {
    return this.#blockedUntil === undefined ? 0 : this.#blockedUntil - now;
  }

  /** The ask whose answer is still awaited. One that is so old that its grant would be void is given up. */
  askUnderWay(now: Instant): AskUnderWay | undefined {
    if (this.#ask !== undefined && now >= later(this.#ask.at, GRANT_MS)) this.#ask = undefined;
    return this.#ask;
  }

  /** Returns the ask before this one, the answer to which no longer counts. */
  ask(ask: AskUnderWay, want: number): number | undefined {
    const before = this.lastAskId;
    this.#ask = ask;
    this.lastAskId = ask.id;
    this.lastAskedAt = ask.at;
    this.lastWant = want;
    this.used = 0;
    return before;
  }

  /** All tokens in hand are used, and the owner does not know. */
  hasUsedAll(now: Instant): boolean {
    return this.tokens(now) < 1 && this.#batches.some(({ used }) => used > 0);
  }

  /** The report for the owner. From here on these tokens count as reported. */
  tellLeft(now: Instant): Leftover[] {
    this.tokens(now);
    for (const batch of this.#batches) batch.used = 0;
    return this.#batches.flatMap(({ id, tokens }) => (tokens > 0 ? [{ id, tokens: Math.ceil(tokens) }] : []));
  }

  granted(id: number, tokens: number, askedAt: Instant): void {
    this.#denial = undefined;
    this.#batches.push({ id, tokens, used: 0, until: later(askedAt, GRANT_MS) });
  }

  /** @param believedUntil from then on the owner is asked again, even if the denial says that there will be no tokens */
  denied(need: number, until: Instant, believedUntil: Instant): void {
    this.#denial = { need, until, believedUntil };
  }

  /** Denies every request until then, whatever the owner answers. */
  block(until: Instant): void {
    this.drop();
    this.#blockedUntil = until;
  }

  /** Forgets the block, the last denial and the tokens in hand. */
  reset(): void {
    this.drop();
    this.#blockedUntil = undefined;
  }

  /** The machine was suspended: batches may have ended although the clock does not show that. */
  drop(): void {
    this.#batches = [];
    this.#ask = undefined;
    this.#denial = undefined;
  }

  ownerAnswers(): void {
    this.cutOff = undefined;
    this.unansweredSince = undefined;
  }

  /** The ask under way is answered, or no answer will come. */
  endAsk(): void {
    this.#ask = undefined;
  }

  /** Nothing would be lost by forgetting the key; one that is cut off is remembered for this long after its last request. */
  isIdle(now: Instant, cutOffRememberedMs: number): boolean {
    return (
      this.waiting.length === 0 &&
      (this.cutOff === undefined || now >= later(this.cutOff.lastAt, cutOffRememberedMs)) &&
      this.askUnderWay(now) === undefined &&
      this.deniedForMs(Number.POSITIVE_INFINITY, now) <= 0 &&
      this.tokens(now) === 0
    );
  }

  /** Less than half a batch is left of a key that is asked for often, or half of its time. */
  runsOut(now: Instant): boolean {
    const { lastWant, lastAskedAt, used, remaining } = this;
    if (lastWant <= 1 || lastAskedAt === undefined || now < later(lastAskedAt, AHEAD_EVERY_MS)) return false;
    const isOld =
      used >= BUSY && remaining >= AMPLE_TIMES * lastWant && now >= later(lastAskedAt, GRANT_MS / 2);
    return (isOld || this.tokens(now) < lastWant / 2) && this.deniedForMs(1, now) <= 0;
  }

  /** Tokens for the next {@link BATCH_MS} or {@link AMPLE_BATCH_MS}, at the rate since the last ask, with those that wait. */
  wanted(rate: Rate, now: Instant): number {
    const { lastAskedAt, used, waiting, remaining } = this;
    const waitingCost = waiting.reduce((sum, { cost }) => sum + cost, 0);
    if (lastAskedAt === undefined) return Math.ceil(waitingCost);
    const perMs = (used + waitingCost) / Math.max(RATE_OVER_MS, now - lastAskedAt);
    const most = Math.max(perMs * AMPLE_BATCH_MS, Math.floor(AMPLE_REFILL_MS / rate.msPerToken));
    const isAmple = remaining >= AMPLE_TIMES * most;
    return Math.ceil(Math.max(waitingCost, isAmple ? most : perMs * BATCH_MS));
  }

  /** An allowance with tokens in hand. The owner's tokens are counted as they were when it last answered. */
  allowance(tokens: number, rate: Rate, now: Instant): RateLimitResult {
    return {
      allowed: true,
      remaining: Math.floor(Math.min(rate.burst, tokens + this.remaining)),
      retryAfterMs: 0,
      resetMs: Math.max(0, this.resetAt - now),
      ...{ limit: rate.limit, perMs: rate.perMs, burst: rate.burst },
      denied: undefined,
      by: 'batch',
    };
  }

  /** A denial by the last word of the owner, or by a block of the application. */
  denial(deniedMs: number, rate: Rate, now: Instant): RateLimitResult {
    return {
      ...resultOf(now + rate.refillMs, rate, now, 'rate', deniedMs, 'cached'),
      resetMs: Math.max(deniedMs, this.resetAt - now),
    };
  }
}
