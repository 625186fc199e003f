/** Where a {@link Limiter} gets its decisions from: this process alone, or all processes that share the limit. */

import type { CallOptions } from '../../runtime/handle.ts';
import type { Instant } from '../../runtime/time.ts';
import type { LocalLimiter } from '../core/local/local-limiter.ts';
import type { Rate } from '../core/local/rate.ts';
import type { RateLimitResult } from '../core/local/result.ts';
import type { SpreadStatus } from './status.ts';

export interface Decider {
  /** Keys of which something is remembered. */
  readonly keys: number;
  /** @param wait how long to wait for the owner of the key, where there is one */
  consume(
    key: string,
    cost: number,
    rate: Rate,
    wait?: CallOptions,
  ): Promise<RateLimitResult> | RateLimitResult;
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
