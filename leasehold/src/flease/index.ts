/** Who holds this lease? For a small group of processes that need no disk, and no other service, to agree. */

export { InvalidOptionError, LeaseholdError, MalformedMessageError } from '../runtime/errors.ts';
export { type LogFacts, type Logger, silent } from '../runtime/logger.ts';
export {
  GroupChangeError,
  GroupClosedError,
  GroupLeftError,
  type LeaseEnd,
  LeaseEndedError,
  LeaseHeldError,
  LeaseNotHeldError,
  NoMajorityError,
} from './errors.ts';
export { RESOURCE_BYTES_MAX } from './messages.ts';
export type { FleaseDurations } from './options.ts';
export type { AcquireOptions, Flease, WatchOptions } from './shell/flease.ts';
export type { FleaseLease } from './shell/flease-lease.ts';
export type { HolderAnswer, NotKnownAnswer, PeerAnswer, StatusAnswer } from './shell/http/answers.ts';
export { fleaseMetrics } from './shell/http/metrics.ts';
export {
  DEFAULT_FLEASE_HTTP_PORT,
  type FleaseServer,
  serveFlease,
  type ServeFleaseOptions,
} from './shell/http/serve-member.ts';
export { type JoinFleaseOptions, joinFlease } from './shell/join-flease.ts';
export type { Holder } from './shell/looking.ts';
export type { Peers } from './shell/peers-option.ts';
export type { FleaseStatus, PeerStatus } from './shell/status.ts';
export {
  type ClosableServer,
  type Stoppable,
  type Stopping,
  stopOnSignals,
} from './shell/stop-on-signals.ts';
export { AddressUnavailableError, PortInUseError } from './shell/system-errors.ts';
