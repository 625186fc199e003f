/**
 * A port that shows the state of a service to people, scripts, Prometheus and load balancers.
 *
 * The port only tells, and tells strangers as much as friends. The port is therefore on loopback unless an option says
 * otherwise.
 */

import { AsyncDisposableStack } from '../../runtime/async-disposable-stack.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import * as is from '../../runtime/option-kinds.ts';
import { type OptionTable, optional, or, resolveOptions, LOGGER_WORDS } from '../../runtime/option-table.ts';
import { ProcessMonitor } from '../http/process-usage.ts';
import { serveHttp } from '../http/server.ts';
import { nodeRuntime } from '../runtime.ts';
import { isLoopback } from '../tcp/binding.ts';
import { warnings } from '../warnings.ts';
import type { ServiceEvent } from './event-log.ts';
import { type ProgressCheck, ProgressMonitor } from './progress.ts';
import { type Service, type ServiceHealth, serviceRoutes } from './service.ts';

export interface ServeOptions {
  /** @default '127.0.0.1' */
  host?: string | undefined;

  /** 0 for any that is free. @default the service's own */
  port?: number | undefined;

  /** Host names that requests may use, beside `localhost` and every address; `*` for any. @default [] */
  allowedHosts?: readonly string[] | undefined;

  /** Allows to listen elsewhere than on loopback, where everybody can read the status. @default false */
  insecure?: boolean | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

/** @internal */
export const SERVE_OPTIONS: OptionTable<ServeOptions, 'host' | 'insecure' | 'logger'> = {
  host: or('127.0.0.1', is.string),
  port: optional(is.port, "the service's own"),
  allowedHosts: optional(is.anything()),
  insecure: or(false, is.flag),
  logger: or(warnings, is.logger, LOGGER_WORDS),
};

export interface ServiceServer extends AsyncDisposable {
  /** `http://127.0.0.1:7501` */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Resolves when the port listens. Close it before the service.
 *
 * @param defaultPort the port if the options name none
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 * @throws {AddressUnavailableError} if this machine has no such address
 */
export async function serveService<Event extends ServiceEvent>(
  service: Service<Event>,
  options: ServeOptions,
  defaultPort: number,
): Promise<ServiceServer> {
  const resolved = resolveOptions('', options, SERVE_OPTIONS);
  const { host, port = defaultPort, allowedHosts, insecure, logger } = resolved;
  if (!insecure && !isLoopback(host)) {
    throw new InvalidOptionError(
      'host',
      host,
      'everybody who can connect there could read what is held; listen on 127.0.0.1, or say insecure: true (--insecure) if the network keeps others away',
    );
  }
  await using open = new AsyncDisposableStack();
  const health = open.use(new ProcessHealth(service.checks?.() ?? [], logger));
  const routes = serviceRoutes(service, health);
  const server = open.use(await serveHttp({ host, port, routes, allowedHosts, logger }));
  const running = open.move();
  const close = (): Promise<void> => running[Symbol.asyncDispose]();
  return { url: server.url, close, [Symbol.asyncDispose]: close };
}

/** The health of a service in this process. */
export class ProcessHealth implements ServiceHealth, Disposable {
  readonly #monitor: ProgressMonitor;
  readonly #process = new ProcessMonitor();
  readonly #runtime = nodeRuntime({ unref: true });
  readonly #startedAt = this.#runtime.now();

  constructor(checks: readonly ProgressCheck[], logger: Logger) {
    this.#monitor = new ProgressMonitor({ runtime: this.#runtime, logger, checks });
  }

  get names(): readonly string[] {
    return this.#monitor.names;
  }

  stalls(): ReturnType<ProgressMonitor['stalls']> {
    return this.#monitor.stalls();
  }

  whyNotReady(): string | undefined {
    return this.#monitor.whyNotReady();
  }

  usage(): ReturnType<ProcessMonitor['usage']> {
    return this.#process.usage();
  }

  uptimeSeconds(): number {
    return Math.round((this.#runtime.now() - this.#startedAt) / 1_000);
  }

  [Symbol.dispose](): void {
    this.#monitor[Symbol.dispose]();
    this.#process[Symbol.dispose]();
  }
}
