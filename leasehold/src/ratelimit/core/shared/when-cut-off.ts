/**
 * The decision of a process alone, when the owner of a key does not answer.
 *
 *  - `closed`: nothing is allowed. The promise of the limit holds without exception.
 *  - `share`: this process lets requests through at its part of the limit, `1 / n`, for `forMs`; then nothing. n is the number of processes that share the limit,
 *    as this process last knew, or as the application said; a process that never knew lets nothing through.
 *  - `open`: this process allows `factor` times the limit, for `forMs`; then nothing.
 *
 * The decision has a bucket of its own for each key. That bucket is full at first. Limit and burst are reduced by the
 * same factor, but the burst is at least 1: otherwise nothing could ever be allowed.
 *
 * **What `share` adds to the sum.** The bucket of one process lets through at most `(limit × t + burst) / n` in any interval of t, and at least one token. The bucket outlives the
 * cut-off, so many short cut-offs let through no more than one long. With n processes or fewer, all together add at most `limit × t + max(burst, n)`, and for at
 * most `forMs` after an owner was last heard of.
 */

import { LocalLimiter } from '../local/local-limiter.ts';
import type { Rate } from '../local/rate.ts';
import { type RateLimitResult, resultOf } from '../local/result.ts';

export type CutOffPolicy =
  | { readonly kind: 'closed' }
  /** @property maxServers the number of processes; undefined: as last known */
  | { readonly kind: 'share'; readonly maxServers: number | undefined; readonly forMs: number }
  | { readonly kind: 'open'; readonly factor: number; readonly forMs: number };

/** After a denial because of a cut-off, an owner may be there again at any time. */
const RETRY_AFTER_MS = 500;
const REMEMBERED_MS = 10_000;
const ADMITTING_REMEMBERED_MS = 60_000;

export class CutOffLimiter {
  readonly #policy: CutOffPolicy;
  readonly #levels: LocalLimiter;

  constructor(policy: CutOffPolicy, maxKeys: number) {
    this.#policy = policy;
    this.#levels = new LocalLimiter({ maxKeys, whenFull: 'deny' });
  }

  /**
   * For how long after its last request a cut-off key is remembered. The time of a key that is forgotten begins anew, so keys that were let through are remembered for longer;
   * not for ever, because a cut-off of many keys would fill the table.
   */
  get rememberedMs(): number {
    return this.#policy.kind === 'closed' ? REMEMBERED_MS : ADMITTING_REMEMBERED_MS;
  }

  /** @param members how many processes share the limit, as last known; undefined: that was never known */
  decide(
    key: string,
    cost: number,
    rate: Rate,
    cutOffSince: number,
    now: number,
    members: number | undefined,
  ): RateLimitResult {
    const policy = this.#policy;
    if (policy.kind === 'closed' || now >= cutOffSince + policy.forMs) return closed(rate, now);
    if (policy.kind === 'open') return { ...this.#decide(key, cost, rate, policy.factor, now), by: 'open' };
    const maxServers = policy.maxServers ?? members;
    if (maxServers === undefined) return closed(rate, now);
    return { ...this.#decide(key, cost, rate, 1 / maxServers, now), by: 'share' };
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
