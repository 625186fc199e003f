/** How much may I use? */

export { all, type AllLimits } from './shell/all.ts';
export { type ConsumeOptions, Limiter } from './shell/limiter.ts';
export type {
  LimitDifference,
  LimiterStatus,
  LimitSharing,
  SharingStatus,
} from './shell/limit-sharing.ts';
export { DEFAULT_LIMIT_HTTP_PORT, serveLimits } from './shell/http/serve-limits.ts';
export { ratelimit, type RateLimitOptions, type WhenCutOff } from './shell/ratelimit.ts';
export { shareLimits, type ShareLimitsOptions } from './shell/share-limits.ts';
export { type GroupTotals, groupTotals, type GroupTotalsOptions } from './spread/shell/group-totals.ts';
export type { DemandKind } from './spread/demand.ts';
export type { SpreadStatus } from './spread/shell/spread-limit.ts';
export type { SpreadOptions } from './spread/shell/spread-options.ts';
export { shareLimitsInGroup, type ShareLimitsInGroupOptions } from './shell/share-limits-in-group.ts';
export type { OnLoss } from './owner/messages.ts';
export { type ExpressStore, expressStore } from './shell/http/express-store.ts';
export { type LimitHeaders, limitHeaders } from './shell/http/headers.ts';
export type { HttpLimitOptions } from './shell/http/limit-request.ts';
export { expressLimit, fastifyLimit, honoLimit, nodeLimit } from './shell/http/middlewares.ts';
export type { Duration, RateOptions } from './core/rate.ts';
export type { DecidedBy, RateLimitResult } from './core/result.ts';
