/** The cores of the pool, for programs that drive them themselves: in a simulation, in a proof, in other surroundings. */

export { decodeFromManager, decodeToManager } from '../wire/messages.ts';
export { Lookup, type LookupEffect, type LookupSettings, type LossReason } from './lookup/lookup.ts';
export { Manager, type ManagerEffect } from './manager/manager.ts';
export type {
  LookupObservation,
  ManagerObservation,
  OwnerObservation,
} from './manager/observation.ts';
export type { MoverObservation, MovesObservation } from './manager/pool-moves.ts';
export type { ManagerSettings, PoolSettings } from './manager/settings.ts';
export type * from './messages.ts';
export type {
  ArrivedSpan,
  MovableName,
  MoveEffect,
  MoveInput,
  MoveSettings,
  Transfer,
} from './moves/seam.ts';
export {
  clockRateBound,
  lossBoundMs,
  PAPER_DURATIONS,
  type PoolDurations,
  type ResolvedDurations,
  resolveDurations,
  takeoverHoldMs,
} from './options.ts';
export { Handle } from './owner/handle.ts';
export type { Phase, Piece } from './owner/holdings.ts';
export { Owner, type OwnerEffect } from './owner/owner.ts';
export type { OwnerIdentity, OwnerSettings } from './owner/settings.ts';
export { type ConsistentHashingOptions, consistentHashing } from './policy/consistent-hashing.ts';
export type { Placement, Policy, PolicyInput, PolicyMember } from './policy/policy.ts';
export type { ObservedMove } from './moves/tickets.ts';
export { ManagerState } from './state.ts';
export { type Member, type MemberOrder, PoolTable, type Row, type TableRecord } from './table.ts';
