/**
 * A port on which a member tells how it is: `serveFlease`.
 *
 * People, scripts and Prometheus want to look at a group without being members of it, and must not be: a member has
 * a vote. So they ask one. It only tells; and it tells strangers as much as friends, so it is on
 * loopback unless somebody says otherwise.
 */

import { ProcessMonitor } from '../../../node/http/process-usage.ts';
import { serveHttp } from '../../../node/http/server.ts';
import { isLoopback } from '../../../node/tcp/binding.ts';
import { warnings } from '../../../node/warnings.ts';
import { Closing } from '../../../runtime/closing.ts';
import { InvalidOptionError } from '../../../runtime/errors.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { checkOptionNames, type OptionNames } from '../../../runtime/option-names.ts';
import type { Flease } from '../flease.ts';
import { memberRoutes } from './routes.ts';

export interface ServeFleaseOptions {
  /** @default '127.0.0.1' */
  host?: string | undefined;

  /** 0 for any that is free. @default 7501 */
  port?: number | undefined;

  /** Names by which it may be asked for, beside `localhost` and every address; `*` for any. @default [] */
  allowedHosts?: readonly string[] | undefined;

  /** Allows to listen elsewhere than on loopback, where everybody can read what is held. @default false */
  insecure?: boolean | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<ServeFleaseOptions> = {
  host: true,
  port: true,
  allowedHosts: true,
  insecure: true,
  logger: true,
};

export const DEFAULT_FLEASE_HTTP_PORT = 7_501;
const PORT_MAX = 65_535;

export interface FleaseServer extends AsyncDisposable {
  /** `http://127.0.0.1:7501` */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Resolves when it listens. Close it before the member.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 * @throws {AddressUnavailableError} if this machine has no such address
 */
export async function serveFlease(group: Flease, options: ServeFleaseOptions = {}): Promise<FleaseServer> {
  checkOptionNames('', options, OPTIONS);
  const { host = '127.0.0.1', port = DEFAULT_FLEASE_HTTP_PORT, allowedHosts, insecure } = options;
  if (!Number.isInteger(port) || port < 0 || port > PORT_MAX) {
    throw new InvalidOptionError('port', port, `it must be a whole number from 0 to ${PORT_MAX}`);
  }
  if (insecure !== true && !isLoopback(host)) {
    throw new InvalidOptionError(
      'host',
      host,
      'everybody who can connect there could read what is held; listen on 127.0.0.1, or say insecure: true (--insecure) if the network keeps others away',
    );
  }
  await using open = new Closing();
  const monitor = open.use(new ProcessMonitor());
  const routes = memberRoutes(group, () => monitor.usage());
  const server = open.use(
    await serveHttp({ host, port, routes, allowedHosts, logger: options.logger ?? warnings }),
  );
  const running = open.move();
  const close = (): Promise<void> => running[Symbol.asyncDispose]();
  return { url: server.url, close, [Symbol.asyncDispose]: close };
}
