/** Which processes are with me, and can we all talk? For processes that must cooperate closely. */

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
export type { Standing } from './core/effects.ts';
export { connectGroup, type ConnectGroupOptions } from './shell/connect-group.ts';
export type { GroupClient } from './shell/group-client.ts';
export type { BroadcastOutcome, GroupMember } from './shell/group-member.ts';
export type { GroupEtcd, GroupRegistry } from './shell/registry.ts';
export { joinGroup, type JoinGroupOptions } from './shell/join-group.ts';
export { type HeldShard, type Shards, shards } from './shell/shards.ts';
export type {
  GroupClientStatus,
  GroupCounters,
  GroupMemberStatus,
  GroupNode,
  GroupPeer,
  GroupServer,
  GroupState,
} from './shell/status.ts';
export type { GroupCallbacks, View } from './shell/view.ts';
