/**
 * The functions that begin something, of all modules, each loaded when it is first called: a server that joins a pool does not
 * pay for a Manager, a replica or a group. All of a module is in `leasehold/pool`, `leasehold/manager`, `leasehold/flease` and the others.
 */

import type { joinFlease as JoinFlease } from './flease/index.ts';
import type { connectGroup as ConnectGroup, joinGroup as JoinGroup } from './membership/index.ts';
import type { serveStatus as ServeStatus } from './node/service/serve-status.ts';
import type { connectLookup as ConnectLookup, joinPool as JoinPool } from './pool/index.ts';
import type { startManager as StartManager } from './pool/manager.ts';
import type { supervise as Supervise } from './pool/supervisor.ts';
import type { connectQuorum as ConnectQuorum, startReplica as StartReplica } from './quorum/index.ts';
import type { joinLimits as JoinLimits } from './ratelimit/shell/join-limits.ts';

export type {
  FleaseDurations,
  FleaseMember,
  FleaseStatus,
  Holder,
  JoinFleaseOptions,
  Lease,
  Peers,
} from './flease/index.ts';
export type {
  ConnectGroupOptions,
  GroupClient,
  GroupMember,
  JoinGroupOptions,
  View,
} from './membership/index.ts';
export {
  type ClosableServer,
  type Stoppable,
  type Stopping,
  stopOnSignals,
} from './node/process/stop-on-signals.ts';
export { metricsText } from './node/service/merged-metrics.ts';
export type { ServeStatusOptions, StatusServer } from './node/service/serve-status.ts';
export type {
  ConnectLookupOptions,
  DrainOptions,
  DrainProgress,
  DrainResult,
  FoundOwner,
  GuardOptions,
  HeldKey,
  JoinPoolOptions,
  LeasedMap,
  LogPosition,
  LookupStatus,
  Loss,
  ManagerAddresses,
  OwnerStatus,
  PoolLookup,
  PoolOwner,
} from './pool/index.ts';
export type {
  ManagerConfiguration,
  ManagerStatus,
  PoolConfiguration,
  PoolManager,
  StartManagerOptions,
} from './pool/manager.ts';
export { type HttpAnswer, httpAnswer, isMisdirected } from './pool/shell/http-answer.ts';
export type { SupervisedEnd, SupervisedProcess, SuperviseOptions } from './pool/supervisor.ts';
export type {
  ClientStatus,
  ConnectQuorumOptions,
  QuorumClient,
  QuorumReplica,
  ReplicaStatus,
  StartReplicaOptions,
} from './quorum/index.ts';
export type { JoinLimitsOptions, SharedLimits, SharedLimitsStatus } from './ratelimit/index.ts';
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
} from './runtime/errors.ts';
export type {
  BeginOptions,
  CallOptions,
  Event,
  Handle,
  Held,
  Problem,
  Status,
  Tls,
} from './runtime/handle.ts';
export { type LogFacts, type Logger, silent } from './runtime/logger.ts';

/** This process keeps state for keys of a pool. */
export const joinPool: typeof JoinPool = async (...given) =>
  (await import('./pool/index.ts')).joinPool(...given);

/** This process sends requests to the owners of keys. */
export const connectLookup: typeof ConnectLookup = async (...given) =>
  (await import('./pool/index.ts')).connectLookup(...given);

/** A Manager in this process. */
export const startManager: typeof StartManager = async (...given) =>
  (await import('./pool/manager.ts')).startManager(...given);

/** Starts a command, and proves its death to the Managers at once. */
export const supervise: typeof Supervise = async (...given) =>
  (await import('./pool/supervisor.ts')).supervise(...given);

/** This process is one of the few that elect leaders among themselves. */
export const joinFlease: typeof JoinFlease = async (...given) =>
  (await import('./flease/index.ts')).joinFlease(...given);

/** A replica of a key-value store in this process. */
export const startReplica: typeof StartReplica = async (...given) =>
  (await import('./quorum/index.ts')).startReplica(...given);

/** A client of replicas elsewhere. */
export const connectQuorum: typeof ConnectQuorum = async (...given) =>
  (await import('./quorum/index.ts')).connectQuorum(...given);

/** This process is a server of a group with views. */
export const joinGroup: typeof JoinGroup = async (...given) =>
  (await import('./membership/index.ts')).joinGroup(...given);

/** This process is a client of one server of a group. */
export const connectGroup: typeof ConnectGroup = async (...given) =>
  (await import('./membership/index.ts')).connectGroup(...given);

/** Shares limits with the other processes of a pool or group, for `ratelimit` of `leasehold/ratelimit`. */
export const joinLimits: typeof JoinLimits = async (...given) =>
  (await import('./ratelimit/shell/join-limits.ts')).joinLimits(...given);

/** One port with the status, events, metrics and readiness of any number of handles. */
export const serveStatus: typeof ServeStatus = async (...given) =>
  (await import('./node/service/serve-status.ts')).serveStatus(...given);
