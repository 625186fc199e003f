/** Which processes are with me, and can we all talk? For processes that must cooperate closely. */

export { ClientsNotServedError, ConfigMismatchError, NameTakenError } from './shell/mesh-errors.ts';
export { InvalidOptionError, LeaseholdError } from '../runtime/errors.ts';
export { type LogFacts, type Logger, silent } from '../runtime/logger.ts';
export type { Standing } from './core/effects.ts';
export {
  LeftGroupError,
  MessageTooLargeError,
  NewViewError,
  NotAMemberError,
  PanicError,
  TooManyMessagesError,
} from './errors.ts';
export type {
  BroadcastOutcome,
  ClientCallbacks,
  Group,
  GroupCallbacks,
  GroupEvent,
  GroupView,
} from './shell/group.ts';
export type { GroupClient, GroupClientStatus } from './shell/group-client.ts';
export type { JoinGroupClientOptions } from './shell/join-client.ts';
export { EtcdUnavailableError, PrefixInUseError } from '../etcd/errors.ts';
export type { GroupEtcd, GroupRegistry } from './shell/registry.ts';
export { joinGroup, type JoinGroupOptions } from './shell/join-group.ts';
export { AddressUnavailableError, PortInUseError } from './shell/mesh-errors.ts';
export {
  DEFAULT_GROUP_HTTP_PORT,
  type GroupServer,
  serveGroup,
  type ServeGroupOptions,
} from './shell/service.ts';
export type { GroupCounters, GroupNode, GroupPeer, GroupState, GroupStatus } from './shell/status.ts';
