/**
 * A Manager in a running process: `startManager`, and the options.
 *
 * When this resolves, the Manager is up: the store is open and read, the port is open, and the Manager leads; or,
 * where several Managers share a store, is a standby and answers look-ups. Of Managers that keep nothing, a standby
 * knows only the leader. An error before that is thrown, and nothing is left open. An error later ends the Manager
 * (`closed`): a disk that cannot sync, for one, leaves nothing to go on with.
 */

import { randomId } from '../../../node/id.ts';
import { openFilesMost } from '../../../node/process/open-files.ts';
import { nodeRuntime } from '../../../node/runtime.ts';
import { nodeVerifier } from '../../../node/signer.ts';
import { formatAddress, listenAddress } from '../../../node/tcp/address.ts';
import { listenTcp, type TcpListener } from '../../../node/tcp/listen.ts';
import { warnings } from '../../../node/process/warnings.ts';
import { invalidOption, type LeaseholdError } from '../../../runtime/errors.ts';
import { closeOnAbort, type Tls } from '../../../runtime/handle.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { LONGEST_NAME } from '../../wire/rules.ts';
import { gated, type Lines, type May } from '../../core/manager/gate.ts';
import { checkTakeover } from '../../core/manager/settings.ts';
import type { FromManager, ToGate } from '../../core/messages.ts';
import { checkOwnRole } from '../../../node/identity/gate.ts';
import { ANY } from '../../../node/identity/grants.ts';
import { checkProtected, secureSocketsOf, TLS_ROW } from '../../../node/mesh/tls-option.ts';
import { managerCodec, POOL_PROTOCOL } from '../../wire/codec.ts';
import { checkAdvertise } from './advertised.ts';
import { AsyncDisposableStack } from '../../../runtime/async-disposable-stack.ts';
import {
  CONFIGURATION_OPTIONS,
  type ManagerConfiguration,
  resolveConfiguration,
  shortestLeaderChangeMs,
  shortestLeaderLeaseMs,
} from './configuration.ts';
import * as is from '../../../runtime/option-kinds.ts';
import {
  type OptionTable,
  optional,
  or,
  resolveOptions,
  LOGGER_WORDS,
} from '../../../runtime/option-table.ts';
import {
  ofTransport,
  type ResolvedStrangerLimits,
  resolveStrangerLimits,
  type StrangerLimits,
  withinOpenFiles,
} from './limits.ts';
import { type ManagerDependencies, PoolManager } from './pool-manager.ts';
import { takeoverMsOf } from './flease-store.ts';
import { refusalOfHello, refusalOfMessage } from './token-gate.ts';
import { type AnyStore, openStore, planStore, type StorePlan } from './store.ts';

/** What `startManager` takes. */
export interface StartManagerOptions extends ManagerConfiguration {
  /** Where owners and look-ups connect, as `host:port`; port 0 for any that is free. @default '127.0.0.1:7400' */
  listen?: string | undefined;

  /**
   * Where the Manager keeps its log. In memory everything is gone with the process: for tests, and for services that can
   * lose the state. `{ directory }`: a directory of this machine.
   *
   * An etcd: any number of Managers share the etcd, one leads, and the others take over when the leader dies.
   * `etcd://10.0.0.1:2379,10.0.0.2:2379/prefix`, or `{ etcd, cluster }` with more to say.
   *
   * Or a group of replicas, one in the process of each Manager, and no other server: `{ quorum: { name, directory,
   * peers } }`. Three Managers survive the loss of one, and a standby takes over with everything that was committed.
   *
   * Or nothing at all: `{ flease: { name, peers } }`. These Managers elect a leader among themselves and keep nothing:
   * when the leader dies all leases expire, and everything is reported as lost.
   *
   * @default 'memory'
   */
  store?: AnyStore | undefined;

  /**
   * True says: no owner can hold a lease from an earlier Manager of these pools. A Manager with a new log (in memory
   * the log is always new) otherwise waits until such leases have expired, 13.6 s with the default durations, before
   * granting keys. For tests, demonstrations and the very first start: if the statement is false, and the owners
   * that hold leases cannot reach this Manager, two owners can hold one key.
   *
   * The Manager does not take your word alone. At a port of your choice the Manager grants nothing for as long as clients of an
   * earlier Manager may take to connect (4.5 s); at port 0 no such client can know the address. If an owner or a
   * look-up tells of an earlier log, the Manager waits as without this option.
   *
   * @default false
   */
  firstStart?: boolean | undefined;

  /**
   * Where owners can reach this Manager, as `host:port`, for the other Managers to tell them. @default the listening
   * address
   */
  advertise?: string | undefined;

