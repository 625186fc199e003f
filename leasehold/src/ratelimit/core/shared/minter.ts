/**
 * The tokens of the keys that this process owns.
 *
 * **Promise.** For each key, in any interval of t milliseconds, all processes together use at most `limit × t + burst` tokens,
 * counted by the clocks of the owners, and one burst more for each fresh start of an owner in the interval (none with `whenLost:
 * 'empty'`).
 *
 * Proof. Let F be the bucket of the owner plus the tokens that are away. While one process owns the key, F ≤ burst (`loans.ts`); F grows
 * at most at the rate of the limit; every token that is used, here or elsewhere, leaves F. That is the promise for
 * one owner. Now the key gets another owner.
 *
 *  1. The processes do not mint at the same time: the directory names one holder at a time.
 *  2. Tokens that the last owner lent may still be used for {@link LOAN_MS}. The new owner therefore mints nothing for that long
 *     after getting the key (`isOpen` of its right). When the new owner begins, every token of the last owner is used or void.
 *  3. The new owner begins with a full bucket: one burst more than the interval had before. Or the bucket is empty (`whenLost:
 *     'empty'`), so that F only grows at the rate of the limit since the last owner stopped. ∎
 *
 * An owner that leaves hands its buckets and loans over (`hand-over.ts`). Then F goes on at the next owner, which neither waits nor begins with a full bucket.
 *
 * A process that gets a key back without another holder in between goes on with the same bucket: the directory says since when.
 *
 * **A flood of keys.** Keys come from requests, so the tables are bounded. When they are full, a new key takes the room of a key that lacks at most one token and has another
 * (`spareMs`), be that token used or lent. Forgetting the key gives that token back: F rises by one token at most, and the promise grows by one token for each time. A key is
 * forgotten once in as many new keys as the table holds, so that is no way to a higher limit. A key without tokens is never forgotten.
 *
 * **Parts of the limit.** In a group several servers may mint one key at a time, each for its part s of the members (`group-directory.ts`). Then
 * the same holds with F ≤ s × burst and a growth of s × limit. The growth is in the clock: all instants here are of the minting clock of the
 * {@link Right}, which runs s times as fast. The size is a reserve: (1 − s) × burst tokens count as missing, now and at every earlier instant
 * with a smaller part (`cuts`), so that a bucket that was cut does not jump back when the part grows.
 */

import { debtMs, fullAfter, isPermitted, retryWhenFullMs, spareMs, wholeTokensIn } from '../local/bucket.ts';
import { LocalLimiter, type LocalLimiterOptions } from '../local/local-limiter.ts';
import type { Rate } from '../local/rate.ts';
import { type RateLimitResult, resultOf } from '../local/result.ts';
import type { Right } from './directory.ts';
import { Loans } from './loans.ts';
import type { Answer, Ask, HandedKey, WhenLost } from './messages.ts';
import { LOAN_MS } from './timing.ts';
import { Turns } from './turns.ts';

/** A key that other processes ask for. */
interface SharedKey {
  readonly loans: Loans;
  readonly turns: Turns;
}

/** The name of this process among those that take turns. Names of processes are not empty. */
const HERE = '';
const LOOK_AT = 2;
const LOOK_AT_WHEN_FULL = 64;
/** A borrower gets at most this part of a burst at once, unless it needs more. */
const GRANT_SHARE = 1 / 4;

const NOTHING_AWAY: Pick<HandedKey, 'fullMs' | 'msPerToken' | 'loans'> = {
  fullMs: 0,
  msPerToken: 0,
  loans: [],
};

export class Minter {
  /** The levels of all keys, as they would be if nothing were away. */
  readonly levels: LocalLimiter;
  readonly #shared = new Map<string, SharedKey>();
  #options: LocalLimiterOptions;

  constructor(options: LocalLimiterOptions) {
    this.#options = options;
    this.levels = new LocalLimiter(options);
  }

  /** Keeps to these bounds from now on: asks of other processes came before this process made its limiter. */
  bound(options: LocalLimiterOptions): void {
    this.#options = options;
    this.levels.bound(options);
  }

