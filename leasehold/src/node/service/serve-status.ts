/**
 * One port that shows the state of handles to people, scripts, Prometheus and load balancers: `serveStatus`.
 *
 * The port only tells, but for the few requests of an operator, and tells strangers as much as friends. The port is therefore on
 * loopback unless an option says otherwise.
 */

import { AsyncDisposableStack } from '../../runtime/async-disposable-stack.ts';
import { invalidOption } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import * as is from '../../runtime/option-kinds.ts';
import { LOGGER_WORDS, type OptionTable, optional, or, resolveOptions } from '../../runtime/option-table.ts';
import { ProcessMonitor } from '../http/process-usage.ts';
import { serveHttp } from '../http/server.ts';
import { warnings } from '../process/warnings.ts';
import { noToken } from '../mesh/tls-option.ts';
import { nodeRuntime } from '../runtime.ts';
import { isLoopback } from '../tcp/binding.ts';
import { checkSeries, servicesOf } from './merged-metrics.ts';
import { EVENT_LOOP, ProgressMonitor } from './progress.ts';
import type { Served, Service, ServiceLimits } from './service.ts';
import { type HandleStall, type ProcessHealth, statusRoutes } from './status-routes.ts';

export interface ServeStatusOptions {
  /** `host:port`; port 0 for any that is free. @default '127.0.0.1' and the usual port of the first handle's module */
  listen?: string | undefined;

  /** Host names that requests may use, beside `localhost` and every address; `*` for any. @default [] */
  allowedHosts?: readonly string[] | undefined;

  /** Allows to listen elsewhere than on loopback, where everybody can read the status. @default false */
  insecure?: boolean | undefined;

  /** Whether `/` has a page for people. @default true */
  dashboard?: boolean | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

/** @internal */
export const SERVE_STATUS_OPTIONS: OptionTable<ServeStatusOptions, 'insecure' | 'dashboard' | 'logger'> = {
  listen: optional(is.string, "`'127.0.0.1'` and the usual port of the first handle's module"),
  allowedHosts: optional(is.texts),
  insecure: or(false, is.flag),
  dashboard: or(true, is.flag),
  logger: or(warnings, is.logger, LOGGER_WORDS),
};

export interface StatusServer extends AsyncDisposable {
  /** `http://127.0.0.1:7401` */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Resolves when the port listens. Close it before the handles.
 *
 * @throws {InvalidArgumentError} before anything has started
 * @throws {InUseError} `PORT_IN_USE` if another process listens there
 */
export async function serveStatus(
  handles: Served | readonly Served[],
  options: ServeStatusOptions = {},
): Promise<StatusServer> {
  const resolved = resolveOptions('', options, SERVE_STATUS_OPTIONS);
  const { allowedHosts, insecure, dashboard, logger } = resolved;
  const services = servicesOf(handles);
  const { host, port } = placeOf(resolved.listen, services);
  if (!insecure && !isLoopback(host)) {
    throw noToken('listen', host, 'http');
  }
  checkSeries(services);
  await using open = new AsyncDisposableStack();
  const health = open.use(new HealthOfProcess(services, logger));
  const routes = statusRoutes(services, health, { isPageShown: dashboard });
  const limits = limitsOf(services);
  const server = open.use(await serveHttp({ host, port, routes, allowedHosts, logger, limits }));
  for (const service of services) {
    service.served?.(server);
    open.defer(async () => service.served?.(undefined));
  }
  const running = open.move();
  const close = (): Promise<void> => running[Symbol.asyncDispose]();
  return { url: server.url, close, [Symbol.asyncDispose]: close };
}

/** A port without a host is on loopback, a host without a port at the usual one. */
function placeOf(
  listen: string | undefined,
  [first]: readonly Service[],
): { readonly host: string; readonly port: number } {
  const usual = { host: '127.0.0.1', port: first?.usualPort ?? 0 };
  if (listen === undefined) return usual;
  const parts = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d{1,5}))?$/.exec(listen);
  const [, bracketed, plain, digits] = parts ?? [];
  const port = digits === undefined ? usual.port : Number(digits);
  if (parts === null || port > 65_535) throw invalidOption('listen', listen, 'it must be host:port');
  return { host: bracketed || plain || usual.host, port };
}

function limitsOf(services: readonly Service[]): ServiceLimits {
  const least = (name: keyof ServiceLimits): ServiceLimits => {
    const given = services.flatMap(({ limits }) => limits?.[name] ?? []);
    return given.length === 0 ? {} : { [name]: Math.min(...given) };
  };
  return { ...least('connections'), ...least('streams') };
}

/** Looks after the checks of each service, and after the event loop once. */
class HealthOfProcess implements ProcessHealth, Disposable {
  readonly #runtime = nodeRuntime({ unref: true });
  readonly #startedAt = this.#runtime.now();
  readonly #process = new ProcessMonitor();
  /** Of the event loop alone, which no service owns. */
  readonly #loop: ProgressMonitor;
  readonly #watched: readonly {
    readonly service: Service;
    readonly progress: NonNullable<Service['progress']>;
  }[];
  readonly #monitors: readonly ProgressMonitor[];

  constructor(services: readonly Service[], logger: Logger) {
    const monitors: ProgressMonitor[] = [];
    const monitor = (checks: ReturnType<NonNullable<Service['checks']>>): ProgressMonitor => {
      const made = new ProgressMonitor({ runtime: this.#runtime, logger, checks });
      monitors.push(made);
      return made;
    };
    this.#loop = monitor([]);
    this.#watched = services.map((service) => ({
      service,
      progress: service.progress ?? monitor(service.checks?.() ?? []),
    }));
    this.#monitors = monitors;
  }

  get names(): ProcessHealth['names'] {
    const own = this.#watched.flatMap(({ service, progress }) =>
      progress.names.flatMap((check) => (check === EVENT_LOOP ? [] : [{ service, check }])),
    );
    return [...own, { service: undefined, check: EVENT_LOOP }];
  }

  stalls(): readonly HandleStall[] {
    const own = this.#watched.flatMap(({ service, progress }) =>
      progress.stalls().flatMap((stall) => (stall.check === EVENT_LOOP ? [] : [{ ...stall, service }])),
    );
    return [...own, ...this.#loop.stalls().map((stall) => ({ ...stall, service: undefined }))];
  }

  usage(): ReturnType<ProcessMonitor['usage']> {
    return this.#process.usage();
  }

  uptimeSeconds(): number {
    return Math.round((this.#runtime.now() - this.#startedAt) / 1_000);
  }

  [Symbol.dispose](): void {
    for (const monitor of this.#monitors) monitor[Symbol.dispose]();
    this.#process[Symbol.dispose]();
  }
}