  /** Gives up starting, with the signal's reason; after the start the signal closes the Manager. */
  signal?: AbortSignal | undefined;

  /**
   * How long to wait at the start for an etcd that does not answer. Members of a group wait for each other without a
   * limit, because a member that gave up would be missing for the others.
   *
   * @default 60_000
   */
  timeoutMs?: number | undefined;

  /** Names this Manager in messages and logs. @default a random one; with `store.flease` or `store.quorum`, the name in the group */
  name?: string | undefined;

  /**
   * A token (`lh1.…`) with the grant `server:pool`, or `{ file }` with such a token: encrypts all connections, and a process may be what its own token grants. Or files of
   * an own authority, `{ ca, cert, key }`: every process with a certificate of `ca` may do everything. The store has the same, unless it names its own.
   *
   * @default the token of the environment; without one plain TCP
   */
  tls?: Tls | undefined;

  /**
   * Allows to listen elsewhere than on loopback without TLS, where every process that can connect can do everything. An error together with a token.
   *
   * @default false
   */
  insecure?: boolean | undefined;

  /** How much strangers can make the Manager keep and do; see `docs/options.md`. */
  limits?: StrangerLimits | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

/** The port on which a Manager hears owners and look-ups. */
export const DEFAULT_PORT = 7400;

/** @internal */
export const START_MANAGER_OPTIONS: OptionTable<
  StartManagerOptions,
  'listen' | 'store' | 'timeoutMs' | 'firstStart' | 'insecure' | 'logger' | 'createPools'
> = {
  listen: or(`127.0.0.1:${DEFAULT_PORT}`, is.string),
  store: or('memory', is.anything(), "`'memory'`"),
  timeoutMs: or(60_000, is.timeLimit),
  firstStart: or(false, is.flag),
  advertise: optional(is.string, 'where it listens'),
  name: optional(is.name(LONGEST_NAME), 'random; with `store.flease` or `store.quorum`, its name there'),
  signal: optional(is.signal),
  tls: TLS_ROW,
  insecure: or(false, is.flag),
  limits: optional(is.anything(), 'see [limits](#limits)'),
  logger: or(warnings, is.logger, LOGGER_WORDS),
  ...CONFIGURATION_OPTIONS,
};

/**
 * Resolves when the Manager leads or, with others, is a standby.
 *
 * @throws {InvalidArgumentError} before anything has started
 * @throws {RefusedError} NOT_ALLOWED if the own token does not grant to be a Manager
 * @throws {InUseError} PORT_IN_USE if another process listens there
 * @throws {InvalidArgumentError} ADDRESS_UNAVAILABLE if this machine has no such address
 * @throws {InUseError} LOCKED if another Manager has the directory
 * @throws {InvalidArgumentError} NETWORK_DIRECTORY if the directory is on a network file system
 * @throws {RefusedError} UNSUPPORTED_PLATFORM where there is no lock that ends with the process
 * @throws {StorageError} if the directory cannot be made, read or written
 * @throws {StorageError} DAMAGED_LOG if a file of the log holds something else than was written
 * @throws {StorageError} UNREADABLE_LOG if a newer version wrote the log
 * @throws {StorageError} STORAGE_FAILED if the disk failed meanwhile
 * @throws {UnavailableError} ETCD_UNAVAILABLE if etcd does not answer, or denies access
 * @throws {InUseError} PREFIX_IN_USE if something else is kept in etcd under that prefix
 * @throws {RefusedError} DIRECTORY_MISMATCH if the directory is another replica's
 * @throws {StorageError} DATA_LOST if the journal of the replica has lost votes
 * @throws {InUseError} NAME_IN_USE if the group knows the replica with another directory
 */
export async function startManager(options: StartManagerOptions = {}): Promise<PoolManager> {
  const resolved = resolveOptions('', options, START_MANAGER_OPTIONS);
  const { firstStart, tls, insecure, signal, timeoutMs, logger, defaults, pools, createPools } = resolved;
  const { host, port } = listenAddress('listen', resolved.listen);
  const limits = withinOpenFiles(resolveStrangerLimits(options.limits), openFilesMost());
  const plan = planStore(resolved.store, { tls, insecure, logger });
  if (firstStart && plan.kind === 'flease') {
    const rule = 'Managers that elect each other keep nothing, and wait for earlier leases at each election';
    throw invalidOption('firstStart', true, rule);
  }
  const configuration = resolveConfiguration({ defaults, pools, createPools });
  if (plan.kind === 'flease') {
    const groupTakeoverMs = takeoverMsOf(plan.options);
    checkTakeover({ groupTakeoverMs, ...configuration.defaults, pools: configuration.pools });
  }
  const name = options.name ?? ownNameOf(plan);
  checkAdvertise(options.advertise, host, plan.kind === 'etcd' || plan.kind === 'quorum');
  signal?.throwIfAborted();
  sayIfFewer(logger, options.limits, limits);
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the clock went back; leadership is given up and taken anew', { ms }),
  });

  const secure = secureSocketsOf({ tls, insecure, logger }, runtime.wallMs());
  if (secure !== undefined) checkOwnRole({ module: 'pool', group: ANY }, 'server', ANY, secure.own);
  checkProtected('listen', host, host, secure, { insecure, logger });

  await using open = new AsyncDisposableStack();
  let manager: PoolManager | undefined;
  let failure: LeaseholdError | undefined;
  const onFatal = (error: LeaseholdError): void => {
    failure = error;
    manager?.fail(error);
  };
  const store = open.use(
    await openStore(plan, {
      ...{ runtime, logger, onFatal, signal, about: { id: name }, tls, insecure },
      onChange: () => manager?.look(),
      leaderLeaseMs: shortestLeaderLeaseMs(configuration),
      leaderLeaseNowMs: () => shortestLeaderLeaseMs(manager?.configuration ?? configuration),
      timeoutMs,
      leaderChangeMs: shortestLeaderChangeMs(configuration),
    }),
  );
  const greeting: Record<string, string> = {};
  const greet = (http: string | undefined): void => {
    if (http === undefined) delete greeting['http'];
    else greeting['http'] = http;
  };
  const listener: TcpListener<FromManager, ToGate> = open.use(
    await listenTcp({
      ...{ host, port, codec: managerCodec, protocol: POOL_PROTOCOL, runtime, logger, secure },
      ...{ greeting, limits: ofTransport(limits) },
      refuses: ({ role }, identity) => refusalOfHello(role, identity),
      // An owner that connects again may hold much, all of which is in the first report.
      sendsMuchAtOnce: (role) => role === 'owner',
      admitted: () => manager?.memberConnections() ?? NOBODY,
    }),
  );
  const advertised = options.advertise ?? formatAddress(listener);
  const running = new PoolManager({
    ...{ name, configuration, store, advertised, runtime, logger, limits },
    listener: withGate(listener),
    firstStart: options.firstStart,
    isAddressNew: port === 0,
    greet,
    httpLimits: { connections: limits.httpConnections, streams: limits.eventStreams },
  });
  manager = running;
  open.defer(() => running.stop());
  if (failure !== undefined) throw failure;
  running.enrol();
  await running.serving(signal);
  const closing = closeOnAbort(signal, running, (why) =>
    logger.error('closing failed', { why: String(why) }),
  );
  open.use(closing);
  running.owns(open.move());
  return running;
}

