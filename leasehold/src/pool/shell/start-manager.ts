/**
 * A Manager in a running process: `startManager`, and what it can be told.
 *
 * It is up when this resolves: the data directory is locked and read, the port is open, and it leads.
 * What goes wrong before that is thrown, and nothing is left open. What goes wrong later ends it
 * (`failed`): a disk that cannot sync, for one, leaves nothing to go on with.
 */

import { acquireLock } from '../../node/lock.ts';
import { randomId } from '../../node/id.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { openDirectory } from '../../node/storage.ts';
import { listenTcp, type TcpListener } from '../../node/tcp/listen.ts';
import { serveHttp, type HttpServer } from '../../node/http/server.ts';
import { warnings } from '../../node/warnings.ts';
import { type FileLog, openFileLog } from '../../log/file/file-log.ts';
import { memoryStorage } from '../../log/memory-storage.ts';
import { InvalidOptionError, type LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { apiRoutes } from '../http/routes.ts';
import { LONGEST_NAME } from '../wire/rules.ts';
import type { FromManager, ToManager } from '../messages.ts';
import { managerCodec, POOL_PROTOCOL } from '../wire/codec.ts';
import { isLoopback } from './binding.ts';
import { Closing } from './closing.ts';
import { CONFIGURATION_OPTIONS, type ManagerConfiguration, resolveConfiguration } from './configuration.ts';
import { checkOptionNames, type OptionNames } from './option-names.ts';
import { PoolManager } from './pool-manager.ts';
import { textOption } from './text-option.ts';

export interface StartManagerOptions extends ManagerConfiguration {
  /** Where owners and look-ups connect. @default '127.0.0.1' */
  host?: string | undefined;

  /** 0 for any that is free. @default 7400 */
  port?: number | undefined;

  /** Where people and metrics connect; false for nowhere. @default { host, port: 7401 } */
  http?:
    | { readonly host?: string; readonly port?: number; readonly allowedHosts?: readonly string[] }
    | false
    | undefined;

  /**
   * A directory for what it must not forget, which it makes and has for itself. Without one everything is
   * kept in memory and gone with the process: for tests, and for services that can lose it.
   */
  directory?: string | undefined;

  /** Names this Manager in what it says. @default a random one */
  id?: string | undefined;

  /** Allows to listen elsewhere than on loopback, where everybody who can connect can do everything. @default false */
  insecure?: boolean | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<StartManagerOptions> = {
  ...CONFIGURATION_OPTIONS,
  ...{ host: true, port: true, http: true, directory: true, id: true, insecure: true, logger: true },
};

/** Room for the report of an owner with as many spans as one can have. */
const REPORT_BYTES_MAX = 8 * 1024 * 1024;

export const DEFAULT_PORT = 7400;
export const DEFAULT_HTTP_PORT = 7401;

/**
 * Resolves when it leads.
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
 */
export async function startManager(options: StartManagerOptions = {}): Promise<PoolManager> {
  checkOptionNames('', options, OPTIONS);
  const { host = '127.0.0.1', port = DEFAULT_PORT, directory, defaults, pools, createPools } = options;
  const configuration = resolveConfiguration({ defaults, pools, createPools });
  const http = options.http === false ? undefined : { host, port: DEFAULT_HTTP_PORT, ...options.http };
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
  const id = textOption('id', options.id ?? randomId(4), LONGEST_NAME);
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
  const log = open.use(await openLog(directory, runtime, logger, onFatal));
  const greeting: Record<string, string> = {};
  const listener: TcpListener<FromManager, ToManager> = open.use(
    await listenTcp({
      ...{ host, port, codec: managerCodec, protocol: POOL_PROTOCOL, runtime, logger },
      ...{ greeting, limits: { frameBytesIn: REPORT_BYTES_MAX } },
    }),
  );
  const running = new PoolManager({ id, configuration, directory, log, listener, runtime, logger });
  manager = running;
  open.defer(() => running.stop());
  if (failure !== undefined) throw failure;
  let web: HttpServer | undefined;
  if (http !== undefined) {
    web = open.use(await serveHttp({ ...http, routes: apiRoutes(running.source), logger }));
    greeting['http'] = web.url;
  }
  await running.leading();
  running.owns(open.move(), web?.url);
  return running;
}

async function openLog(
  directory: string | undefined,
  runtime: Runtime,
  logger: Logger,
  onFatal: (error: LeaseholdError) => void,
): Promise<FileLog> {
  const storage = directory === undefined ? memoryStorage() : await openDirectory(directory);
  const lock = async (): Promise<Disposable> =>
    directory === undefined ? { [Symbol.dispose]: () => {} } : acquireLock(`${directory}/lock`);
  return openFileLog({ storage, lock, runtime, logger, onFatal, randomId });
}
