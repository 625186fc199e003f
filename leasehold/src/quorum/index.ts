/** A replicated key-value store; replicas answer reads from their own memory. */

export {
  ClosedError,
  type ErrorDetails,
  InUseError,
  InvalidArgumentError,
  LeaseholdError,
  LeaseLostError,
  NotOwnerError,
  OutcomeUnknownError,
  RefusedError,
  StorageError,
  UnavailableError,
} from '../runtime/errors.ts';
export { type LogFacts, type Logger, silent } from '../runtime/logger.ts';
export type { Served } from './core/answer.ts';
export type { ReaderMap, ReaderMapChange } from './core/configuration.ts';
export type { Action, Condition } from './core/operation.ts';
export type { QuorumDurations } from './core/options.ts';
export type { ReadMode } from './core/reads.ts';
export type { RefusalReason } from './core/errors.ts';
export { type ConnectQuorumOptions, connectQuorum } from './shell/connect-quorum.ts';
export type { CallOptions, Event, EventsOptions, Handle, Problem, Status, Tls } from '../runtime/handle.ts';
export type {
  ClientStatus,
  Entry,
  Expected,
  Outcome,
  ReadEntry,
  ReadOptions,
} from './shell/client-types.ts';
export type { QuorumClient } from './shell/quorum-client.ts';
export type { QuorumReplica } from './shell/quorum-replica.ts';
export type { PlacingStatus } from './core/placing.ts';
export type { Readers, ReadersStatus } from './shell/readers-status.ts';
export type { MemberStatus, RepairStatus, ReplicaRole, ReplicaStatus } from './shell/replica-status.ts';
export { startReplica, type StartReplicaOptions } from './shell/start-replica.ts';
export type { Watch, WatchEvent, WatchOptions } from './shell/watch.ts';
