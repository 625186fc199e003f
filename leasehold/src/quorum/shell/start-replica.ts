/**
 * Starts a replica in this process: `startReplica`, and the options.
 *
 * Everything that can be wrong with the options or the directory is found before the replica sends anything. The replica
 * listens when the promise resolves. The replica serves once it is a member and a leader is known: `ready()`.
 */

import { randomId } from '../../node/id.ts';
import type { TlsOption } from '../../node/mesh/tls-files.ts';
import { mutualTlsOption } from '../../node/mesh/tls-option.ts';
import { fingerprintsOf } from '../../node/fingerprints.ts';
import { LockedError } from '../../node/lock.ts';
import { openLockedDirectory } from '../../node/locked-directory.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { openDirectory, wholePath } from '../../node/storage.ts';
import { formatAddress, parseAddress } from '../../node/tcp/address.ts';
import { isLoopback } from '../../node/tcp/binding.ts';
import { listenTcp } from '../../node/tcp/listen.ts';
import { warnings } from '../../node/warnings.ts';
import { AsyncDisposableStack } from '../../runtime/async-disposable-stack.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import * as is from '../../runtime/option-kinds.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { nameOption } from '../../runtime/text-option.ts';
import type { Placement } from '../core/configuration.ts';
import { MEMBERS_MAX } from '../core/membership.ts';
import {
  type QuorumDurations,
  type ResolvedQuorumDurations,
  resolveQuorumDurations,
} from '../core/options.ts';
import { type Identity, newStorageId, readIdentity, writeIdentity } from '../disk/identity.ts';
import { JournalDisk } from '../disk/journal-disk.ts';
import { type FilePlaces, isCopied } from '../disk/place.ts';
import { DirectoryMismatchError, ReplicaRefusedError } from '../errors.ts';
import { CALL_FRAME_BYTES_MAX, NAME_CHARACTERS_MAX } from '../wire/bounds.ts';
import { listenerCodec, QUORUM_PROTOCOL } from '../wire/codec.ts';
import { PEER_LIMITS } from './peer-links.ts';
import { QuorumReplica } from './quorum-replica.ts';
import { checkReaders, placementOf, type Readers } from './readers-status.ts';

export interface StartReplicaOptions extends QuorumDurations {
  /** Which of the replicas this is. */
  name: string;

  /** Where the journal is kept, on a local disk. Made if missing; never shared, copied or emptied. */
  directory: string;

  /**
   * The replicas by name, with their addresses, as `{ a: '10.0.0.1:7600', … }`. To found a group: all of them, this one too, and
   * the same at each. Later: some that can be asked.
   */
  peers: Readonly<Record<string, string>>;

  /** Groups of different names have nothing to do with each other. @default 'default' */
  group?: string | undefined;

  /** Where to listen, if not at the own address in `peers`, as `0.0.0.0:7600`. @default the own one in `peers` */
  listen?: string | undefined;

  /** Joins a group that exists, instead of founding one. Another replica then has to add this one. @default false */
  join?: boolean | undefined;

  /**
   * Which replicas hold keys and read them locally, when the group is founded: every one, the leader alone, or those that the
   * leader chooses by what is read and written where. Holders make reads fast and writes slow: a write waits for each holder that lives.
   *
   * @default 'all'
   */
  readers?: Readers | undefined;

  /**
   * Encrypts all connections, and admits only replicas and clients with a certificate of `ca`. Each is a path, or the text of
   * such a file. All three, at every replica and client.
   *
   * @default plain TCP
   */
  tls?: TlsOption | undefined;

  /** Allows to listen elsewhere than on loopback without TLS: anybody can then read and write. @default false */
  insecure?: boolean | undefined;

