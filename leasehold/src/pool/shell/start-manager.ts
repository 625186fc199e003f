/**
 * A Manager in a running process: `startManager`, and the options.
 *
 * When this resolves, the Manager is up: the store is open and read, the port is open, and the Manager leads; or,
 * where several Managers share a store, is a standby and answers look-ups. Of Managers that keep nothing, a standby
 * knows only the leader. An error before that is thrown, and nothing is left open. An error later ends the Manager
 * (`failed`): a disk that cannot sync, for one, leaves nothing to go on with.
 */

import { randomId } from '../../node/id.ts';
import { openFilesMost } from '../../node/open-files.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { nodeVerifier } from '../../node/signer.ts';
import { formatAddress } from '../../node/tcp/address.ts';
import { listenTcp, type TcpListener } from '../../node/tcp/listen.ts';
import { serveHttp, type HttpServer } from '../../node/http/server.ts';
import { warnings } from '../../node/warnings.ts';
import { InvalidOptionError, type LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { apiRoutes } from '../http/routes.ts';
import { LONGEST_NAME } from '../wire/rules.ts';
import { gated, type Lines } from '../manager/gate.ts';
import { checkTakeover } from '../manager/settings.ts';
import type { FromManager, ToGate } from '../messages.ts';
import { managerCodec, POOL_PROTOCOL } from '../wire/codec.ts';
import { advertisedHttp, checkAdvertise } from './advertised.ts';
import { isLoopback } from '../../node/tcp/binding.ts';
import { AsyncDisposableStack } from '../../runtime/async-disposable-stack.ts';
import {
  CONFIGURATION_OPTIONS,
  type ManagerConfiguration,
  resolveConfiguration,
  shortestLeaderChangeMs,
  shortestLeaderLeaseMs,
} from './configuration.ts';
import * as is from '../../runtime/option-kinds.ts';
import { type OptionTable, optional, or, resolveOptions, LOGGER_WORDS } from '../../runtime/option-table.ts';
import {
  ofTransport,
  type ResolvedStrangerLimits,
  resolveStrangerLimits,
  type StrangerLimits,
  withinOpenFiles,
} from './limits.ts';
import { type ManagerDependencies, PoolManager } from './pool-manager.ts';
import { takeoverMsOf } from './flease-store.ts';
import { type AnyStore, openStore, planStore, type StorePlan } from './store.ts';

export interface StartManagerOptions extends ManagerConfiguration {
  /** Where owners and look-ups connect. @default '127.0.0.1' */
  host?: string | undefined;

  /** 0 for any that is free. @default 7400 */
  port?: number | undefined;

  /** Where people and metrics connect; false for nowhere. @default { host, port: 7401 }, or any port if `port` is 0 */
  http?:
    | { readonly host?: string; readonly port?: number; readonly allowedHosts?: readonly string[] }
    | false
    | undefined;

  /**
   * A directory for the durable state, which the Manager creates and locks. Without a directory everything is kept in
   * memory and gone with the process: for tests, and for services that can lose the state.
   */
  directory?: string | undefined;

  /**
   * Takes a directory on a network file system, too. The file server can drop the lock of a Manager that still runs;
   * true says that only this machine ever uses the directory.
   *
   * @default false
   */
  allowNetworkDirectory?: boolean | undefined;

  /**
   * An etcd, instead of a directory: any number of Managers share the etcd, one leads, and the others take over when
   * the leader dies. `etcd://10.0.0.1:2379,10.0.0.2:2379/prefix`, or with more to say.
   *
   * Or a group of replicas, one in the process of each Manager, and no other server: `{ quorum: { name, directory,
   * peers } }`. Three Managers survive the loss of one, and a standby takes over with everything that was committed.
   *
   * Or nothing at all: `{ flease: { id, peers } }`. These Managers elect a leader among themselves and keep nothing:
   * when the leader dies all leases expire, and everything is reported as lost.
   */
  store?: AnyStore | undefined;

  /**
   * True says: no owner can hold a lease from an earlier Manager of these pools. A Manager with a new log (in memory
   * the log is always new) otherwise waits until such leases have expired, 13.6 s with the default durations, before
   * granting keys. For tests, demonstrations and the very first start: if the statement is false, two owners can hold
   * one key.
   *
   * @default false
   */
  firstStart?: boolean | undefined;

  /**
   * Where owners can reach this Manager, as `host:port`, for the other Managers to tell them. @default the listening
   * address
   */
  advertise?: string | undefined;

  /** Gives up starting, with the signal's reason. After the start the signal does nothing; use `close()`. */
  signal?: AbortSignal | undefined;

  /** Names this Manager in messages and logs. @default a random one; with `store.flease` or `store.quorum`, the name in the group */
  id?: string | undefined;

  /**
   * Allows to listen elsewhere than on loopback, where every process that can connect can do everything. @default
   * false
   */
  insecure?: boolean | undefined;

  /** How much strangers can make the Manager keep and do; see `docs/options.md`. */
  limits?: StrangerLimits | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

export const DEFAULT_PORT = 7400;
export const DEFAULT_HTTP_PORT = 7401;

/** @internal */
export const START_MANAGER_OPTIONS: OptionTable<
  StartManagerOptions,
  'host' | 'port' | 'allowNetworkDirectory' | 'firstStart' | 'insecure' | 'logger' | 'createPools'
> = {
  host: or('127.0.0.1', is.string),
  port: or(DEFAULT_PORT, is.port, '7400'),
  http: optional(is.anything(), '`{ host, port: 7401 }`; any port if `port` is 0'),
  directory: optional(is.string, 'none: everything is in memory'),
  store: optional(is.anything()),
  allowNetworkDirectory: or(false, is.flag),
  firstStart: or(false, is.flag),
  advertise: optional(is.anything(), 'where it listens'),
  id: optional(is.name(LONGEST_NAME), 'random; with `store.flease` or `store.quorum`, its name there'),
  signal: optional(is.signal),
  insecure: or(false, is.flag),
  limits: optional(is.anything(), 'see [limits](#limits)'),
  logger: or(warnings, is.logger, LOGGER_WORDS),
  ...CONFIGURATION_OPTIONS,
};

/**
 * Resolves when the Manager leads or, with others, is a standby.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 * @throws {AddressUnavailableError} if this machine has no such address
 * @throws {LockedError} if another Manager has the directory
 * @throws {NetworkDirectoryError} if the directory is on a network file system
 * @throws {UnsupportedPlatformError} where there is no lock that ends with the process
 * @throws {StorageError} if the directory cannot be made, read or written
 * @throws {DamagedLogError} if a file of the log holds something else than was written
 * @throws {UnknownLogFormatError} if a newer version wrote the log
 * @throws {StorageFailedError} if the disk failed meanwhile
 * @throws {EtcdUnavailableError} if etcd does not answer, or denies access
 * @throws {PrefixInUseError} if something else is kept in etcd under that prefix
 * @throws {DirectoryMismatchError} if the directory is another replica's
 * @throws {VotesLostError} if the journal of the replica has lost votes
 * @throws {ReplicaRefusedError} if the group knows the replica with another directory
 */
export async function startManager(options: StartManagerOptions = {}): Promise<PoolManager> {
  const resolved = resolveOptions('', options, START_MANAGER_OPTIONS);
  const { host, port, firstStart, insecure, signal, logger, defaults, pools, createPools } = resolved;
  const limits = withinOpenFiles(resolveStrangerLimits(options.limits), openFilesMost());
  const plan = planStore(options.directory, options.store, options.insecure);
  if (firstStart && plan.kind === 'flease') {
    const rule = 'Managers that elect each other keep nothing, and wait for earlier leases at each election';
    throw new InvalidOptionError('firstStart', true, rule);
  }
  const configuration = resolveConfiguration({ defaults, pools, createPools });
  if (plan.kind === 'flease') {
    const groupTakeoverMs = takeoverMsOf(plan.options);
    checkTakeover({ groupTakeoverMs, ...configuration.defaults, pools: configuration.pools });
  }
  const httpPort = port === 0 ? 0 : DEFAULT_HTTP_PORT;
  const http = options.http === false ? undefined : { host, port: httpPort, ...options.http };
  for (const [option, address] of [
    ['host', host],
    ['http.host', http?.host ?? host],
  ] as const) {
    if (insecure || isLoopback(address)) continue;
    throw new InvalidOptionError(
      option,
      address,
      'everybody who can connect there could do everything; listen on 127.0.0.1, or say insecure: true (--insecure) if the network keeps others away',
    );
  }
  const id = options.id ?? ownNameOf(plan);
  checkAdvertise(options.advertise, host, plan.kind === 'etcd' || plan.kind === 'quorum');
  signal?.throwIfAborted();
  sayIfFewer(logger, options.limits, limits);
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the clock went back; leadership is given up and taken anew', { ms }),
  });

  await using open = new AsyncDisposableStack();
  let manager: PoolManager | undefined;
  let failure: LeaseholdError | undefined;
  const onFatal = (error: LeaseholdError): void => {
    failure = error;
    manager?.fail(error);
  };
  const store = open.use(
    await openStore(plan, {
      ...{ runtime, logger, onFatal, signal, about: { id }, insecure: options.insecure },
      onChange: () => manager?.look(),
      leaderLeaseMs: shortestLeaderLeaseMs(configuration),
      leaderLeaseNowMs: () => shortestLeaderLeaseMs(manager?.configuration ?? configuration),
      allowNetworkDirectory: options.allowNetworkDirectory,
      leaderChangeMs: shortestLeaderChangeMs(configuration),
    }),
  );
  const greeting: Record<string, string> = {};
  const listener: TcpListener<FromManager, ToGate> = open.use(
    await listenTcp({
      ...{ host, port, codec: managerCodec, protocol: POOL_PROTOCOL, runtime, logger },
      ...{ greeting, limits: ofTransport(limits) },
      // An owner that connects again may hold much, all of which is in the first report.
      sendsMuchAtOnce: (role) => role === 'owner',
      admitted: () => manager?.memberConnections() ?? NOBODY,
    }),
  );
  const advertised = options.advertise ?? formatAddress(listener);
  const running = new PoolManager({
    ...{ id, configuration, store, advertised, runtime, logger, limits },
    listener: withGate(listener),
    firstStart: options.firstStart,
  });
  manager = running;
  open.defer(() => running.stop());
  if (failure !== undefined) throw failure;
  let web: HttpServer | undefined;
  if (http !== undefined) {
    web = open.use(
      await serveHttp({
        ...{ ...http, routes: apiRoutes(running.source), logger },
        limits: { connections: limits.httpConnections, streams: limits.eventStreams },
      }),
    );
    greeting['http'] = web.url;
  }
  running.listens(web, advertisedHttp(advertised, web));
  await running.serving(signal);
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
  if (plan.kind === 'flease') return plan.options.flease.id;
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
  const admit = (peer: string): void => listener.admit(peer);
  return { ...gated(lines, nodeVerifier), host, port, counters, peers: listener.peers, admit };
}
