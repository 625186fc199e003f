/**
 * One Manager in a running process: the core of `manager/manager.ts` with a log and a port, as its
 * operator has it in hand. What the operator wants to know is taken down beside it (`manager-watch.ts`)
 * and put together elsewhere (`api-source.ts`); here is only what can be done with it.
 *
 * It ends in one of three ways, and each is told apart. *Closed* by whoever started it. *Failed*, because
 * the log could not keep what was promised: then it says no more to anybody, since what it would say may
 * not be so after the next start. *Halted*, because others know of a later log than it has: then it still
 * shows what it knows, for whoever has to find out why.
 */

import type { FileLog } from '../../log/file/file-log.ts';
import { ProcessMonitor } from '../../node/http/process-usage.ts';
import { randomId } from '../../node/id.ts';
import { formatAddress } from '../../node/tcp/address.ts';
import type { TcpCounters } from '../../node/tcp/counters.ts';
import { alarmOn } from '../../runtime/driver.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime, Transport } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import type { ApiSource } from '../http/source.ts';
import { ManagerDriver } from '../manager/driver.ts';
import { Manager } from '../manager/manager.ts';
import type { ManagerObservation } from '../manager/observation.ts';
import type { FromManager, ToManager } from '../messages.ts';
import { apiSource } from './api-source.ts';
import {
  type ManagerConfiguration,
  type ResolvedConfiguration,
  resolveConfiguration,
  settingsOf,
} from './configuration.ts';
import { ClosedError } from './errors.ts';
import { ManagerWatch } from './manager-watch.ts';
import { Waiters } from './waiters.ts';

/** @internal */
export interface ManagerSurroundings {
  readonly id: string;
  readonly configuration: ResolvedConfiguration;
  readonly directory: string | undefined;
  readonly log: FileLog;
  readonly listener: Transport<FromManager, ToManager> & {
    readonly host: string;
    readonly port: number;
    readonly counters: TcpCounters;
  };
  readonly runtime: Runtime;
  readonly logger: Logger;
}

export class PoolManager implements AsyncDisposable {
  /** What the HTTP API is made of. @internal */
  readonly source: ApiSource;
  readonly #around: ManagerSurroundings;
  readonly #core: Manager;
  readonly #guard: SuspensionGuard;
  readonly #driver: ManagerDriver;
  readonly #usage = new ProcessMonitor();
  readonly #waiters = new Waiters();
  #configuration: ResolvedConfiguration;
  #failure: LeaseholdError | undefined;
  #owned: AsyncDisposable | undefined;
  #closed: Promise<void> | undefined;
  #url: string | undefined;

  /** @internal */
  constructor(around: ManagerSurroundings) {
    const { id, configuration, runtime, log, logger, listener, directory } = around;
    this.#around = around;
    this.#configuration = configuration;
    const core = new Manager(settingsOf(id, configuration, log));
    this.#core = core;
    const watch = new ManagerWatch({
      ...{ id, core, runtime, logger },
      renewEveryMs: (pool) => this.source.settings(pool).durations.renewEveryMs,
      cannotGoOn: (error) => this.fail(error),
      afterwards: () => this.#waiters.look(),
    });
    this.source = apiSource({
      ...{ core, watch, runtime, listener, log, directory },
      configuration: () => this.#configuration,
      process: () => this.#usage.usage(),
      failure: () => this.#failure,
    });
    this.#guard = new SuspensionGuard(runtime, shortestTolerance(configuration));
    this.#driver = new ManagerDriver({
      ...{ core, clock: runtime, guard: this.#guard, log, transport: listener, watcher: watch },
      alarm: (wake) => alarmOn(runtime, wake),
      candidate: (campaign) => `${id}.${randomId(4)}.${campaign}`,
    });
  }

  get id(): string {
    return this.#around.id;
  }

  /** `host:port`, for owners and look-ups. */
  get address(): string {
    return formatAddress(this.#around.listener);
  }

  /** Where the HTTP API and the page are; undefined if they are nowhere. */
  get httpUrl(): string | undefined {
    return this.#url;
  }

  /** What somebody who watches can see. */
  observe(): ManagerObservation {
    return this.#core.observe();
  }

  /**
   * Does as it is told from here on. What is left out goes back to its default.
   *
   * @throws {InvalidOptionError} and then nothing was changed
   */
  configure(configuration: ManagerConfiguration): void {
    const resolved = resolveConfiguration(configuration);
    const { id, log, logger } = this.#around;
    this.#configuration = resolved;
    this.#guard.toleranceMs = shortestTolerance(resolved);
    this.#driver.input((now) => this.#core.configure(settingsOf(id, resolved, log), now));
    logger.info('the configuration was changed', { pools: [...resolved.pools.keys()].join(', ') });
  }

  /**
   * Rejects when it cannot go on; pending for as long as it can.
   *
   * @throws {StorageFailedError} if the disk failed
   * @throws {ClosedError} if it had been closed already
   */
  get failed(): Promise<never> {
    return this.#waiters.until<never>(() => {
      if (this.#failure !== undefined) throw this.#failure;
      return undefined;
    });
  }

  async close(): Promise<void> {
    this.#closed ??= Promise.resolve(this.#owned?.[Symbol.asyncDispose]());
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal Resolves when it leads, or has halted and says why. */
  async leading(): Promise<void> {
    await this.#waiters.until(() => {
      if (this.#failure !== undefined) throw this.#failure;
      return this.#core.role === 'leading' || this.#core.role === 'halted' ? true : undefined;
    });
  }

  /** @internal What to close when it is closed. */
  owns(owned: AsyncDisposable, url: string | undefined): void {
    this.#owned = owned;
    this.#url = url;
  }

  /** @internal */
  stop(): void {
    this.#driver[Symbol.dispose]();
    this.#usage[Symbol.dispose]();
    this.#failure ??= new ClosedError('the Manager');
  }

  /** @internal The log has failed: says no more to anybody. */
  fail(error: LeaseholdError): void {
    this.#around.logger.error('the Manager cannot go on', { why: error.message, code: error.code });
    this.#driver[Symbol.dispose]();
    this.#failure = error;
    this.#waiters.look();
  }
}

function shortestTolerance({ defaults, pools }: ResolvedConfiguration): number {
  const tolerances = [defaults, ...pools.values()].map(({ durations }) => durations.suspensionToleranceMs);
  return Math.min(...tolerances);
}
