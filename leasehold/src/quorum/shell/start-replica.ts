/**
 * Starts a replica in this process: `startReplica`, and the options.
 *
 * Everything that can be wrong with the options or the directory is found before the replica sends anything. The replica
 * listens when the promise resolves. The replica serves once it is a member and a leader is known: `ready()`.
 */

import { randomId } from '../../node/id.ts';
import { checkOwnRole } from '../../node/identity/gate.ts';
import { type BeginOptions, closeOnAbort, type ListenOptions, type Peers } from '../../runtime/handle.ts';
import { checkAddress, checkPeers } from '../../node/mesh/peers-option.ts';
import { checkProtected, secureSocketsOf, TLS_ROW } from '../../node/mesh/tls-option.ts';
import { fingerprintsOf } from '../../node/fingerprints.ts';
import { LockedError } from '../../node/process/lock.ts';
import { openLockedDirectory } from '../../node/process/locked-directory.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { openDirectory, wholePath } from '../../node/storage.ts';
import { formatAddress } from '../../node/tcp/address.ts';
import { listenTcp } from '../../node/tcp/listen.ts';
import { warnings } from '../../node/process/warnings.ts';
import { AsyncDisposableStack } from '../../runtime/async-disposable-stack.ts';
import { invalidOption } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { unlessAborted } from '../../runtime/on-abort.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { waitWithin } from '../../runtime/wait-within.ts';
import * as is from '../../runtime/option-kinds.ts';
import {
  LOGGER_WORDS,
  type OptionTable,
  optional,
  or,
  required,
  resolveOptions,
} from '../../runtime/option-table.ts';
import { nameOption } from '../../runtime/text-option.ts';
import type { ReaderMap } from '../core/configuration.ts';
import { MEMBERS_MAX } from '../core/membership.ts';
import {
  QUORUM_DURATIONS,
  type QuorumDurations,
  type ResolvedQuorumDurations,
  resolveQuorumDurations,
} from '../core/options.ts';
import { type Identity, newStorageId, readIdentity, writeIdentity } from './disk/identity.ts';
import { JournalDisk } from './disk/journal-disk.ts';
import { type FilePlaces, isCopied } from './disk/place.ts';
import { directoryMismatch, refusalBy } from '../core/errors.ts';
import { CALL_FRAME_BYTES_MAX, NAME_CHARACTERS_MAX } from '../wire/bounds.ts';
import { listenerCodec, QUORUM_PROTOCOL } from '../wire/codec.ts';
import { refusalOfHello } from './gate.ts';
import { PEER_LIMITS } from './peer-links.ts';
import { QuorumReplica } from './quorum-replica.ts';
import { placementOf, READERS, type Readers } from './readers-status.ts';

/** What `startReplica` takes. */
export interface StartReplicaOptions extends QuorumDurations, BeginOptions, ListenOptions {
  /** Which of the replicas this is. */
  name: string;

  /** Where the journal is kept, on a local disk. Made if missing; never shared, copied or emptied. */
  directory: string;

  /**
   * The replicas by name, with their addresses, as `{ a: '10.0.0.1:7600', … }`. To found a cell: all of them, this one too, and
   * the same at each. Later: some that can be asked.
   */
  peers: Peers;

  /** Cells of different names have nothing to do with each other. @default 'default' */
  cell?: string | undefined;

  /** Where to listen, if not at the own address in `peers`, as `0.0.0.0:7600`. @default the own one in `peers` */
  listen?: string | undefined;

  /** Where the other replicas and clients reach this one. @default the own address in `peers`, or where it listens */
  advertise?: string | undefined;

  /** Joins a cell that exists, instead of founding one. Another replica then has to add this one. @default false */
  newcomer?: boolean | undefined;

  /**
   * Which replicas hold keys and read them locally, when the cell is founded: every one, the leader alone, or those that the
   * leader chooses by what is read and written where. Holders make reads fast and writes slow: a write waits for each holder that lives.
   *
   * @default 'all'
   */
  readers?: Readers | undefined;

  /**
   * A token (`lh1.…`) with the grant `server:quorum/<cell>/<name>`: encrypts all connections, and a replica or client may do what its own token grants. Or files of an
   * own authority, `{ ca, cert, key }`, each a path or the text of such a file: every process with a certificate of `ca` may do everything. At every replica and client.
   *
   * @default the token of the environment; without one plain TCP
   */
  tls?: BeginOptions['tls'];

  /** Allows to listen elsewhere than on loopback without TLS: anybody can then read and write. @default false */
  insecure?: boolean | undefined;

  /** How long the start may take until the replica listens: a long journal takes time to read. @default no limit */
  timeoutMs?: number | undefined;

