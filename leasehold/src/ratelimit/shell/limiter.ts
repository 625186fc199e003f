/**
 * The limiter an application holds.
 *
 * {@link Limiter.consume} is a promise although a limiter of one process never waits, so that nothing changes for the
 * caller when the limit is shared with other processes. {@link Limiter.tryConsume} answers at once.
 */

import type { CallOptions } from '../../runtime/handle.ts';
import { invalidOption } from '../../runtime/errors.ts';
import { type Rate, type RateOptions, resolveRate } from '../core/local/rate.ts';
import type { RateLimitResult } from '../core/local/result.ts';
import type { SpreadStatus } from './status.ts';
import type { Decider } from './decider.ts';

/** What `tryConsume` takes besides the key. A limit, burst or duration counts for this call. */
export interface CostOptions extends Partial<RateOptions> {
  /** Tokens that this request takes. @default 1 */
  cost?: number | undefined;
}

/** What `consume` takes besides the key. */
export interface ConsumeOptions extends CostOptions {
  /** How long this request waits for the owner of its key, in milliseconds; then `whenCutOff` decides. @default `askTimeoutMs` of the limiter */
  timeoutMs?: number | undefined;
  /** Gives the request up: nothing is taken. */
  signal?: AbortSignal | undefined;
}

/** What `refund` takes besides the key. */
export interface RefundOptions extends Partial<RateOptions> {
  /** How many tokens come back. @default 1 */
  tokens?: number | undefined;
}

/** What `block` takes besides the key. */
export interface BlockOptions extends Partial<RateOptions> {
  /** For how long the key is denied, in milliseconds. */
  forMs: number;
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

  /** How this process stands in a limit with `spread`; undefined for other limits. */
  get spread(): SpreadStatus | undefined {
    return this.#decider.spread?.();
  }

  /**
   * Takes tokens, if the key has them. Never rejects for a denial.
   *
   * @throws the signal's reason; nothing was taken
   */
  async consume(key: string, options?: ConsumeOptions): Promise<RateLimitResult> {
    options?.signal?.throwIfAborted();
    return this.#decider.consume(key, options?.cost ?? 1, this.#rateFor(options), waitOf(options));
  }

  /**
   * Takes tokens that are in this process, if there are enough. Of a shared limit these are the tokens of owned keys and the batches in
   * hand; without any, the request is denied as `cut-off`, and tokens are asked for: a call after `retryAfterMs` finds them.
   */
  tryConsume(key: string, options?: CostOptions): RateLimitResult {
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
  refund(key: string, options?: RefundOptions): void {
    this.#decider.refund(key, options?.tokens ?? 1, this.#rateFor(options));
  }

  /**
   * Denies the key for `forMs`. False if the limiter is full and has no room for the key. Of a shared limit: in all processes if this process
   * owns the key, for as long as this process owns it; otherwise in this process.
   */
  block(key: string, options: BlockOptions): boolean {
    return this.#decider.block(key, blockedMs(options), this.#rateFor(options));
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

const waitOf = (options: ConsumeOptions | undefined): CallOptions | undefined =>
  options?.timeoutMs === undefined && options?.signal === undefined ? undefined : options;

/** The former form, `block(key, ms)`, would deny nothing. */
function blockedMs(options: BlockOptions): number {
  if (typeof Object(options).forMs === 'number') return options.forMs;
  throw invalidOption('forMs', Object(options).forMs, 'it must be a number of milliseconds');
}