  /** A request of this process. */
  consume(key: string, cost: number, rate: Rate, right: Right, whenLost: WhenLost): RateLimitResult {
    const now = right.at;
    const shared = this.#shared.get(key);
    const place = this.levels.placeOf(key);
    const fullAt = this.#fullAt(place, shared, rate, right, whenLost);
    const charged = fullAfter(fullAt, now, cost, rate);
    const ahead = shared?.turns.ahead(HERE, now) ?? 0;
    const debt = debtMs(charged, now, rate) + ahead * rate.msPerToken;
    if (!isPermitted(debt, rate)) {
      shared?.turns.denied(HERE, cost, debt, now);
      return byOwner(resultOf(fullAt, rate, now, 'rate', debt, 'owner'), right);
    }
    if (!this.levels.setFullAt(key, place, charged, now, reserveMsOf(rate, right) + spareMs(rate))) {
      return byOwner(resultOf(fullAt, rate, now, 'full', retryWhenFullMs(rate), 'owner'), right);
    }
    shared?.turns.served(HERE);
    return byOwner(resultOf(charged, rate, now, undefined, 0, 'owner'), right);
  }

  /** An ask of another process. */
  grant(borrower: string, ask: Ask, rate: Rate, right: Right, whenLost: WhenLost): Answer {
    const { key, id, need } = ask;
    const now = right.at;
    const reserveMs = reserveMsOf(rate, right);
    const shared = this.#share(key, now, reserveMs, spareMs(rate));
    if (shared === undefined) return this.#answerWhenFull(ask, rate, right);
    shared.loans.report(borrower, id, ask.left, rate, right);
    const place = this.levels.placeOf(key);
    const fullAt = this.#fullAt(place, shared, rate, right, whenLost);
    const ahead = shared.turns.ahead(borrower, now);
    const there = wholeTokensIn(fullAt + ahead * rate.msPerToken, now, rate);
    const wanted = Math.min(ask.want, Math.max(need, Math.floor(rate.burst * GRANT_SHARE)));
    const tokens = Math.min(wanted, there);
    const charged = fullAfter(fullAt, now, tokens, rate);
    if (tokens >= need && !this.levels.setFullAt(key, place, charged, now, reserveMs + spareMs(rate)))
      return this.#answerWhenFull(ask, rate, right);
    if (tokens < need) {
      const short = debtMs(fullAfter(fullAt, now, need, rate), now, rate) + ahead * rate.msPerToken;
      const retryAfterMs = Math.max(short, rate.msPerToken);
      shared.turns.denied(borrower, need, retryAfterMs, now);
      const resetMs = Math.max(0, fullAt - now) / right.share;
      return { kind: 'denial', id, retryAfterMs: retryAfterMs / right.share, resetMs };
    }
    shared.turns.served(borrower);
    shared.loans.add(borrower, id, tokens, now + LOAN_MS);
    const remaining = wholeTokensIn(charged, now, rate);
    return { kind: 'grant', id, tokens, remaining, resetMs: Math.max(0, charged - now) / right.share };
  }

  /** Another process reports the tokens left of its batches. */
  report(borrower: string, { key, id, left }: Ask, rate: Rate, right: Right): void {
    this.#shared.get(key)?.loans.report(borrower, id, left, rate, right);
  }

