/**
 * Several limits for one request: ten a second and a thousand a day. The request is allowed if every limiter allows it,
 * and charged to all of them or to none: the limiters are asked in turn, and a denial or an error refunds those before it.
 *
 * Until the refund, the tokens are missing, so a second request in that moment may be denied although its tokens are
 * about to come back. The other order, asking all and charging later, could allow more than a limit permits.
 *
 * Of a shared limit, tokens that another process lent come back only while their batch lives, 400 ms at most. If a later limiter takes longer than that to deny, they are lost.
 */

import { invalidOption } from '../../runtime/errors.ts';
import type { RateLimitResult } from '../core/local/result.ts';
import type { ConsumeOptions, CostOptions, Limiter, RefundOptions } from './limiter.ts';

/** Several limits as one: each request is charged to all of them or to none. */
export interface AllLimits {
  consume(
    key: string,
    options?: Pick<ConsumeOptions, 'cost' | 'timeoutMs' | 'signal'>,
  ): Promise<RateLimitResult>;
  tryConsume(key: string, options?: Pick<CostOptions, 'cost'>): RateLimitResult;
  refund(key: string, options?: Pick<RefundOptions, 'tokens'>): void;
}

/** @throws {InvalidArgumentError} if there is no limiter, or the same limiter twice */
export function allLimits(limiters: readonly Limiter[]): AllLimits {
  if (limiters.length === 0) throw invalidOption('limiters', '[]', 'there must be at least one');
  if (new Set(limiters).size < limiters.length) {
    throw invalidOption('limiters', 'a list', 'the same limiter must not be in it twice');
  }
  return {
    async consume(key, options) {
      const charges = new Charges(key, options?.cost ?? 1);
      try {
        for (const limiter of limiters) {
          const answer = await limiter.consume(key, options);
          if (!answer.allowed) return answer;
          charges.add(limiter, answer);
        }
        return charges.keep();
      } finally {
        charges.refundUnlessKept();
      }
    },
    tryConsume(key, options) {
      const charges = new Charges(key, options?.cost ?? 1);
      try {
        for (const limiter of limiters) {
          const answer = limiter.tryConsume(key, options);
          if (!answer.allowed) return answer;
          charges.add(limiter, answer);
        }
        return charges.keep();
      } finally {
        charges.refundUnlessKept();
      }
    },
    refund: (key, options) => {
      for (const limiter of limiters) limiter.refund(key, options);
    },
  };
}

/** What one request was charged so far. */
class Charges {
  readonly #key: string;
  readonly #cost: number;
  #limiters: Limiter[] = [];
  readonly #answers: RateLimitResult[] = [];

  constructor(key: string, cost: number) {
    this.#key = key;
    this.#cost = cost;
  }

  add(limiter: Limiter, answer: RateLimitResult): void {
    this.#limiters.push(limiter);
    this.#answers.push(answer);
  }

  keep(): RateLimitResult {
    this.#limiters = [];
    return scarcest(this.#answers);
  }

  refundUnlessKept(): void {
    for (const limiter of this.#limiters) limiter.refund(this.#key, { tokens: this.#cost });
  }
}

/** The answer of the limiter with the fewest tokens left. */
const scarcest = (answers: readonly RateLimitResult[]): RateLimitResult =>
  answers.reduce((least, answer) => (answer.remaining < least.remaining ? answer : least));
