/**
 * How much may I use?
 *
 * A limit of one process needs no network. `joinLimits` is loaded when it is first called, and with it the
 * connections among processes; `scripts/build/bars.mjs` holds us to that.
 */

import type { joinLimits as JoinLimits } from './shell/join-limits.ts';

export { allLimits, type AllLimits } from './shell/all-limits.ts';
export {
  type BlockOptions,
  type ConsumeOptions,
  type CostOptions,
  Limiter,
  type RefundOptions,
} from './shell/limiter.ts';
export type { SharedLimits } from './shell/shared-limits.ts';
export type { LimitDifference, LimiterStatus, SharedLimitsStatus, SpreadStatus } from './shell/status.ts';
export { ratelimit, type RateLimitOptions, type WhenCutOff } from './shell/ratelimit.ts';
export type { JoinLimitsOptions } from './shell/join-limits.ts';
export type { JoinLimitsInGroupOptions } from './shell/limits-in-group.ts';
export type { JoinLimitsOnPoolOptions } from './shell/limits-on-pool.ts';
export { type GroupTotals, groupTotals, type GroupTotalsOptions } from './shell/spread/group-totals.ts';
export type { DemandKind } from './core/spread/demand.ts';
export type { SpreadOptions } from './shell/spread/spread-options.ts';
export type { WhenLost } from './core/shared/messages.ts';
export { type ExpressStore, expressStore } from './shell/http/express-store.ts';
export { type LimitHeaders, limitHeaders } from './shell/http/headers.ts';
export type { HttpLimitOptions } from './shell/http/limit-request.ts';
export { expressLimit, fastifyLimit, honoLimit, nodeLimit } from './shell/http/middlewares.ts';
export type { Duration, RateOptions } from './core/local/rate.ts';
export type { Allowance, DecidedBy, DeniedBecause, Denial, RateLimitResult } from './core/local/result.ts';

export const joinLimits: typeof JoinLimits = async (...given) =>
  (await import('./shell/join-limits.ts')).joinLimits(...given);