  /** Gives the start up; later closes the replica. */
  signal?: AbortSignal | undefined;

  /** Takes a network file system for good enough. @default false */
  allowNetworkDirectory?: boolean | undefined;
}

/** @internal */
export const START_REPLICA_OPTIONS: OptionTable<
  StartReplicaOptions,
  | 'cell'
  | 'newcomer'
  | 'readers'
  | 'insecure'
  | 'allowNetworkDirectory'
  | 'logger'
  | 'leaseMs'
  | 'electionMs'
  | 'sessionMs'
  | 'reportEveryMs'
> = {
  name: required({ rule: `1 to ${NAME_CHARACTERS_MAX} characters, no \`~\``, check: replicaName }),
  directory: required(is.string),
  peers: required(is.anything()),
  cell: or('default', is.name(NAME_CHARACTERS_MAX)),
  listen: optional(is.anything(), 'its own address in `peers`'),
  advertise: optional(is.string, 'its own address in `peers`, or where it listens'),
  newcomer: or(false, is.flag),
  readers: or<Readers>('all', is.oneOf(...READERS)),
  tls: TLS_ROW,
  insecure: or(false, is.flag),
  timeoutMs: optional(is.timeLimit, 'no limit'),
  signal: optional(is.signal),
  allowNetworkDirectory: or(false, is.flag),
  logger: or(warnings, is.logger, LOGGER_WORDS),
  ...QUORUM_DURATIONS,
};

/** A replica with another directory would be another replica. */
const WHEN_LOCKED =
  'a process runs a replica on it already: use that one, or stop it before you start another';

/**
 * Resolves when the replica listens. The replica serves after {@link QuorumReplica.ready}.
 *
 * @throws {InvalidArgumentError} before anything has started
 * @throws {InUseError} `LOCKED` if another process has the directory, `PORT_IN_USE` if it listens there
 * @throws {RefusedError} if the directory is another replica's
 * @throws {StorageError} if the journal has lost votes, or the directory is a copy
 * @throws {UnavailableError} when the time is over
 */
export async function startReplica(options: StartReplicaOptions): Promise<QuorumReplica> {
  const { timeoutMs, signal, logger } = resolveOptions('', options, START_REPLICA_OPTIONS);
  signal?.throwIfAborted();
  const starting = startReplicaOn(undefined, options);
  try {
    const limit = { timeoutMs, signal };
    const what = ['quorum', 'the start of the replica'] as const;
    const replica = await waitWithin(nodeRuntime(), what, limit, (over) => unlessAborted(starting, over));
    const failed = (why: unknown): void => logger.error('closing failed', { why: String(why) });
    const closing = closeOnAbort(signal, replica, failed);
    void replica.closed.then(() => closing[Symbol.dispose]());
    return replica;
  } catch (error) {
    // A start that was given up goes on until the disk answers, and then ends: the directory is locked until then.
    starting.then(
      (replica) => replica.close(),
      () => {},
    );
    throw error;
  }
}

/** The same with a given clock: for a process that compares instants of the replica with its own. @internal */
export async function startReplicaOn(
  given: Runtime | undefined,
  options: StartReplicaOptions,
): Promise<QuorumReplica> {
  const { name, cell, peers, newcomer, own, durations, listen, advertise, secure, placement } =
    checkReplicaOptions(options);
  const logger = options.logger ?? warnings;
  if (!newcomer) sayWhatIsTolerated(peers.size, logger);
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
    const wanted = { name, cell, newcomer, path: options.directory, randomId };
    const onBackwards = (ms: number): void =>
      logger.error('the monotonic clock went back; it stands still meanwhile', { ms });
    const runtime = given ?? nodeRuntime({ onBackwards });
    const wallMs = runtime.wallMs();
    const { identity, isNew, isCopy } = await openIdentity(wanted, directory.storage, places, wallMs);
    const greeting: Record<string, string> = {
      ...{ cell, name, storage: identity.storage, sessionMs: String(durations.sessionMs) },
    };
    let replica: QuorumReplica | undefined;
    const listener = await listenTcp({
      ...{ ...listen, codec: listenerCodec, protocol: QUORUM_PROTOCOL, runtime, logger, secure },
      limits: { ...PEER_LIMITS, frameBytesBeforeAdmission: CALL_FRAME_BYTES_MAX },
      greeting,
      refuses: ({ role }, peer) => refusalOfHello(cell, role, peer),
      onPeer: ({ id }, state) => {
        if (state === 'disconnected') replica?.gone(id);
      },
    });
    closing.use(listener);
    const address = advertise ?? own ?? formatAddress({ ...listen, port: listener.port });
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
  readonly cell: string;
  readonly peers: ReadonlyMap<string, string>;
  readonly newcomer: boolean;
  /** The own address in `peers`. */
  readonly own: string | undefined;
  readonly durations: ResolvedQuorumDurations;
  readonly listen: { readonly host: string; readonly port: number };
  readonly advertise: string | undefined;
  readonly secure: ReturnType<typeof secureSocketsOf>;
  readonly placement: ReaderMap;
}