  /** Takes a network file system for good enough. @default false */
  allowNetworkDirectory?: boolean | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<StartReplicaOptions> = {
  ...{ name: true, directory: true, peers: true, group: true, listen: true, join: true, readers: true },
  ...{ tls: true, insecure: true, allowNetworkDirectory: true, logger: true },
  ...{ leaseMs: true, renewMs: true, electionMs: true, heartbeatMs: true, graceMs: true, holdMs: true },
  ...{ sessionMs: true, reportMs: true },
};

/** A replica with another directory would be another replica. */
const WHEN_LOCKED =
  'a process runs a replica on it already: use that one, or stop it before you start another';

/**
 * Resolves when the replica listens. The replica serves after {@link QuorumReplica.ready}.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {LockedError} if another process has the directory
 * @throws {DirectoryMismatchError} if the directory is another replica's
 * @throws {VotesLostError} if the journal has lost votes
 * @throws {PortInUseError} if another process listens there
 */
export function startReplica(options: StartReplicaOptions): Promise<QuorumReplica> {
  return startReplicaOn(undefined, options);
}

/** The same with a given clock: for a process that compares instants of the replica with its own. @internal */
export async function startReplicaOn(
  given: Runtime | undefined,
  options: StartReplicaOptions,
): Promise<QuorumReplica> {
  const { name, group, peers, join, own, durations, listen, secure, placement } =
    checkReplicaOptions(options);
  const logger = options.logger ?? warnings;
  if (!join) sayWhatIsTolerated(peers.size, logger);
  await openDirectory(options.directory);
  const directory = await openLockedDirectory(options.directory, {
    allowNetwork: options.allowNetworkDirectory,
  }).catch((error: unknown) => {
    throw error instanceof LockedError ? new LockedError(error.path, error.holder, WHEN_LOCKED) : error;
  });
  const closing = new AsyncDisposableStack();
  closing.use(directory);
  try {
    const places = fingerprintsOf(directory.path);
    const wanted = { name, group, join, path: options.directory, randomId };
    const onBackwards = (ms: number): void =>
      logger.error('the monotonic clock went back; it stands still meanwhile', { ms });
    const runtime = given ?? nodeRuntime({ onBackwards });
    const wallMs = runtime.wallMs();
    const { identity, isNew, isCopy } = await openIdentity(wanted, directory.storage, places, wallMs);
    const greeting: Record<string, string> = {
      ...{ group, name, storage: identity.storage, sessionMs: String(durations.sessionMs) },
    };
    let replica: QuorumReplica | undefined;
    const listener = await listenTcp({
      ...{ ...listen, codec: listenerCodec, protocol: QUORUM_PROTOCOL, runtime, logger, secure },
      limits: { ...PEER_LIMITS, frameBytesBeforeAdmission: CALL_FRAME_BYTES_MAX },
      greeting,
      onPeer: ({ id }, state) => {
        if (state === 'disconnected') replica?.gone(id);
      },
    });
    closing.use(listener);
    const address = own ?? formatAddress({ ...listen, port: listener.port });
    replica = new QuorumReplica({
      ...{
        identity,
        isNew,
        isCopy,
        places,
        directory,
        listener,
        greeting,
        address,
        secure,
        peers,
        placement,
        durations,
      },
      ...{ runtime, logger, process: randomId(8), closing },
    });
    await replica.begin();
    return replica;
  } catch (error) {
    await closing[Symbol.asyncDispose]();
    throw error;
  }
}

interface CheckedOptions {
  readonly name: string;
  readonly group: string;
  readonly peers: ReadonlyMap<string, string>;
  readonly join: boolean;
  /** The own address in `peers`. */
  readonly own: string | undefined;
  readonly durations: ResolvedQuorumDurations;
  readonly listen: { readonly host: string; readonly port: number };
  readonly secure: ReturnType<typeof mutualTlsOption>;
  readonly placement: Placement;
}

/** Everything that can be found wrong without the directory. @internal @throws {InvalidOptionError} */
export function checkReplicaOptions(options: StartReplicaOptions): CheckedOptions {
  checkOptionNames('', options, OPTIONS);
  const name = replicaName('name', options.name);
  const group = nameOption(
    'group',
    options.group === undefined ? 'default' : options.group,
    NAME_CHARACTERS_MAX,
  );
  const peers = checkPeers(options.peers);
  is.string.check('directory', options.directory);
  const { join = false, readers = 'all', insecure = false, allowNetworkDirectory = false, logger } = options;
  for (const [option, value] of Object.entries({ join, insecure, allowNetworkDirectory }))
    is.flag.check(option, value);
  if (logger !== undefined) is.logger.check('logger', logger);
  const own = peers.get(name);
  if (own === undefined && !join) {
    throw new InvalidOptionError(
      'peers',
      [...peers.keys()].join(', '),
      `${name}, which is this replica, must be among them; or it joins a group that exists (join: true, --join)`,
    );
  }
  if (own === undefined && options.listen === undefined)
    throw new InvalidOptionError(
      'listen',
      undefined,
      'it must be given where peers does not have this replica',
    );
  const durations = resolveQuorumDurations(options);
  if (durations.sessionMs < SESSION_MS_MIN)
    throw new InvalidOptionError(
      'sessionMs',
      durations.sessionMs,
      `it must be at least ${SESSION_MS_MIN}: a client repeats a write after 2,000 ms, and the session must outlive several repetitions`,
    );
  const listen = parsed('listen', options.listen ?? own);
  const secure = mutualTlsOption(options.tls);
  if (secure === undefined && !insecure && !isLoopback(listen.host)) {
    throw new InvalidOptionError(
      'listen',
      formatAddress(listen),
      'everybody who can connect there could read and write; listen on 127.0.0.1, give tls (--ca, --cert, --key), or say insecure: true (--insecure) if the network keeps others away',
    );
  }
  const placement = placementOf(checkReaders('readers', readers));
  return { name, group, peers, join, own, durations, listen, secure, placement };
}

interface OpenedIdentity {
  readonly identity: Identity;
  /** The storage id was drawn by this process, for a replica that joins. */
  readonly isNew: boolean;
  readonly isCopy: boolean;
}

interface WantedIdentity {
  readonly name: string;
  readonly group: string;
  readonly join: boolean;
  readonly path: string;
  /** Draws the storage id of a new directory. */
  readonly randomId: () => string;
}

/** The identity of the directory, with its life raised; durable when the promise resolves. @internal */
export async function openIdentity(
  wanted: WantedIdentity,
  storage: Parameters<typeof readIdentity>[0],
  places: FilePlaces,
  wallMs: number,
): Promise<OpenedIdentity> {
  const { name, group, join } = wanted;
  const path = wholePath(wanted.path);
  const found = await readIdentity(storage, path);
  if (found !== undefined && (found.name !== name || found.group !== group)) {
    throw new DirectoryMismatchError(
      path,
      `it belongs to replica ${found.name} of group ${found.group}, not to ${name} of ${group}`,
      'Give each replica a directory of its own',
    );
  }
  if (found?.refused !== undefined)
    throw new ReplicaRefusedError(found.refused.peer, found.refused.reason, 'earlier');
  const before: Identity = found ?? {
    ...{ group, name, storage: newStorageId(name, wanted.randomId), life: 0 },
    ...{ origin: { kind: 'gathering' }, lives: {}, addresses: {} },
  };
  const isJoining = join && before.origin.kind === 'gathering';
  const isNew = isJoining && found === undefined;
  // A directory that waited for the founding before may be a backup from that time (`quorum-replica.ts`).
  const isCopy =
    !isNew && (isJoining || (before.origin.kind !== 'gathering' && (await isCopied(storage, places))));
  if (isJoining) await JournalDisk.create(storage, before.storage, path, wallMs);
  const origin = isJoining ? ({ kind: 'joining' } as const) : before.origin;
  const identity = { ...before, life: before.life + 1, origin };
  await writeIdentity(storage, identity);
  return { identity, isNew, isCopy };
}

function checkPeers(peers: unknown): ReadonlyMap<string, string> {
  if (typeof peers !== 'object' || peers === null || Array.isArray(peers))
    throw new InvalidOptionError('peers', peers, "it must name the replicas, as { a: '10.0.0.1:7600' }");
  const addresses = new Map<string, string>();
  for (const [name, address] of Object.entries(peers)) {
    replicaName('peers', name);
    parsed(`peers.${name}`, address);
    const other = [...addresses].find(([, each]) => each === address)?.[0];
    if (other !== undefined)
      throw new InvalidOptionError('peers', address, `${other} and ${name} cannot both be there`);
    addresses.set(name, String(address));
  }
  if (addresses.size === 0) throw new InvalidOptionError('peers', 'empty', 'a group needs a replica');
  if (addresses.size > MEMBERS_MAX) {
    const rule = `a group has at most ${MEMBERS_MAX} members: each one more makes writes slower`;
    throw new InvalidOptionError('peers', addresses.size, rule);
  }
  return addresses;
}

/** A client takes a write that it sent once, in a session that is forgotten, for one that was not applied (`client-session.ts`). */
const SESSION_MS_MIN = 10_000;

function replicaName(option: string, value: unknown): string {
  const name = nameOption(option, value, NAME_CHARACTERS_MAX);
  if (name.includes('~')) throw new InvalidOptionError(option, name, 'it must have no ~ in it');
  return name;
}

function parsed(option: string, address: unknown): { readonly host: string; readonly port: number } {
  try {
    return parseAddress(String(address));
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error;
    throw new InvalidOptionError(option, address, error.rule);
  }
}

function sayWhatIsTolerated(replicas: number, logger: Logger): void {
  if (replicas === 1) logger.info('a group of one: when it is down, nothing can be read or written');
  else if (replicas % 2 === 0) {
    const lost = replicas / 2 - 1;
    logger.warn(
      `a group of ${replicas} tolerates ${lost} lost ${lost === 1 ? 'replica' : 'replicas'}, as one of ${replicas - 1} does, and waits for one more at every write`,
    );
  }
}
