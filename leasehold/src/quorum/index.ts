/** A replicated key-value store; replicas answer reads from their own memory. */

export { InvalidKeyError, InvalidOptionError, LeaseholdError } from '../runtime/errors.ts';
export { type LogFacts, type Logger, silent } from '../runtime/logger.ts';
export type { Served } from './core/answer.ts';
export type { Placement, PlacementChange } from './core/configuration.ts';
export type { Action, Condition } from './core/operation.ts';
export type { QuorumDurations } from './core/options.ts';
export type { ReadMode } from './core/reads.ts';
export {
  AnotherClusterError,
  ChangeRefusedError,
  DirectoryMismatchError,
  HistoriesDifferError,
  OutcomeUnknownError,
  QuorumBusyError,
  QuorumClosedError,
  QuorumDiskFullError,
  QuorumTimeoutError,
  type RefusalReason,
  ReplicaRefusedError,
  AnswerNotKeptError,
  AnswerTooLargeError,
  TooLargeError,
  VotesLostError,
  WatchBehindError,
} from './errors.ts';
export {
  DEFAULT_QUORUM_HTTP_PORT,
  type ReplicaServer,
  serveReplica,
  type ServeReplicaOptions,
} from './shell/http/serve-replica.ts';
export { type ConnectQuorumOptions, connectQuorum } from './shell/connect-quorum.ts';
export type {
  CallOptions,
  Entry,
  Expected,
  Outcome,
  ReadEntry,
  ReadOptions,
} from './shell/client-types.ts';
export type { QuorumClient } from './shell/quorum-client.ts';
export type { QuorumReplica } from './shell/quorum-replica.ts';
export type { PlacingStatus } from './core/placing.ts';
export { READERS, type Readers, type ReadersStatus } from './shell/readers-status.ts';
export { isHealthy, type MemberStatus, type ReplicaStatus } from './shell/replica-status.ts';
export { startReplica, type StartReplicaOptions } from './shell/start-replica.ts';
export type { Watch, WatchEvent, WatchOptions } from './shell/watch.ts';
