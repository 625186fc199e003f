/** Who holds this lease? For a small group of processes that need no disk, and no other service, to agree. */

export {
  ClosedError,
  InUseError,
  InvalidArgumentError,
  LeaseholdError,
  LeaseLostError,
  OutcomeUnknownError,
  RefusedError,
  UnavailableError,
} from '../runtime/errors.ts';
export { type LogFacts, type Logger, silent } from '../runtime/logger.ts';
export type { LeaseEnd } from './core/errors.ts';
export type { FleaseDurations } from './core/options.ts';
export type { CallOptions } from '../runtime/handle.ts';
export type { FleaseMember, WatchOptions } from './shell/flease-member.ts';
export type { Lease } from './shell/lease.ts';
export { type JoinFleaseOptions, joinFlease } from './shell/join-flease.ts';
export type { Holder } from './shell/looking.ts';
export type { Peers } from './shell/peers-option.ts';
export type { FleaseStatus, PeerStatus } from './shell/status.ts';
