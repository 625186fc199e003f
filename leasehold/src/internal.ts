/**
 * The door through which the command line uses parts of the library that are not published: `leasehold/internal`. The name
 * is known to this repository's compiler, tests and build, and is no entry of the package's `exports`; so users cannot
 * import these parts, and they may change without notice.
 */

export { type ResolvedFleaseDurations, resolveFleaseDurations } from './flease/options.ts';
export { checkAddress, checkResource } from './flease/shell/peers-option.ts';
export { majorityOf } from './flease/view.ts';
export { type ChildEnd, endOf, exitCodeOf, spawnCommand, whenSpawned } from './node/child.ts';
export { serveHttp } from './node/http/server.ts';
export type { StatusHead } from './node/service/service.ts';
export { SignalEchoes } from './node/signal-echoes.ts';
export * from './node/signals.ts';
export { type Address, formatAddress } from './node/tcp/address.ts';
export { isLoopback } from './node/tcp/binding.ts';
export type {
  LookupsAnswer,
  OwnerAnswer,
  OwnersAnswer,
  PoolAnswer,
  PoolsAnswer,
  PoolSummary,
  RemovePoolAnswer,
  StatusAnswer,
  StepDownAnswer,
} from './pool/http/answers.ts';
export type { Gap, LoggedEvent } from './pool/http/event-log.ts';
export type { ExplainAnswer, KeyAnswer } from './pool/http/explain.ts';
export { printable, printableAll, printableJson } from './runtime/printable.ts';
