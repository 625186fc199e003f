/**
 * What an HTTP answer says about a limit: the two fields of the IETF draft (`draft-ietf-httpapi-ratelimit-headers`), and
 * `Retry-After` for a request that was denied and may be repeated.
 *
 *     RateLimit-Policy: "api";q=100;w=1        100 requests in every second
 *     RateLimit: "api";r=42;t=1                42 left; all are back in a second
 *
 * The draft counts in whole seconds. A limit per less than a second is said as its equal per second; times are rounded up,
 * so that a client that obeys them is never too early.
 */

import type { RateLimitResult } from '../../core/result.ts';

export type LimitHeaders = Readonly<Record<string, string>>;

export function limitHeaders(name: string, result: RateLimitResult): LimitHeaders {
  const seconds = Math.max(1, Math.round(result.perMs / 1_000));
  const quota = Math.max(1, Math.floor((result.limit * seconds * 1_000) / result.perMs));
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

const wholeSeconds = (ms: number): number => Math.ceil(ms / 1_000);

/** A string of a structured field: printable ASCII in quotes. Other characters are shown as `?`. */
const quoted = (text: string): string =>
  `"${text.replace(/[^\x20-\x7e]/gu, '?').replace(/["\\]/g, (character) => `\\${character}`)}"`;
