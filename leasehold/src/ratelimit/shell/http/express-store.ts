/**
 * A store for `express-rate-limit`, for an application that has that middleware already.
 *
 * The middleware counts hits in a window and denies the hit above its `limit`. This limiter knows tokens, not hits, so the
 * store says `burst − remaining` for a request that is allowed, and more than any limit for one that is denied. The middleware then
 * decides as the limiter did, if its `limit` is the limiter's `burst`. With any other number every request fails with an error
 * that says so: the middleware swallows what `init` throws, so `increment` has to throw it. Two limits are exceptions. 0 denies every request, and the limiter is not asked. A
 * function may return any number for a request, so a denial counts more hits than any limit; what the function returns can only deny more requests.
 *
 * Hits that the middleware takes back are refunded, except as many as were denied (`denied-hits.ts`). With `skipSuccessfulRequests` alone, denied hits are not taken
 * back, because their answer is an error: then none are counted. A `handler` of your own must keep that true and answer with a status of 400 or more.
 */

import { dateIn } from '../../../node/date.ts';
import { type InvalidArgumentError, invalidOption } from '../../../runtime/errors.ts';
import type { Limiter } from '../limiter.ts';
import { DeniedHits } from './denied-hits.ts';

export interface ExpressStore {
  readonly localKeys: boolean;
  init(options: {
    readonly limit: unknown;
    readonly skipFailedRequests?: boolean;
    readonly skipSuccessfulRequests?: boolean;
  }): void;
  get(key: string): Promise<{ totalHits: number; resetTime: Date | undefined }>;
  increment(key: string): Promise<{ totalHits: number; resetTime: Date | undefined }>;
  decrement(key: string): Promise<void>;
  resetKey(key: string): Promise<void>;
}

/** More than any limit. */
const HITS_DENIED = Number.MAX_SAFE_INTEGER;

export function expressStore(limiter: Limiter): ExpressStore {
  let misfit: InvalidArgumentError | undefined;
  const denied = new DeniedHits();
  let areDeniedTakenBack = true;
  let deniesAll = false;
  return {
    localKeys: true,
    init: ({ limit, skipFailedRequests = false, skipSuccessfulRequests = false }) => {
      areDeniedTakenBack = skipFailedRequests || !skipSuccessfulRequests;
      const { burst } = limiter.peek('limit');
      deniesAll = limit === 0;
      if (typeof limit !== 'number' || limit === burst || deniesAll) return;
      const rule = `it must be the burst of the limiter, which is ${burst}`;
      misfit = invalidOption('limit', limit, rule);
    },
    get: async (key) => {
      const { burst, remaining, resetMs } = limiter.peek(key);
      return { totalHits: burst - remaining, resetTime: dateIn(resetMs) };
    },
    increment: async (key) => {
      if (misfit !== undefined) throw misfit;
      if (deniesAll) return { totalHits: HITS_DENIED, resetTime: undefined };
      const { allowed, burst, remaining, resetMs, retryAfterMs } = await limiter.consume(key);
      if (!allowed && areDeniedTakenBack) denied.add(key, retryAfterMs);
      const totalHits = allowed ? burst - remaining : HITS_DENIED;
      return { totalHits, resetTime: dateIn(allowed ? resetMs : retryAfterMs) };
    },
    decrement: async (key) => {
      if (!deniesAll && !denied.pay(key)) limiter.refund(key);
    },
    resetKey: async (key) => limiter.reset(key),
  };
}