const NOBODY: ReadonlySet<string> = new Set();

/** Below this a default is worth a line; a limit that the operator has chosen always is. */
const FEW_CONNECTIONS = 1_000;

/** The system allows fewer connections than the operator has asked for, or than most deployments need. */
function sayIfFewer(
  logger: Logger,
  asked: StrangerLimits = {},
  { connections }: Pick<ResolvedStrangerLimits, 'connections'>,
): void {
  if (connections >= (asked.connections ?? FEW_CONNECTIONS)) return;
  const next = 'raise the limit on open files of this process (ulimit -n, LimitNOFILE) if more are needed';
  logger.warn('the system lets this process open few files: fewer connections are taken', {
    connections,
    next,
  });
}

/** The name in the group, where there is one: people know the Manager by that. */
function ownNameOf(plan: StorePlan): string {
  if (plan.kind === 'flease') return plan.options.flease.name;
  return plan.kind === 'quorum' ? plan.options.quorum.name : randomId(4);
}

/** Nothing reaches the core that the gate does not let through. */
function withGate(listener: TcpListener<FromManager, ToGate>): ManagerDependencies['listener'] {
  const { host, port, counters } = listener;
  const lines: Lines = {
    send: (to, message) => listener.send(to, message),
    listen: (callback) => listener.listen(callback),
    peer: (from) => listener.peers.get(from),
    dismiss: (from, why, lastWords) => listener.dismiss(from, why, lastWords),
  };
  const may: May = (from, message) => {
    const peer = listener.peers.get(from);
    return peer && refusalOfMessage(message, peer.identity);
  };
  const admit = (peer: string): void => listener.admit(peer);
  return { ...gated(lines, nodeVerifier, may), host, port, counters, peers: listener.peers, admit };
}
