/** The Manager as a function: `leasehold/manager`. */

export { EtcdUnavailableError, PrefixInUseError } from '../etcd/errors.ts';
export {
  DamagedEtcdLogError,
  LeaderAliveError,
  StoreWentBackError,
} from '../log/etcd/errors.ts';
export {
  DamagedLogError,
  LogReplacedError,
  StorageFailedError,
  UnknownLogFormatError,
} from '../log/file/errors.ts';
export { InvalidOptionError, LeaseholdError } from '../runtime/errors.ts';
export { type LogFacts, type Logger, silent } from '../runtime/logger.ts';
export type { LookupObservation, ManagerObservation, OwnerObservation } from './manager/observation.ts';
export { PAPER_DURATIONS, type PoolDurations } from './options.ts';
export type { ManagerConfiguration, PoolConfiguration } from './shell/configuration.ts';
export {
  type ConfigurationFile,
  ConfigurationFileError,
  openConfigurationFile,
} from './shell/configuration-file.ts';
export { AloneError, ClosedError, NotLeadingError, PoolInUseError } from './shell/errors.ts';
export { type EtcdPlace, storePlace } from './shell/etcd-connection.ts';
export {
  type QuorumGroup,
  quorumPlace,
  type QuorumPlace,
  type QuorumStore,
} from './shell/quorum-store.ts';
export { type FleaseGroup, fleasePlace, type FleasePlace, type FleaseStore } from './shell/flease-store.ts';
export type { PoolManager } from './shell/pool-manager.ts';
export {
  type Counters,
  planRecovery,
  type RaisedCounters,
  type Recovery,
  type RecoveryOptions,
} from './shell/recover.ts';
export {
  DEFAULT_HTTP_PORT,
  DEFAULT_PORT,
  type StartManagerOptions,
  startManager,
} from './shell/start-manager.ts';
export type { EtcdStore } from './shell/store.ts';
export {
  AddressUnavailableError,
  LockedError,
  NetworkDirectoryError,
  PortInUseError,
  StorageError,
  UnsupportedPlatformError,
} from './shell/system-errors.ts';
export { VERSION } from '../runtime/version.ts';
