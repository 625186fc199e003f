/**
 * Several limits for one request: ten a second and a thousand a day. The request is allowed if every limiter allows it,
 * and charged to all of them or to none: the limiters are asked in turn, and a denial refunds those before it.
 *
 * Until the refund, the tokens are missing, so a second request in that moment may be denied although its tokens are
 * about to come back. The other order, asking all and charging later, could allow more than a limit permits.
 */

import { InvalidOptionError } from '../../runtime/errors.ts';
import type { RateLimitResult } from '../core/result.ts';
import type { ConsumeOptions, Limiter } from './limiter.ts';

export interface AllLimits {
  consume(key: string, options?: Pick<ConsumeOptions, 'cost'>): Promise<RateLimitResult>;
  tryConsume(key: string, options?: Pick<ConsumeOptions, 'cost'>): RateLimitResult;
  refund(key: string, tokens?: number): void;
}

/** @throws {InvalidOptionError} if there is no limiter, or the same limiter twice */
export function all(limiters: readonly Limiter[]): AllLimits {
  if (limiters.length === 0) throw new InvalidOptionError('limiters', '[]', 'there must be at least one');
  if (new Set(limiters).size < limiters.length) {
    throw new InvalidOptionError('limiters', 'a list', 'the same limiter must not be in it twice');
  }
  const refund = (asked: readonly Limiter[], key: string, tokens: number): void => {
    for (const limiter of asked) limiter.refund(key, tokens);
  };
  return {
    async consume(key, options) {
      const answers: RateLimitResult[] = [];
      for (const [at, limiter] of limiters.entries()) {
        const answer = await limiter.consume(key, options);
        if (!answer.allowed) {
          refund(limiters.slice(0, at), key, options?.cost ?? 1);
          return answer;
        }
        answers.push(answer);
      }
      return scarcest(answers);
    },
    tryConsume(key, options) {
      const answers: RateLimitResult[] = [];
      for (const [at, limiter] of limiters.entries()) {
        const answer = limiter.tryConsume(key, options);
        if (!answer.allowed) {
          refund(limiters.slice(0, at), key, options?.cost ?? 1);
          return answer;
        }
        answers.push(answer);
      }
      return scarcest(answers);
    },
    refund: (key, tokens = 1) => refund(limiters, key, tokens),
  };
}

/** The answer of the limiter with the fewest tokens left. */
const scarcest = (answers: readonly RateLimitResult[]): RateLimitResult =>
  answers.reduce((least, answer) => (answer.remaining < least.remaining ? answer : least));
