/** Where a {@link Limiter} gets its decisions from: this process alone, or all processes that share the limit. */

import type { Instant } from '../../runtime/time.ts';
import type { LocalLimiter } from '../core/local-limiter.ts';
import type { Rate } from '../core/rate.ts';
import type { RateLimitResult } from '../core/result.ts';
import type { SpreadStatus } from '../spread/shell/spread-limit.ts';

export interface Decider {
  /** Keys of which something is remembered. */
  readonly keys: number;
  consume(key: string, cost: number, rate: Rate): Promise<RateLimitResult> | RateLimitResult;
  /** Decides at once, with tokens that are in this process. */
  tryConsume(key: string, cost: number, rate: Rate): RateLimitResult;
  peek(key: string, rate: Rate): RateLimitResult;
  refund(key: string, tokens: number, rate: Rate): void;
  block(key: string, ms: number, rate: Rate): boolean;
  reset(key: string): void;
  /** Of a spread limit. */
  spread?(): SpreadStatus;
}

export function localDecider(local: LocalLimiter, clock: { now(): Instant }): Decider {
  const consume = (key: string, cost: number, rate: Rate): RateLimitResult =>
    local.consume(key, cost, rate, clock.now());
  return {
    get keys() {
      return local.keys;
    },
    consume,
    tryConsume: consume,
    peek: (key, rate) => local.peek(key, rate, clock.now()),
    refund: (key, tokens, rate) => local.refund(key, tokens, rate, clock.now()),
    block: (key, ms, rate) => local.block(key, ms, rate, clock.now()),
    reset: (key) => local.reset(key),
  };
}
