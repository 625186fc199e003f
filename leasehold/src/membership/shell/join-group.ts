/**
 * Joins a group from a running process as one of its servers: `joinGroup` and its options. `connect-group.ts` has the case of a process that does not listen.
 *
 * Resolves as soon as the server listens. The first view, of this server alone, follows at once, and a larger one as soon as others
 * are reached. No new process acts for the length of a promise (1.92 s by default), because the process before it under
 * this name may have promised something (decision 0055).
 */

import { checkAddress, checkPeers } from '../../node/mesh/peers-option.ts';
import { openMesh } from '../../node/mesh/mesh.ts';
import { checkOwnRole } from '../../node/identity/gate.ts';
import { checkProtected, secureSocketsOf, TLS_ROW } from '../../node/mesh/tls-option.ts';
import { warnings } from '../../node/process/warnings.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { formatAddress } from '../../node/tcp/address.ts';
import { PortInUseError } from '../../node/tcp/errors.ts';
import { atEndOfTurn } from '../../node/turn.ts';
import { invalidOption } from '../../runtime/errors.ts';
import { type BeginOptions, closeOnAbort, type ListenOptions, type Peers } from '../../runtime/handle.ts';
import * as is from '../../runtime/option-kinds.ts';
import {
  LOGGER_WORDS,
  type OptionTable,
  optional,
  or,
  required,
  resolveOptions,
} from '../../runtime/option-table.ts';
import { CLIENTS_MAX } from '../core/clients.ts';
import { NAME_CHARACTERS_MAX, SERVERS_MAX } from '../wire/bounds.ts';
import { MEMBERSHIP_PROTOCOL, membershipCodec } from '../wire/codec.ts';
import { GroupMember } from './group-member.ts';
import { checkGroupEtcd, type GroupEtcd, RegistryConnection, ttlMsOf } from './registry.ts';
import { agreedByServers, durationsOf, incarnationOf, LEASE_MS, LEASE_MS_ROW, limitsOf } from './settings.ts';
import type { GroupCallbacks } from './view.ts';

/** What `joinGroup` takes. */
export interface JoinGroupOptions extends BeginOptions, ListenOptions, GroupCallbacks {
  /** The name of this server, the same after a restart. Never two processes at a time under one name. */
  name: string;

  /**
   * The servers by name, with their addresses, this one too. This server dials the others for ever. A server that is not among them may join by dialling one
   * of them, so the lists need not be equal; but two servers that are in no list of each other have to find each other through a third.
   * Give this or `etcd`.
   */
  peers?: Peers | undefined;

  /**
   * Where the servers of the group are registered, as `etcd://10.0.0.1:2379/prefix` or with more options. Then they find each other there, there is one view in the world, and a
   * server that etcd does not answer has no view. Give this or `peers`.
   */
  etcd?: string | GroupEtcd | undefined;

  /** Groups of different names refuse each other. @default 'default' */
  group?: string | undefined;

  /** The most servers that the group is meant to have. More members in a view are logged as an error. @default no limit */
  maxServers?: number | undefined;

  /**
   * How long a member acts on the last confirmation of the others, in milliseconds. Equal at all servers. Longer survives longer pauses;
   * shorter lets the others act sooner after a crash. The other durations follow from it. @default 1_500
   */
  leaseMs?: number | undefined;
}

/** @internal */
export const JOIN_GROUP_OPTIONS: OptionTable<
  JoinGroupOptions,
  'group' | 'leaseMs' | 'insecure' | 'timeoutMs' | 'logger'
> = {
  name: required(is.name(NAME_CHARACTERS_MAX)),
  peers: optional(is.anything(), 'this or `etcd` is required'),
  etcd: optional(is.anything()),
  listen: optional(is.string, 'the own entry in `peers`'),
  advertise: optional(is.string, 'the own entry in `peers`, or `listen`'),
  group: or('default', is.name(NAME_CHARACTERS_MAX)),
  maxServers: optional(is.whole(1, SERVERS_MAX), 'no limit'),
  leaseMs: or(LEASE_MS.default, LEASE_MS_ROW),
  tls: TLS_ROW,
  insecure: or(false, is.flag),
  timeoutMs: or(10_000, is.timeLimit),
  signal: optional(is.signal),
  logger: or(warnings, is.logger, LOGGER_WORDS),
  onViewEnding: optional(is.callback()),
  onView: optional(is.callback()),
  onNoView: optional(is.callback()),
  onMessage: optional(is.callback()),
};

/** As many clients as a server lists, those that are on their way, and two connections for each server. */
const CONNECTIONS_MAX: number = 2 * CLIENTS_MAX + 4 * SERVERS_MAX;

/**
 * Resolves when this server listens; wait for `acting()`.
 *
 * @throws {InvalidArgumentError} before anything has started
 * @throws {RefusedError} `NOT_ALLOWED` if the token does not grant this name; with `etcd`, `CONFIG_MISMATCH` if a registered server has other settings
 * @throws {PortInUseError} if another process listens there
 * @throws {AddressUnavailableError} if this machine has no such address
 * @throws {EtcdUnavailableError} with `etcd`, if etcd does not answer within `timeoutMs`, or denies access
 * @throws {PrefixInUseError} with `etcd`, if the keys there are not those of a group
 */
