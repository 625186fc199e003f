/** Who owns this key? For servers that keep state, and for those that send them requests. */

export {
  ClosedError,
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
export { type Key, keyHash } from '../runtime/keys/hash.ts';
export type { Hash } from '../runtime/keys/position.ts';
export type { Range, Span } from '../runtime/keys/range.ts';
export { RangeSet } from '../runtime/keys/range-set.ts';
export { type LogFacts, type Logger, silent } from '../runtime/logger.ts';
export type { LossReason } from './core/lookup/lookup.ts';
export type { NumberedSpan, OwnerAddress, TableRow } from './core/messages.ts';
export type { ManagerAddresses } from './shell/addresses.ts';
export type { FoundOwner, LookupCallOptions, OwnerCall, WeakOption } from './shell/lookup/call-owner.ts';
export type { HeldKey } from './shell/owner/held-keys.ts';
export type { DrainOptions, DrainProgress, DrainResult } from './shell/owner/drain.ts';
export type { MovesOptions } from './shell/moves/moves-options.ts';
export type { DepartContext, DepartUpcall } from './shell/moves/moving-keys.ts';
export { type HttpAnswer, httpAnswer, isMisdirected } from './shell/http-answer.ts';
export { type JoinPoolOptions, joinPool } from './shell/owner/join-pool.ts';
export { type KeyedItem, type KeyedState, keyedState } from './shell/state/keyed-state.ts';
export type { LeasedMap, ReplaceCondition } from './shell/state/leased-map.ts';
export type { LeasedMapOptions } from './shell/state/leased-map-options.ts';
export type { ItemCodec, Movable, Stage } from './shell/state/movable.ts';
export { type ConnectLookupOptions, connectLookup } from './shell/lookup/connect-lookup.ts';
export type { Loss, PoolLookup } from './shell/lookup/pool-lookup.ts';
export type { LogPosition, LookupStatus, OwnerStatus } from './shell/status.ts';
export type { GuardOptions, PoolOwner, WeakGuardOptions } from './shell/owner/pool-owner.ts';
export type { Upcall, UpcallContext } from './shell/owner/upcalls.ts';
