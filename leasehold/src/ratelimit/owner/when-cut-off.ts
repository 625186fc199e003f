/**
 * The decision of a process alone, when the owner of a key does not answer.
 *
 *  - `closed`: nothing is allowed. The promise of the limit holds without exception.
 *  - `share`: this process allows `1 / size` of the limit, without a limit of time. Processes that reach the owner go on with the
 *    whole limit, so that all together may use up to twice the limit.
 *  - `open`: this process allows `factor` times the limit, for `forMs`; then nothing.
 *
 * The decision has a bucket of its own for each key. That bucket is full at first. Limit and burst are reduced by the
 * same factor, but the burst is at least 1: otherwise nothing could ever be allowed.
 */

import { LocalLimiter } from '../core/local-limiter.ts';
import type { Rate } from '../core/rate.ts';
import { type RateLimitResult, resultOf } from '../core/result.ts';

export type CutOffPolicy =
  | { readonly kind: 'closed' }
  | { readonly kind: 'share'; readonly size: number }
  | { readonly kind: 'open'; readonly factor: number; readonly forMs: number };

/** After a denial because of a cut-off, an owner may be there again at any time. */
const RETRY_AFTER_MS = 500;
const REMEMBERED_MS = 10_000;
const OPEN_REMEMBERED_MS = 60_000;

export class CutOffLimiter {
  readonly #policy: CutOffPolicy;
  readonly #levels: LocalLimiter;

  constructor(policy: CutOffPolicy, maxKeys: number) {
    this.#policy = policy;
    this.#levels = new LocalLimiter({ maxKeys, whenFull: 'deny' });
  }

  /**
   * For how long after its last request a cut-off key is remembered. A key that is forgotten is open anew, so keys that were open are remembered for longer;
   * not for ever, because a cut-off of many keys would fill the table.
   */
  get rememberedMs(): number {
    return this.#policy.kind === 'open' ? OPEN_REMEMBERED_MS : REMEMBERED_MS;
  }

  decide(key: string, cost: number, rate: Rate, cutOffSince: number, now: number): RateLimitResult {
    const policy = this.#policy;
    switch (policy.kind) {
      case 'closed':
        return closed(rate, now);
      case 'share':
        return { ...this.#decide(key, cost, rate, 1 / policy.size, now), by: 'share' };
      case 'open':
        if (now >= cutOffSince + policy.forMs) return closed(rate, now);
        return { ...this.#decide(key, cost, rate, policy.factor, now), by: 'open' };
    }
  }

  #decide(key: string, cost: number, rate: Rate, factor: number, now: number): RateLimitResult {
    const decided = this.#levels.consume(key, cost, scaled(rate, factor), now);
    if (decided.allowed) return decided;
    // A cost above this bucket's burst is not refused for good: the owner may allow it.
    const retryAfterMs = Number.isFinite(decided.retryAfterMs) ? decided.retryAfterMs : RETRY_AFTER_MS;
    return { ...decided, denied: 'cut-off', retryAfterMs };
  }
}

const closed = (rate: Rate, now: number): RateLimitResult =>
  resultOf(now + rate.refillMs, rate, now, 'cut-off', RETRY_AFTER_MS, 'closed');

function scaled(rate: Rate, factor: number): Rate {
  const burst = Math.max(1, rate.burst * factor);
  const msPerToken = rate.msPerToken / factor;
  return { ...rate, burst, msPerToken, refillMs: burst * msPerToken };
}
