/**
 * Joins a group from a running process: `joinGroup` and its options. `join-client.ts` has the case of a process that does not listen.
 *
 * Resolves as soon as the server listens. The first view, of this server alone, follows at once, and a larger one as soon as others
 * are reached. No new process acts for the length of a promise (1.92 s by default), because the process before it under
 * this name may have promised something (decision 0055).
 */

import { checkAddress, checkPeers, type Peers } from '../../node/mesh/peers-option.ts';
import { openMesh } from '../../node/mesh/mesh.ts';
import type { TlsOption } from '../../node/mesh/tls-files.ts';
import { mutualTlsOption } from '../../node/mesh/tls-option.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { formatAddress } from '../../node/tcp/address.ts';
import { isLoopback } from '../../node/tcp/binding.ts';
import { PortInUseError } from '../../node/tcp/errors.ts';
import { atEndOfTurn } from '../../node/turn.ts';
import { warnings } from '../../node/warnings.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { nameOption } from '../../runtime/text-option.ts';
import { CLIENTS_MAX } from '../core/clients.ts';
import { NAME_CHARACTERS_MAX, SERVERS_MAX } from '../wire/bounds.ts';
import { MEMBERSHIP_PROTOCOL, membershipCodec } from '../wire/codec.ts';
import { Group, type GroupCallbacks } from './group.ts';
import type { GroupClient } from './group-client.ts';
import { joinAsClient, type JoinGroupClientOptions } from './join-client.ts';
import { checkGroupEtcd, type GroupEtcd, RegistryConnection, ttlMsOf } from './registry.ts';
import { agreedByServers, durationsOf, limitsOf } from './settings.ts';

export interface JoinGroupOptions extends GroupCallbacks {
  /** The name of this server, the same after a restart. Never two processes at a time under one name. */
  name: string;

  /** Where to listen, as `10.0.0.3:7700` or `0.0.0.0:7700`. Without it, this process is a client ({@link JoinGroupClientOptions}). */
  listen: string;

  /**
   * Other servers by name, with their addresses. This server dials them for ever. A server that is not among them may join by dialling one
   * of them, so the lists need not be equal; but two servers that are in no list of each other have to find each other through a third.
   * Give this or `etcd`.
   */
  peers?: Peers | undefined;

  /**
   * Where the servers of the group are registered, as `etcd://10.0.0.1:2379/prefix` or with more options. Then they find each other there, there is one view in the world, and a
   * server that etcd does not answer panics. Give this or `peers`.
   */
  etcd?: string | GroupEtcd | undefined;

  /** Groups of different names refuse each other. @default 'default' */
  group?: string | undefined;

  /** Where others dial this server. @default the own entry in `peers`, or else `listen` */
  address?: string | undefined;

  /** The most servers that the group is meant to have. More members in a view are logged as an error. @default no limit */
  size?: number | undefined;

  /**
   * How long a member acts on the last confirmation of the others, in milliseconds. Equal at all servers. Longer survives longer pauses;
   * shorter lets the others act sooner after a crash. The other durations follow from it. @default 1_500
   */
  leaseMs?: number | undefined;

  /** Encrypts, and lets only processes take part for which `ca` vouches. All three, at every server. @default plain TCP */
  tls?: TlsOption | undefined;

  /** Allows to listen elsewhere than on loopback without TLS: everybody who can connect can take part. @default false */
  insecure?: boolean | undefined;

