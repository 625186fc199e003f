/**
 * What an HTTP answer says about a limit: the two fields of the IETF draft (`draft-ietf-httpapi-ratelimit-headers`), and
 * `Retry-After` for a request that was denied and may be repeated.
 *
 *     RateLimit-Policy: "api";q=100;w=1        100 requests in every second
 *     RateLimit: "api";r=42;t=1                42 left; all are back in a second
 *
 * The draft counts in whole seconds and whole requests. A limit per less than a second is said as its equal per second, and one of less than a request in its time as one request in a
 * longer time. A bucket that is smaller than the limit is said as itself, with the time in which it fills. Times are rounded up, so that a client that obeys them is never
 * too early.
 */

import type { RateLimitResult } from '../../core/local/result.ts';

export type LimitHeaders = Readonly<Record<string, string>>;

export function limitHeaders(name: string, result: RateLimitResult): LimitHeaders {
  const { quota, seconds } = policyOf(result);
  const label = quoted(name);
  const headers: Record<string, string> = {
    'RateLimit-Policy': `${label};q=${quota};w=${seconds}`,
    RateLimit: `${label};r=${result.remaining};t=${wholeSeconds(result.resetMs)}`,
  };
  if (!result.allowed && Number.isFinite(result.retryAfterMs)) {
    headers['Retry-After'] = String(Math.max(1, wholeSeconds(result.retryAfterMs)));
  }
  return headers;
}

function policyOf({ limit, perMs, burst }: RateLimitResult): {
  readonly quota: number;
  readonly seconds: number;
} {
  const msPerToken = perMs / limit;
  const refillMs = Math.floor(burst) * msPerToken;
  if (burst < limit && refillMs >= 1_000)
    return { quota: Math.floor(burst), seconds: wholeSeconds(refillMs) };
  const seconds = Math.max(1, Math.round(perMs / 1_000));
  const quota = Math.floor((limit * seconds * 1_000) / perMs);
  return quota >= 1 ? { quota, seconds } : { quota: 1, seconds: wholeSeconds(msPerToken) };
}

/** The rounding of a clock's last bits, far below a microsecond, is no reason for a second more. */
const wholeSeconds = (ms: number): number => Math.ceil(Math.round(ms * 1_000) / 1_000_000);

/** A string of a structured field: printable ASCII in quotes. Other characters are shown as `?`. */
const quoted = (text: string): string =>
  `"${text.replace(/[^\x20-\x7e]/gu, '?').replace(/["\\]/g, (character) => `\\${character}`)}"`;
