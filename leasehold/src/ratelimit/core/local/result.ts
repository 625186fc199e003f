import { wholeTokensIn } from './bucket.ts';
import type { Rate } from './rate.ts';

/**
 * Where a decision was made.
 *
 *  - `local`: by this process alone, for itself alone.
 *  - `owner`: by this process, which owns the key for all processes.
 *  - `batch`: with tokens that the owner of the key has lent to this process.
 *  - `cached`: by an earlier denial of the owner, which still holds.
 *  - `share`, `open`, `closed`: by `whenCutOff`, because the owner of the key did not answer in time.
 *  - `spread`: of a spread limit, with the credits of this process. `share`: of a spread limit, with at most 1 / size of the limit, because this
 *    process does not act in a view, or not all members have spoken yet.
 */
export type DecidedBy = 'local' | 'owner' | 'batch' | 'cached' | 'share' | 'open' | 'closed' | 'spread';

/**
 * Why a request was denied. `rate`: no tokens left. `cost`: the request costs more than `burst`, so it can never be allowed.
 * `full`: the limiter has reached `maxKeys`, and the key is new. `cut-off`: the owner of the key did not answer, and
 * `whenCutOff` allows nothing more; the key itself may have tokens. `closed`: the same, because this process has closed its shared limits.
 */
export type DeniedBecause = 'rate' | 'cost' | 'full' | 'cut-off' | 'closed';

interface Level {
  /** Whole tokens left for this key. */
  readonly remaining: number;

  /** How long until the same request may be allowed; 0 if it was. Infinity: never, see {@link DeniedBecause}. */
  readonly retryAfterMs: number;

  /** How long until the key has all its tokens again. */
  readonly resetMs: number;

  /** The limit that was applied: so many tokens in every so many milliseconds, at most `burst` at once. */
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;

  readonly by: DecidedBy;
}

export interface Allowance extends Level {
  readonly allowed: true;
  readonly denied?: undefined;
}

export interface Denial extends Level {
  readonly allowed: false;
  readonly denied: DeniedBecause;
}

/** The answer to one request for tokens. A denial is an answer, not an error; `allowed` tells which of the two this is. */
export type RateLimitResult = Allowance | Denial;

/** The answer for a bucket that is full at `fullAt`, after what was decided. */
export const resultOf = (
  fullAt: number,
  rate: Rate,
  now: number,
  denied: DeniedBecause | undefined,
  retryAfterMs: number,
  by: DecidedBy,
): RateLimitResult => {
  const remaining = wholeTokensIn(fullAt, now, rate);
  const resetMs = fullAt > now ? fullAt - now : 0;
  const { limit, perMs, burst } = rate;
  return denied === undefined
    ? { allowed: true, remaining, retryAfterMs, resetMs, limit, perMs, burst, denied, by }
    : { allowed: false, remaining, retryAfterMs, resetMs, limit, perMs, burst, denied, by };
};