/** Everything that can be found wrong without the directory. @internal @throws {InvalidArgumentError} */
export function checkReplicaOptions(options: StartReplicaOptions): CheckedOptions {
  const checked = resolveOptions('', options, START_REPLICA_OPTIONS);
  const { name, cell, newcomer, readers, tls, insecure, advertise, logger } = checked;
  const peers = peersOf(options.peers);
  const own = peers.get(name);
  if (own === undefined && !newcomer) {
    throw invalidOption(
      'peers',
      [...peers.keys()].join(', '),
      `${name}, which is this replica, must be among them; or it joins a cell that exists (newcomer: true, --newcomer)`,
    );
  }
  if (own === undefined && options.listen === undefined)
    throw invalidOption('listen', undefined, 'it must be given where peers does not have this replica');
  const durations = resolveQuorumDurations(options);
  if (durations.sessionMs < SESSION_MS_MIN)
    throw invalidOption(
      'sessionMs',
      durations.sessionMs,
      `it must be at least ${SESSION_MS_MIN}: a client repeats a write after 2,000 ms, and the session must outlive several repetitions`,
    );
  const listen = checkAddress('listen', options.listen ?? own);
  if (advertise !== undefined) checkAddress('advertise', advertise);
  const secure = secureSocketsOf({ tls, insecure, logger }, nodeRuntime().wallMs());
  if (secure !== undefined) checkOwnRole({ module: 'quorum', group: cell }, 'server', name, secure.own);
  checkProtected('listen', formatAddress(listen), listen.host, secure, { insecure, logger });
  const placement = placementOf(readers);
  return { name, cell, peers, newcomer, own, durations, listen, advertise, secure, placement };
}

interface OpenedIdentity {
  readonly identity: Identity;
  /** The storage id was drawn by this process, for a replica that joins. */
  readonly isNew: boolean;
  readonly isCopy: boolean;
}

interface WantedIdentity {
  readonly name: string;
  readonly cell: string;
  readonly newcomer: boolean;
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
  const { name, cell, newcomer } = wanted;
  const path = wholePath(wanted.path);
  const found = await readIdentity(storage, path);
  if (found !== undefined && (found.name !== name || found.cell !== cell)) {
    throw directoryMismatch(
      path,
      `it belongs to replica ${found.name} of cell ${found.cell}, not to ${name} of ${cell}`,
      'Give each replica a directory of its own',
    );
  }
  if (found?.refused !== undefined)
    throw refusalBy(found.refused.peer, found.refused.reason, 'earlier').error;
  const before: Identity = found ?? {
    ...{ cell, name, storage: newStorageId(name, wanted.randomId), life: 0 },
    ...{ origin: { kind: 'gathering' }, lives: {}, addresses: {} },
  };
  const isJoining = newcomer && before.origin.kind === 'gathering';
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

function peersOf(given: Peers): ReadonlyMap<string, string> {
  const peers = checkPeers('peers', given, NAME_CHARACTERS_MAX);
  for (const name of peers.keys()) replicaName('peers', name);
  if (peers.size > MEMBERS_MAX) {
    const rule = `a cell has at most ${MEMBERS_MAX} members: each one more makes writes slower`;
    throw invalidOption('peers', peers.size, rule);
  }
  return peers;
}

/** A client takes a write that it sent once, in a session that is forgotten, for one that was not applied (`client-session.ts`). */
const SESSION_MS_MIN = 10_000;

function replicaName(option: string, value: unknown): string {
  const name = nameOption(option, value, NAME_CHARACTERS_MAX);
  if (name.includes('~')) throw invalidOption(option, name, 'it must have no ~ in it');
  return name;
}

function sayWhatIsTolerated(replicas: number, logger: Logger): void {
  if (replicas === 1) logger.info('a cell of one: when it is down, nothing can be read or written');
  else if (replicas % 2 === 0) {
    const lost = replicas / 2 - 1;
    logger.warn(
      `a cell of ${replicas} tolerates ${lost} lost ${lost === 1 ? 'replica' : 'replicas'}, as one of ${replicas - 1} does, and waits for one more at every write`,
    );
  }
}
