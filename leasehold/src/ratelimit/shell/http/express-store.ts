/**
 * A store for `express-rate-limit`, for an application that has that middleware already.
 *
 * The middleware counts hits in a window and denies the hit above its `limit`. This limiter knows tokens, not hits, so the
 * store says `burst − remaining` for a request that is allowed and `burst + 1` for one that is denied. The middleware then
 * decides as the limiter did, if its `limit` is the limiter's `burst`. With any other limit every request fails with an error
 * that says so: the middleware swallows what `init` throws, so `increment` has to throw it.
 */

import { dateIn } from '../../../node/date.ts';
import { InvalidOptionError } from '../../../runtime/errors.ts';
import type { Limiter } from '../limiter.ts';

export interface ExpressStore {
  readonly localKeys: boolean;
  init(options: { readonly limit: unknown }): void;
  increment(key: string): Promise<{ totalHits: number; resetTime: Date | undefined }>;
  decrement(key: string): Promise<void>;
  resetKey(key: string): Promise<void>;
}

export function expressStore(limiter: Limiter): ExpressStore {
  let misfit: InvalidOptionError | undefined;
  return {
    localKeys: true,
    init: ({ limit }) => {
      const { burst } = limiter.peek('limit');
      if (typeof limit !== 'number' || limit === burst) return;
      const rule = `it must be the burst of the limiter, which is ${burst}`;
      misfit = new InvalidOptionError('limit', limit, rule);
    },
    increment: async (key) => {
      if (misfit !== undefined) throw misfit;
      const { allowed, burst, remaining, resetMs, retryAfterMs } = await limiter.consume(key);
      const totalHits = allowed ? burst - remaining : burst + 1;
      return { totalHits, resetTime: dateIn(allowed ? resetMs : retryAfterMs) };
    },
    decrement: async (key) => limiter.refund(key),
    resetKey: async (key) => limiter.reset(key),
  };
}