  /** The levels of all keys that are not full, for their next owners. */
  handed(rightTo: (key: string) => Right | undefined): Omit<HandedKey, 'limiter'>[] {
    const keys = new Set([...this.levels.remembered(), ...this.#shared.keys()]);
    return [...keys].flatMap((key) => {
      const right = rightTo(key);
      if (right === undefined) return [];
      const ownMs = this.levels.fullAt(this.levels.placeOf(key), right.at) - right.at;
      const away = this.#shared.get(key)?.loans.handed(right.at) ?? NOTHING_AWAY;
      const fullMs = Math.max(0, ownMs, away.fullMs);
      return fullMs === 0 && away.loans.length === 0 ? [] : [{ ...away, key, fullMs }];
    });
  }

  /** The level of a key as its last owner left it. False: there is no room to remember the key. */
  take(handed: HandedKey, at: number): boolean {
    const { key, fullMs, loans } = handed;
    const place = this.levels.placeOf(key);
    const fullAt = Math.max(at + fullMs, this.levels.fullAt(place, at));
    if (fullAt > at && !this.levels.setFullAt(key, place, fullAt, at)) return false;
    if (loans.length === 0) return true;
    const shared = this.#share(key, at, 0, 0);
    shared?.loans.take(handed, at);
    return shared !== undefined;
  }

  /** The level of the key; nothing is taken. */
  peek(key: string, rate: Rate, right: Right, whenLost: WhenLost): RateLimitResult {
    const now = right.at;
    const fullAt = this.#fullAt(this.levels.placeOf(key), this.#shared.get(key), rate, right, whenLost);
    const debt = debtMs(fullAfter(fullAt, now, 1, rate), now, rate);
    return isPermitted(debt, rate)
      ? byOwner(resultOf(fullAt, rate, now, undefined, 0, 'owner'), right)
      : byOwner(resultOf(fullAt, rate, now, 'rate', debt, 'owner'), right);
  }

  #fullAt(
    place: number,
    shared: SharedKey | undefined,
    rate: Rate,
    right: Right,
    whenLost: WhenLost,
  ): number {
    const { at, since, cuts } = right;
    let fullAt = Math.max(at + reserveMsOf(rate, right), this.levels.fullAt(place, at));
    for (const cut of cuts) fullAt = Math.max(fullAt, cut.at + (1 - cut.share) * rate.refillMs);
    if (shared !== undefined) fullAt = Math.max(fullAt, shared.loans.fullAt(rate, right));
    if (whenLost === 'full') return fullAt;
    return Math.max(fullAt, since + LOAN_MS + rate.refillMs);
  }

  /** Looks at two other keys for each new one, so that those that nobody asks for any more are forgotten. */
  #share(key: string, now: number, reserveMs: number, spare: number): SharedKey | undefined {
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    this.#forget(LOOK_AT, now, (loans) => loans.isOver(now, reserveMs));
    const isFull = (): boolean => this.#shared.size >= this.#options.maxKeys;
    if (isFull())
      this.#forget(LOOK_AT_WHEN_FULL, now, (loans) => isFull() && loans.isSpare(now, reserveMs, spare));
    if (isFull()) return undefined;
    const shared = { loans: new Loans(), turns: new Turns() };
    this.#shared.set(key, shared);
    return shared;
  }

  /** Looks at the keys that were looked at the longest time ago. */
  #forget(count: number, now: number, isOver: (loans: Loans) => boolean): void {
    let looked = 0;
    for (const [key, shared] of this.#shared) {
      const isForgotten = isOver(shared.loans) && shared.turns.isOver(now);
      this.#shared.delete(key);
      if (!isForgotten) this.#shared.set(key, shared);
      looked += 1;
      if (looked === count) return;
    }
  }

  /** For a key that there is no room to remember: what `whenFull` says. */
  #answerWhenFull({ id, want, need }: Ask, rate: Rate, { share }: Right): Answer {
    const tokens = Math.min(want, Math.max(need, Math.floor(rate.burst * GRANT_SHARE)));
    if (this.#options.whenFull === 'admit')
      return { kind: 'grant', id, tokens, remaining: Math.floor(rate.burst), resetMs: 0 };
    return { kind: 'denial', id, retryAfterMs: retryWhenFullMs(rate) / share, resetMs: 0 };
  }
}

/** What a part of the limit lacks always, as a time. */
const reserveMsOf = ({ refillMs }: Rate, { share }: Right): number => (1 - share) * refillMs;

/** Times as the process counts them that asks, and not as the minting clock does. */
function byOwner(result: RateLimitResult, { share }: Right): RateLimitResult {
  if (share === 1) return result;
  return { ...result, retryAfterMs: result.retryAfterMs / share, resetMs: result.resetMs / share };
}