export async function joinGroup(options: JoinGroupOptions): Promise<GroupMember> {
  const resolved = resolveOptions('', options, JOIN_GROUP_OPTIONS);
  const { name, group, maxServers, leaseMs, tls, insecure, timeoutMs, signal, logger } = resolved;
  const etcd = resolved.etcd === undefined ? undefined : checkGroupEtcd(resolved.etcd);
  const peers = peersOf(options, name);
  const listen = checkAddress('listen', options.listen ?? ownIn(peers, name));
  const advertise = options.advertise ?? peers.get(name) ?? formatAddress(listen);
  checkAddress('advertise', advertise);
  checkMaxServers(maxServers, new Set([...peers.keys(), name]).size);
  const durations = durationsOf(leaseMs, etcd && ttlMsOf(etcd, leaseMs));
  signal?.throwIfAborted();
  const runtime = nodeRuntime({
    onBackwards: (ms) =>
      logger.error('the monotonic clock went back; it stands still until it has caught up', { ms }),
  });
  const secure = secureSocketsOf({ tls, insecure, logger }, runtime.wallMs());
  // Before etcd is asked: a process that may not be this server must not be registered under its name either.
  if (secure !== undefined) checkOwnRole({ module: 'membership', group }, 'server', name, secure.own);
  checkProtected('listen', formatAddress(listen), listen.host, secure, { insecure, logger });
  const incarnation = incarnationOf(runtime);
  const use = { name, group, address: advertise, durations, runtime, logger };
  const registry = etcd && (await RegistryConnection.open(etcd, use, { timeoutMs, signal }));
  let server: GroupMember | undefined;
  const opening = openMesh({
    ...{ codec: membershipCodec, protocol: MEMBERSHIP_PROTOCOL, name, group, listen, secure },
    ...{ address: advertise, module: 'membership', runtime, logger },
    limits: { ...limitsOf(durations), connections: CONNECTIONS_MAX },
    incarnation: `${incarnation.startedMs}.${incarnation.nonce}`,
    agreed: agreedByServers(durations, registry?.prefix),
    receive: (from, message) => server?.receive(from, message),
    clients: {
      receive: (connection, message, client) => server?.receiveFromClient(connection, client, message),
      onClient: ({ id }, state) => {
        if (state === 'disconnected') server?.clientDisconnected(id);
      },
    },
    onPeer: (peer, state) => server?.peerIs(peer, state),
  });
  const mesh = await opening.catch(async (error: unknown) => {
    await registry?.[Symbol.asyncDispose]();
    throw error instanceof PortInUseError ? takenBy(name, error) : error;
  });
  mesh.setPeers(new Map([...peers, [name, advertise]]));
  server = new GroupMember({
    settings: {
      ...{ name, incarnation, durations, random: () => runtime.random() },
      peers: [...peers.keys()].filter((peer) => peer !== name),
      registry: registry && durations,
    },
    ...{ group, address: advertise, maxServers, durations, runtime, logger, mesh, registry, atEndOfTurn },
    callbacks: options,
  });
  server.endsWith(
    closeOnAbort(signal, server, (why) => logger.error('leaving the group failed', { why: String(why) })),
  );
  return server;
}

function peersOf({ peers, etcd }: JoinGroupOptions, name: string): ReadonlyMap<string, string> {
  if (etcd !== undefined) {
    if (peers === undefined) return new Map();
    throw invalidOption(
      'peers',
      peers,
      'give peers or etcd, not both: with etcd, servers find each other there',
    );
  }
  if (peers === undefined) throw invalidOption('peers', peers, 'give the servers, or etcd');
  const isEmpty = typeof peers === 'object' && peers !== null && Object.keys(peers).length === 0;
  const checked = isEmpty ? new Map<string, string>() : checkPeers('peers', peers, NAME_CHARACTERS_MAX);
  const count = new Set([...checked.keys(), name]).size;
  if (count <= SERVERS_MAX) return checked;
  throw invalidOption('peers', count, `a group has at most ${SERVERS_MAX} servers`);
}

function ownIn(peers: ReadonlyMap<string, string>, name: string): string {
  const own = peers.get(name);
  if (own !== undefined) return own;
  throw invalidOption('listen', undefined, `give it, or the address of ${name} in peers`);
}

function checkMaxServers(maxServers: number | undefined, servers: number): void {
  if (maxServers === undefined || maxServers >= servers) return;
  throw invalidOption(
    'maxServers',
    maxServers,
    `peers and this server are ${servers}: raise maxServers at all servers first`,
  );
}

/** Another port would do no good: the other servers would not dial it. */
const takenBy = (name: string, { host, port, cause }: PortInUseError): PortInUseError =>
  new PortInUseError(
    host,
    port,
    { cause },
    `another process may be ${name} already, and no two may be one server at a time: wait until it has ended, or give this one a name and an address of its own`,
  );
