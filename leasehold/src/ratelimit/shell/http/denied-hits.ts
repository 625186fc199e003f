/**
 * Hits that a limiter denied, and that `express-rate-limit` may still take back.
 *
 * With `skipFailedRequests` the middleware takes back every hit whose answer is an error, and its own 429 is one. A denied hit was charged nothing, so to refund
 * a token for that hit would make the limit void. The middleware does not say which hit of a key is taken back. So each denied hit pays for one: the next
 * hits of the key that are taken back are refunded nothing, as many as were denied. No order of answers then refunds more tokens than were charged.
 *
 * A denied hit that is never taken back costs the key one refund. The middleware takes back nothing after the hit's reset time, so a debt is forgotten a minute after
 * that time. Beyond {@link KEYS_MAX} keys the denied hits are counted in one sum for all other keys, which errs on the safe side, too.
 */

import { dateIn } from '../../../node/date.ts';

const KEYS_MAX = 10_000;
const GRACE_MS = 60_000;

interface Debt {
  hits: number;
  until: number;
}

const nowMs = (): number => dateIn(0)?.getTime() ?? 0;

export class DeniedHits {
  readonly #debts = new Map<string, Debt>();
  #others = 0;

  add(key: string, retryAfterMs: number): void {
    const until = dateIn(retryAfterMs + GRACE_MS)?.getTime() ?? Number.POSITIVE_INFINITY;
    const debt = this.#live(key);
    if (debt !== undefined) Object.assign(debt, { hits: debt.hits + 1, until: Math.max(debt.until, until) });
    else if (this.#hasRoom()) this.#debts.set(key, { hits: 1, until });
    else this.#others += 1;
  }

  /** Whether a hit that is taken back counts as one that was denied. */
  pay(key: string): boolean {
    const debt = this.#live(key);
    if (debt !== undefined) {
      debt.hits -= 1;
      if (debt.hits === 0) this.#debts.delete(key);
      return true;
    }
    if (this.#others === 0) return false;
    this.#others -= 1;
    return true;
  }

  #live(key: string): Debt | undefined {
    const debt = this.#debts.get(key);
    if (debt === undefined || debt.until > nowMs()) return debt;
    this.#debts.delete(key);
    return undefined;
  }

  #hasRoom(): boolean {
    if (this.#debts.size < KEYS_MAX) return true;
    const now = nowMs();
    for (const [key, { until }] of this.#debts) if (until <= now) this.#debts.delete(key);
    return this.#debts.size < KEYS_MAX;
  }
}