  /** Leaves the group. */
  signal?: AbortSignal | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<JoinGroupOptions> = {
  ...{
    name: true,
    listen: true,
    peers: true,
    etcd: true,
    group: true,
    address: true,
    size: true,
    leaseMs: true,
  },
  ...{ tls: true, insecure: true, signal: true, logger: true },
  ...{ onStartChange: true, onView: true, onPanic: true, onMessage: true, onEnd: true },
};

const NONCE_LIMIT = 2 ** 32;

/** As many clients as a server lists, those that are on their way, and two connections for each server. */
const CONNECTIONS_MAX: number = 2 * CLIENTS_MAX + 4 * SERVERS_MAX;

/**
 * With `listen`, this process is a server, and the promise resolves when the server listens. Without, it is a client of one of the servers in
 * `peers`, and the promise resolves at once; wait for `acting()`.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 * @throws {AddressUnavailableError} if this machine has no such address
 * @throws {EtcdUnavailableError} with `etcd`, if etcd does not answer or denies access
 * @throws {PrefixInUseError} with `etcd`, if the keys there are not those of a group
 * @throws {ConfigMismatchError} with `etcd`, if a registered server has other settings
 */
export function joinGroup(options: JoinGroupOptions): Promise<Group>;
export function joinGroup(options: JoinGroupClientOptions): Promise<GroupClient>;
export async function joinGroup(
  options: JoinGroupOptions | JoinGroupClientOptions,
): Promise<Group | GroupClient> {
  return options.listen === undefined ? joinAsClient(options) : joinAsServer(options);
}

async function joinAsServer(options: JoinGroupOptions): Promise<Group> {
  checkOptionNames('', options, OPTIONS);
  const { signal, insecure, size } = options;
  signal?.throwIfAborted();
  const name = nameOption('name', options.name, NAME_CHARACTERS_MAX);
  const group = nameOption('group', options.group ?? 'default', NAME_CHARACTERS_MAX);
  const listen = checkAddress('listen', options.listen);
  const etcd = options.etcd === undefined ? undefined : checkGroupEtcd(options.etcd);
  const peers = peersOf(options, name);
  const address = options.address ?? peers.get(name) ?? formatAddress(listen);
  checkAddress('address', address);
  checkSize(size, new Set([...peers.keys(), name]).size);
  const durations = durationsOf(options.leaseMs, etcd && ttlMsOf(etcd, durationsOf(options.leaseMs).leaseMs));
  const secure = mutualTlsOption(options.tls);
  const logger = options.logger ?? warnings;
  if (secure === undefined && !isLoopback(listen.host)) {
    if (insecure !== true) throw new InvalidOptionError('listen', options.listen, PROTECT);
    logger.warn(NOT_PROTECTED, { listen: formatAddress(listen) });
  }
  const runtime = nodeRuntime({
    onBackwards: (ms) =>
      logger.error('the monotonic clock went back; it stands still until it has caught up', { ms }),
  });
  const incarnation = {
    startedMs: Math.floor(runtime.wallMs()),
    nonce: Math.floor(runtime.random() * NONCE_LIMIT),
  };
  const use = { name, group, address, durations, runtime, logger };
  const registry = etcd && (await RegistryConnection.open(etcd, use, signal));
  let server: Group | undefined;
  const opening = openMesh({
    ...{ codec: membershipCodec, protocol: MEMBERSHIP_PROTOCOL, name, group, listen, address, secure },
    ...{
      runtime,
      logger,
      limits: { ...limitsOf(durations), connections: CONNECTIONS_MAX },
      incarnation: `${incarnation.startedMs}.${incarnation.nonce}`,
    },
    agreed: agreedByServers(durations, registry?.prefix),
    receive: (from, message) => server?.receive(from, message),
    clients: {
      receive: (connection, message, name) => server?.receiveFromClient(connection, name, message),
      onClient: ({ id }, state) => {
        if (state === 'disconnected') server?.clientDisconnected(id);
      },
    },
    onPeer: (peer, state) => {
      if (state === 'disconnected') server?.disconnected(peer);
      if (state === 'duplicated' && peer === name) server?.nameTaken();
    },
  });
  const mesh = await opening.catch(async (error: unknown) => {
    await registry?.[Symbol.asyncDispose]();
    throw error instanceof PortInUseError ? takenBy(name, error) : error;
  });
  mesh.setPeers(new Map([...peers, [name, address]]));
  server = new Group({
    settings: {
      ...{ name, incarnation, durations, random: () => runtime.random() },
      peers: [...peers.keys()].filter((peer) => peer !== name),
      registry: registry && durations,
    },
    ...{ group, size, durations, runtime, logger, mesh, registry, atEndOfTurn, callbacks: options },
  });
  const joined = server;
  signal?.addEventListener('abort', () => void joined.close(), { once: true });
  return joined;
}

function peersOf({ peers, etcd }: JoinGroupOptions, name: string): ReadonlyMap<string, string> {
  if (etcd !== undefined) {
    if (peers === undefined) return new Map();
    throw new InvalidOptionError(
      'peers',
      peers,
      'give peers or etcd, not both: with etcd, servers find each other there',
    );
  }
  if (peers === undefined) throw new InvalidOptionError('peers', peers, 'give the other servers, or etcd');
  const isEmpty = typeof peers === 'object' && peers !== null && Object.keys(peers).length === 0;
  const checked = isEmpty ? new Map<string, string>() : checkPeers('peers', peers, NAME_CHARACTERS_MAX);
  const count = new Set([...checked.keys(), name]).size;
  if (count <= SERVERS_MAX) return checked;
  throw new InvalidOptionError('peers', count, `a group has at most ${SERVERS_MAX} servers`);
}

function checkSize(size: number | undefined, servers: number): void {
  if (size === undefined) return;
  if (!Number.isInteger(size) || size < 1 || size > SERVERS_MAX)
    throw new InvalidOptionError('size', size, `it must be a whole number from 1 to ${SERVERS_MAX}`);
  if (size < servers)
    throw new InvalidOptionError(
      'size',
      size,
      `peers and this server are ${servers}: raise size at all servers first`,
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

const PROTECT =
  'everybody who can connect there could take part; listen on 127.0.0.1, give tls (--ca, --cert, --key), or say insecure: true (--insecure) if the network keeps others away';

const NOT_PROTECTED =
  'this server listens beyond loopback without TLS: everybody who can connect can take part under any name. Give tls (--ca, --cert, --key), or let the network keep others away';
