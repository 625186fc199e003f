/** Who owns this key? For servers that keep state, and for those that send them requests. */

export {
  InvalidKeyError,
  LeaseholdError,
  InvalidOptionError,
  MalformedMessageError,
} from '../runtime/errors.ts';
export { type Key, keyPosition } from '../runtime/keys/hash.ts';
export type { Position } from '../runtime/keys/position.ts';
export type { Range, Span } from '../runtime/keys/range.ts';
export { RangeSet } from '../runtime/keys/range-set.ts';
export { type LogFacts, type Logger, silent } from '../runtime/logger.ts';
export type { LossReason } from './lookup/lookup.ts';
export type { NumberedSpan, OwnerAddress, TableRow } from './messages.ts';
export type { ManagerAddresses } from './shell/addresses.ts';
export type { CallOptions, OwnerCall } from './shell/call-owner.ts';
export {
  ClosedError,
  GuardWithinGuardError,
  LeaseLostError,
  ManagersUnreachableError,
  NotOwnerError,
  NotServedError,
  ManagersDisagreeError,
  RefusedError,
} from './shell/errors.ts';
export type { HeldKey } from './shell/held-keys.ts';
export { type HttpAnswer, httpAnswer, isMisdirected } from './shell/http-answer.ts';
export { type JoinOptions, joinPool } from './shell/join-pool.ts';
export type { LeasedMap } from './shell/leased-map.ts';
export { type OpenLookupOptions, openLookup } from './shell/open-lookup.ts';
export type { FoundOwner, LookupPosition, Loss, PoolLookup } from './shell/pool-lookup.ts';
export type { GuardOptions, PoolOwner } from './shell/pool-owner.ts';
export {
  type ClosableServer,
  type Stoppable,
  type Stopping,
  stopOnSignals,
} from './shell/stop-on-signals.ts';
export {
  LockedError,
  StorageError,
  UnfitLockFileError,
  UnsupportedPlatformError,
} from './shell/system-errors.ts';
export type { Upcall, UpcallContext } from './shell/upcalls.ts';
