/**
 * A Manager in a running process: `startManager`, and what it can be told.
 *
 * It is up when this resolves: its store is open and read, the port is open, and it leads; or, where
 * several Managers share a store, it stands by and answers look-ups. Of Managers that keep nothing, one that stands by
 * knows who leads, and that is all.
 * What goes wrong before that is thrown, and nothing is left open. What goes wrong later ends it
 * (`failed`): a disk that cannot sync, for one, leaves nothing to go on with.
 */

import { randomId } from '../../node/id.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { formatAddress } from '../../node/tcp/address.ts';
import { listenTcp, type TcpListener } from '../../node/tcp/listen.ts';
import { serveHttp, type HttpServer } from '../../node/http/server.ts';
import { warnings } from '../../node/warnings.ts';
import { InvalidOptionError, type LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { apiRoutes } from '../http/routes.ts';
import { LONGEST_NAME } from '../wire/rules.ts';
import type { FromManager, ToManager } from '../messages.ts';
import { managerCodec, POOL_PROTOCOL } from '../wire/codec.ts';
import { advertisedHttp, checkAdvertise } from './advertised.ts';
import { isLoopback } from '../../node/tcp/binding.ts';
import { Closing } from '../../runtime/closing.ts';
import {
  CONFIGURATION_OPTIONS,
  type ManagerConfiguration,
  resolveConfiguration,
  shortestLeaderChangeMs,
  shortestLeaderLeaseMs,
} from './configuration.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { PoolManager } from './pool-manager.ts';
import type { FleaseStore } from './flease-store.ts';
import { type EtcdStore, openStore, planStore } from './store.ts';
import { textOption } from '../../runtime/text-option.ts';

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
   * A directory for what it must not forget, which it makes and has for itself. Without one everything is
   * kept in memory and gone with the process: for tests, and for services that can lose it.
   */
  directory?: string | undefined;

  /**
   * An etcd, instead of a directory: any number of Managers share it, one leads, and the others take over
   * when it dies. `etcd://10.0.0.1:2379,10.0.0.2:2379/prefix`, or with more to say.
   *
   * Or nothing at all: `{ flease: { id, peers } }`. These Managers elect a leader among themselves and keep
   * nothing: when it dies all leases run out, and everything is reported as lost. Their configuration must be the same.
   */
  store?: string | EtcdStore | FleaseStore | undefined;

  /** Where owners can reach this Manager, as `host:port`, for the others to tell them. @default where it listens */
  advertise?: string | undefined;

  /** Gives up starting, with its reason. Once started it does nothing; `close()` does. */
  signal?: AbortSignal | undefined;

  /** Names this Manager in what it says. @default a random one; with `store.flease`, its name in the group */
  id?: string | undefined;

  /** Allows to listen elsewhere than on loopback, where everybody who can connect can do everything. @default false */
  insecure?: boolean | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<StartManagerOptions> = {
  ...CONFIGURATION_OPTIONS,
  ...{ host: true, port: true, http: true, directory: true, store: true, advertise: true, id: true },
  ...{ insecure: true, logger: true, signal: true },
};

/** Room for the report of an owner with as many spans as one can have. */
const REPORT_BYTES_MAX = 8 * 1024 * 1024;

export const DEFAULT_PORT = 7400;
export const DEFAULT_HTTP_PORT = 7401;

/**
 * Resolves when it leads or, with others, stands by.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 * @throws {AddressUnavailableError} if this machine has no such address
 * @throws {LockedError} if another Manager has the directory
 * @throws {UnsupportedPlatformError} where there is no lock that ends with its process
 * @throws {StorageError} if the directory cannot be made, read or written
 * @throws {DamagedLogError} if a file of the log holds something else than was written
 * @throws {UnknownLogFormatError} if a newer version wrote the log
 * @throws {StorageFailedError} if the disk failed meanwhile
 * @throws {EtcdUnavailableError} if etcd does not answer, or denies what is asked
 * @throws {PrefixInUseError} if something else is kept in etcd under that prefix
 */
export async function startManager(options: StartManagerOptions = {}): Promise<PoolManager> {
  checkOptionNames('', options, OPTIONS);
  const { host = '127.0.0.1', port = DEFAULT_PORT, defaults, pools, createPools } = options;
  const plan = planStore(options.directory, options.store);
  const configuration = resolveConfiguration({ defaults, pools, createPools });
  const httpPort = port === 0 ? 0 : DEFAULT_HTTP_PORT;
  const http = options.http === false ? undefined : { host, port: httpPort, ...options.http };
  for (const [option, address] of [
    ['host', host],
    ['http.host', http?.host ?? host],
  ] as const) {
    if (options.insecure === true || isLoopback(address)) continue;
    throw new InvalidOptionError(
      option,
      address,
      'everybody who can connect there could do everything; listen on 127.0.0.1, or say insecure: true (--insecure) if the network keeps others away',
    );
  }
  const ownName = plan.kind === 'flease' ? plan.options.flease.id : randomId(4);
  const id = textOption('id', options.id ?? ownName, LONGEST_NAME);
  checkAdvertise(options.advertise, host, plan.kind === 'etcd');
  const { signal } = options;
  signal?.throwIfAborted();
  const logger = options.logger ?? warnings;
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the clock went back; leadership is given up and taken anew', { ms }),
  });

  await using open = new Closing();
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
      leaderChangeMs: shortestLeaderChangeMs(configuration),
    }),
  );
  const greeting: Record<string, string> = {};
  const listener: TcpListener<FromManager, ToManager> = open.use(
    await listenTcp({
      ...{ host, port, codec: managerCodec, protocol: POOL_PROTOCOL, runtime, logger },
      ...{ greeting, limits: { frameBytesIn: REPORT_BYTES_MAX } },
    }),
  );
  const advertised = options.advertise ?? formatAddress(listener);
  const running = new PoolManager({ id, configuration, store, advertised, listener, runtime, logger });
  manager = running;
  open.defer(() => running.stop());
  if (failure !== undefined) throw failure;
  let web: HttpServer | undefined;
  if (http !== undefined) {
    web = open.use(await serveHttp({ ...http, routes: apiRoutes(running.source), logger }));
    greeting['http'] = web.url;
  }
  running.listens(web?.url, advertisedHttp(advertised, web));
  await running.serving(signal);
  running.owns(open.move());
  return running;
}
