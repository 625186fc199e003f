/**
 * The door through which the command line uses parts of the library that are not published: `leasehold/internal`. The name
 * is known to this repository's compiler, tests and build, and is no entry of the package's `exports`; so users cannot
 * import these parts, and they may change without notice.
 */

export { endOfLease, isNoMajority, leaseHeld, leaseLost } from './flease/core/errors.ts';
export { type ResolvedFleaseDurations, resolveFleaseDurations } from './flease/core/options.ts';
export { checkAddress, checkResource } from './flease/shell/peers-option.ts';
export type {
  HolderAnswer,
  NotKnownAnswer,
  PeerAnswer,
  StatusAnswer as MemberStatusAnswer,
} from './flease/shell/service/answers.ts';
export { majorityOf } from './flease/core/view.ts';
export { CommandError } from './node/process/command-error.ts';
export { type ChildEnd, endOf, exitCodeOf, spawnCommand, whenSpawned } from './node/process/child.ts';
export { serveHttp } from './node/http/server.ts';
export { STATUS_PORTS } from './node/service/ports.ts';
export type { HandleHead, ProcessStatus } from './node/service/status-routes.ts';
export { SignalEchoes } from './node/process/signal-echoes.ts';
export * from './node/process/signals.ts';
export { type Address, formatAddress, listenAddress } from './node/tcp/address.ts';
export { AddressUnavailableError, PortInUseError } from './node/tcp/errors.ts';
export {
  noToken,
  secureSocketsOf,
  textsIn,
  TOKEN_FILE_VARIABLE,
  TOKEN_VARIABLE,
} from './node/mesh/tls-option.ts';
export { isLoopback } from './node/tcp/binding.ts';
export type {
  LookupsAnswer,
  OwnerAnswer,
  OwnersAnswer,
  PoolAnswer,
  PoolsAnswer,
  PoolSummary,
  RemovePoolAnswer,
  RowAnswer,
  StatusAnswer,
  StepDownAnswer,
  TableAnswer,
} from './pool/shell/service/answers.ts';
export type { Gap, LoggedEvent } from './pool/shell/service/event-log.ts';
export type { ExplainAnswer, KeyAnswer } from './pool/shell/service/explain.ts';
export type { MoveAnswer, MoverAnswer, MovesAnswer, OrderAnswer } from './pool/shell/service/moves-answer.ts';
export { READERS } from './quorum/shell/readers-status.ts';
export { printable, printableAll, printableJson } from './runtime/printable.ts';
export { dateIn } from './node/date.ts';
export { readGrants, readHosts } from './node/identity/grants.ts';
export {
  createRoot,
  issuedTokens,
  issueToken,
  readRoot,
  writeSecret,
} from './node/identity/root-directory.ts';
export { readToken, type Token } from './node/identity/token.ts';
export type { Tls } from './runtime/handle.ts';
export {
  brokenRule,
  invalidOption,
  LeaseLostError,
  RefusedError,
  SingleError,
  withoutTokens,
} from './runtime/errors.ts';
export { type ConfigurationFile, openConfigurationFile } from './pool/shell/manager/configuration-file.ts';
export { type EtcdPlace, storePlace } from './pool/shell/manager/etcd-connection.ts';
export { fleasePlace, type FleasePlace } from './pool/shell/manager/flease-store.ts';
export { quorumPlace, type QuorumPlace } from './pool/shell/manager/quorum-store.ts';
export { DEFAULT_PORT } from './pool/shell/manager/start-manager.ts';
export { VERSION } from './runtime/version.ts';
