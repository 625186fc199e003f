/**
 * A limit as users write it (100 requests per second, at most 100 at once) and as the limiter counts it.
 *
 * The limiter counts in milliseconds: a token takes `msPerToken` to come back, and an empty bucket takes
 * `refillMs = burst × msPerToken` to be full. Both are checked once, here, so that no decision has to be.
 *
 * `msPerToken` is at least a thousandth of a millisecond. The monotonic clock is a double in milliseconds; after a year
 * its last digit is worth 4 millionths, so that a faster limit would be counted wrong by more than half a percent.
 */

import { invalidOption } from '../../../runtime/errors.ts';

/** Milliseconds, or a number with a unit: `'500ms'`, `'1s'`, `'5m'`, `'1h'`, `'1d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

export interface RateOptions {
  /** How many tokens come back in every `per`. One token is one request, unless a request costs more. */
  limit: number;

  /** @default '1s' */
  per?: Duration | undefined;

  /**
   * How many tokens can be used at once after a quiet time: the size of the bucket.
   *
   * @default limit, at least 1
   */
  burst?: number | undefined;
}

export interface Rate {
  readonly msPerToken: number;
  readonly burst: number;
  /** How long an empty bucket takes to be full. */
  readonly refillMs: number;
  /** As the user wrote it, for headers and errors. */
  readonly limit: number;
  readonly perMs: number;
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MS_PER_TOKEN_MIN = 0.001;
const REFILL_MS_MAX = 366 * 86_400_000;

/** @throws {InvalidArgumentError} naming the first rule that is broken */
export function resolveRate({ limit, per = '1s', burst }: RateOptions): Rate {
  demand('limit', limit, isPositive(limit), 'it must be a positive, finite number');
  const perMs = durationMs('per', per);
  const msPerToken = perMs / limit;
  const isSlowEnough = msPerToken >= MS_PER_TOKEN_MIN;
  demand('limit', limit, isSlowEnough, 'the limiter counts at most a million tokens a second');
  const size = burst ?? Math.max(1, limit);
  demand('burst', size, Number.isFinite(size) && size >= 1, 'it must be a finite number of at least 1');
  const refillMs = size * msPerToken;
  const isSoonEnough = refillMs <= REFILL_MS_MAX;
  demand('burst', size, isSoonEnough, 'a bucket must be full again within a year');
  return { msPerToken, burst: size, refillMs, limit, perMs };
}

/** @throws {InvalidArgumentError} unless the value is a positive duration */
export function durationMs(option: string, value: unknown): number {
  if (typeof value === 'string') {
    const [, count = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) ?? [];
    const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
    demand(
      option,
      value,
      isPositive(ms),
      "it must be a number with a unit, as in '500ms', '1s', '5m' or '1h'",
    );
    return ms;
  }
  demand(option, value, isPositive(value), "it must be a positive number of milliseconds, or text as '1s'");
  return value as number;
}

const isPositive = (value: unknown): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value > 0;

function demand(option: string, value: unknown, holds: boolean, rule: string): void {
  if (!holds) throw invalidOption(option, value, rule);
}
