/** The Manager as a function: `leasehold/manager`. */

export {
  ClosedError,
  InUseError,
  InvalidArgumentError,
  LeaseholdError,
  RefusedError,
  StorageError,
  UnavailableError,
} from '../runtime/errors.ts';
export { type LogFacts, type Logger, silent } from '../runtime/logger.ts';
export { PAPER_DURATIONS, type PoolDurations } from './core/options.ts';
export type { ManagerConfiguration, PoolConfiguration } from './shell/manager/configuration.ts';
export type { QuorumCell, QuorumStore } from './shell/manager/quorum-store.ts';
export type { FleaseGroup, FleaseStore } from './shell/manager/flease-store.ts';
export type { Order } from './shell/manager/order-owner.ts';
export type { ManagerStatus, PoolManager } from './shell/manager/pool-manager.ts';
export {
  type Counters,
  planRecovery,
  type RaisedCounters,
  type Recovery,
  type PlanRecoveryOptions,
} from './shell/manager/recover.ts';
export {
  type StartManagerOptions,
  startManager,
} from './shell/manager/start-manager.ts';
export type { Etcd, EtcdStore } from './shell/manager/etcd-options.ts';
export type { DirectoryStore } from './shell/manager/store.ts';
