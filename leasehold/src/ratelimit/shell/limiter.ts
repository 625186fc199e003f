/**
 * The limiter an application holds.
 *
 * {@link Limiter.consume} is a promise although a limiter of one process never waits, so that nothing changes for the
 * caller when the limit is shared with other processes. {@link Limiter.tryConsume} answers at once.
 */

import { type Rate, type RateOptions, resolveRate } from '../core/rate.ts';
import type { RateLimitResult } from '../core/result.ts';
import type { SpreadStatus } from '../spread/shell/spread-limit.ts';
import type { Decider } from './decider.ts';

export interface ConsumeOptions extends Partial<RateOptions> {
  /** Tokens that this request takes. @default 1 */
  cost?: number | undefined;
}

export interface LimiterDependencies {
  readonly name: string;
  readonly rate: Rate;
  readonly decider: Decider;
}

export class Limiter {
  readonly name: string;
  readonly #rate: Rate;
  readonly #decider: Decider;

  constructor({ name, rate, decider }: LimiterDependencies) {
    this.name = name;
    this.#rate = rate;
    this.#decider = decider;
  }

  /** Keys whose tokens are remembered; all others have all their tokens. */
  get keys(): number {
    return this.#decider.keys;
  }

  /** How this process stands in a limit with `mode: 'spread'`; undefined for other limits. */
  get spread(): SpreadStatus | undefined {
    return this.#decider.spread?.();
  }

  /** Takes tokens, if the key has them. Never rejects for a denial. */
  async consume(key: string, options?: ConsumeOptions): Promise<RateLimitResult> {
    return this.#decider.consume(key, options?.cost ?? 1, this.#rateFor(options));
  }

  /**
   * Takes tokens that are in this process, if there are enough. Of a shared limit these are the tokens of owned keys and the batches in
   * hand; without any, the request is denied as `cut-off`, and tokens are asked for: a call after `retryAfterMs` finds them.
   */
  tryConsume(key: string, options?: ConsumeOptions): RateLimitResult {
    return this.#decider.tryConsume(key, options?.cost ?? 1, this.#rateFor(options));
  }

  /** How the key stands; nothing is taken. */
  peek(key: string, options?: Partial<RateOptions>): RateLimitResult {
    return this.#decider.peek(key, this.#rateFor(options));
  }

  /**
   * Gives back tokens of a request that turned out to cost less, or that does not count. Tokens that another process lent can be given
   * back while their batch lives, at most 400 ms; later they are lost.
   */
  refund(key: string, tokens = 1, options?: Partial<RateOptions>): void {
    this.#decider.refund(key, tokens, this.#rateFor(options));
  }

  /**
   * Denies the key for `ms`. False if the limiter is full and has no room for the key. Of a shared limit: in all processes if this process
   * owns the key, for as long as this process owns it; otherwise in this process.
   */
  block(key: string, ms: number, options?: Partial<RateOptions>): boolean {
    return this.#decider.block(key, ms, this.#rateFor(options));
  }

  /** Gives the key all its tokens. Of a shared limit: if this process owns the key. */
  reset(key: string): void {
    this.#decider.reset(key);
  }

  #rateFor(options: Partial<RateOptions> | undefined): Rate {
    if (options?.limit === undefined && options?.burst === undefined && options?.per === undefined) {
      return this.#rate;
    }
    const { limit = this.#rate.limit, per = this.#rate.perMs, burst } = options;
    return resolveRate({ limit, per, burst });
  }
}
