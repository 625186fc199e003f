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

import { ProcessMonitor } from '../../node/http/process-usage.ts';
import { randomId } from '../../node/id.ts';
import { formatAddress } from '../../node/tcp/address.ts';
import type { TcpCounters } from '../../node/tcp/counters.ts';
import { alarmOn } from '../../runtime/driver.ts';
import { InvalidOptionError, type LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime, Transport } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { ApiSource } from '../http/source.ts';
import { ManagerDriver } from '../manager/driver.ts';
import { Manager } from '../manager/manager.ts';
import type { ManagerObservation } from '../manager/observation.ts';
import type { FromManager, ToManager } from '../messages.ts';
import { VERSION } from '../version.ts';
import { apiSource } from './api-source.ts';
import {
  type ManagerConfiguration,
  type ResolvedConfiguration,
  resolveConfiguration,
  settingsOf,
  shortestLeaderChangeMs,
  shortestLeaderLeaseMs,
  shortestToleranceMs,
} from './configuration.ts';
import { deadline } from './deadline.ts';
import { AloneError, ClosedError } from './errors.ts';
import { ManagerWatch } from './manager-watch.ts';
import type { Store } from './store.ts';
import { Waiters } from './waiters.ts';

/** @internal */
export interface ManagerSurroundings {
  readonly id: string;
  readonly configuration: ResolvedConfiguration;
  readonly store: Store;
  /** Where owners can reach it, for other Managers to tell them. */
  readonly advertised: string;
  readonly listener: Transport<FromManager, ToManager> & {
    readonly host: string;
    readonly port: number;
    readonly counters: TcpCounters;
  };
  readonly runtime: Runtime;
  readonly logger: Logger;
}

/** How often a standby reads the head of the log. */
const LOOK_EVERY_MS = 2_000;
/** Of the time without a leader that owners survive, one such part is given to others to take over. */
const STEP_DOWN_SHARE = 2;

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
  #advertisedHttp: string | undefined;
  readonly #over = new AbortController();
  #steppingDown: Promise<boolean> | undefined;
  #nextLook: Disposable | undefined;
  #standsBySince: Instant;

  /** @internal */
  constructor(around: ManagerSurroundings) {
    const { id, configuration, runtime, store, logger, listener, advertised } = around;
    this.#around = around;
    this.#configuration = configuration;
    this.#standsBySince = runtime.now();
    const surroundings = { maxBatchBytes: store.log.maxBatchBytes, address: advertised };
    const core = new Manager(settingsOf(id, configuration, surroundings));
    this.#core = core;
    const watch = new ManagerWatch({
      ...{ id, core, runtime, logger },
      renewEveryMs: (pool) => this.source.settings(pool).durations.renewEveryMs,
      cannotGoOn: (error) => this.fail(error),
      afterwards: () => this.#waiters.look(),
    });
    this.source = apiSource({
      ...{ core, watch, runtime, listener, store },
      self: () => ({ id, address: advertised, http: this.#advertisedHttp }),
      stepDown: () => this.stepDown(),
      standsBySince: () => this.#standsBySince,
      configuration: () => this.#configuration,
      process: () => this.#usage.usage(),
      failure: () => this.#failure,
    });
    this.#guard = new SuspensionGuard(runtime, shortestToleranceMs(configuration));
    this.#driver = new ManagerDriver({
      ...{ core, clock: runtime, guard: this.#guard, log: store.log, transport: listener, watcher: watch },
      alarm: (wake) => alarmOn(runtime, wake),
      candidate: (campaign) => `${id}.${randomId(4)}.${campaign}`,
    });
    if (store.isShared) this.#lookAtHead();
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
    const { id, store, logger, advertised: address } = this.#around;
    checkLeaderLease(resolved, store);
    this.#configuration = resolved;
    this.#guard.toleranceMs = shortestToleranceMs(resolved);
    const settings = settingsOf(id, resolved, { maxBatchBytes: store.log.maxBatchBytes, address });
    this.#driver.input((now) => this.#core.configure(settings, now));
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

  /** Resolves when it leads; at once if it does. Rejects with the reason of the signal, or when it is closed. */
  async whenLeading(signal?: AbortSignal): Promise<void> {
    const isOver = AbortSignal.any([this.#over.signal, ...(signal === undefined ? [] : [signal])]);
    await this.#waiters.until(() => this.#orFailure(this.#core.role === 'leading'), isOver);
  }

  /**
   * Lets another Manager lead, and stands by for it: before a restart, so that nobody has to wait until a
   * leader lease has run out. Resolves when another leads, with true; with false if this one did not lead, and
   * there was nothing to do.
   *
   * @throws {AloneError} if no other Manager can or does take over in time; then this one stands again
   * @throws {ClosedError} if it is closed meanwhile
   */
  stepDown(): Promise<boolean> {
    this.#steppingDown ??= this.#stepDown().finally(() => (this.#steppingDown = undefined));
    return this.#steppingDown;
  }

  async #stepDown(): Promise<boolean> {
    const { store, runtime, logger } = this.#around;
    if (!store.isShared) throw new AloneError('its log is its own');
    if (this.#core.role !== 'leading') return false;
    // It keeps leading until it is likely that another can.
    checkRoom(store);
    if (!(await this.#whenOther())) throw new AloneError('no other is there');
    if (this.#core.role !== 'leading') return false;
    const term = this.#core.term ?? 0;
    logger.info('steps down', { term });
    // The rest is left for us to be elected again, should nobody have been there after all.
    const withinMs = shortestLeaderChangeMs(this.#configuration) / STEP_DOWN_SHARE;
    using until = deadline(runtime, withinMs, this.#over.signal);
    this.#driver.stepDown();
    try {
      return await this.#waiters.until(() => this.#orFailure(this.#core.state.term > term), until.signal);
    } catch (error) {
      if (!until.isOver) throw error;
      throw new AloneError(`no other has taken over within ${withinMs / 1_000} s`);
    } finally {
      if (!this.#over.signal.aborted) this.#driver.standAgain();
    }
  }

  #whenOther(): Promise<boolean> {
    const { signal } = this.#over;
    return new Promise((resolve, reject) => {
      const closed = (): void => reject(signal.reason);
      signal.addEventListener('abort', closed, { once: true });
      void this.#around.store.whenOther().then((isThere) => {
        signal.removeEventListener('abort', closed);
        resolve(isThere);
      });
    });
  }

  /** @internal Resolves when it serves somebody: when it leads, or stands by with others; or has halted and says why. */
  async serving(signal?: AbortSignal): Promise<void> {
    const isServing = (): boolean =>
      this.#core.role !== 'standby' || (this.#around.store.isShared && this.#hasRead());
    await this.#waiters.until(() => this.#orFailure(isServing()), signal);
  }

  /** @internal Where its HTTP API is, for whoever started it, and for others. */
  listens(url: string | undefined, advertisedHttp: string | undefined): void {
    const { id, store, advertised: address, runtime } = this.#around;
    this.#url = url;
    this.#advertisedHttp = advertisedHttp;
    store.enrol({ id, address, http: advertisedHttp, version: VERSION, sinceMs: runtime.wallMs() });
  }

  /** @internal What to close when it is closed. */
  owns(owned: AsyncDisposable): void {
    this.#owned = owned;
  }

  #orFailure(isSo: boolean): true | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    return isSo || undefined;
  }

  /** So that a standby knows how far behind it is, also when no look-up asks. */
  #lookAtHead(): void {
    const { runtime } = this.#around;
    if (this.#core.role === 'leading') this.#standsBySince = runtime.now();
    this.#driver.input((now) => this.#core.lookAtHead(now));
    this.#nextLook = runtime.wakeAt(later(runtime.now(), LOOK_EVERY_MS), () => this.#lookAtHead());
  }

  #hasRead(): boolean {
    return this.#core.observe().history !== undefined;
  }

  /** @internal */
  stop(): void {
    this.#nextLook?.[Symbol.dispose]();
    this.#driver[Symbol.dispose]();
    this.#usage[Symbol.dispose]();
    this.#failure ??= new ClosedError('the Manager');
    this.#over.abort(this.#failure);
  }

  /** @internal The log has failed: says no more to anybody. */
  fail(error: LeaseholdError): void {
    this.#around.logger.error('the Manager cannot go on', { why: error.message, code: error.code });
    this.#nextLook?.[Symbol.dispose]();
    this.#driver[Symbol.dispose]();
    this.#failure = error;
    this.#waiters.look();
  }
}

/** Where nothing can be written, nobody can be elected: neither another nor this one again. */
function checkRoom({ observe }: Store): void {
  const full = observe().members.find(
    ({ reachable, complaint }) => reachable && complaint?.includes('NOSPACE'),
  );
  if (full === undefined) return;
  throw new AloneError(
    `etcd takes nothing (${full.endpoint} says NOSPACE), so nobody could be elected`,
    'Make room in it first: compact, defragment, and disarm its alarm',
  );
}

/** The store was told how long a leader may act without asking; a successor must wait at least as long. */
function checkLeaderLease(configuration: ResolvedConfiguration, { leaderLeaseMs }: Store): void {
  const shortestMs = shortestLeaderLeaseMs(configuration);
  if (leaderLeaseMs === undefined || shortestMs >= leaderLeaseMs) return;
  throw new InvalidOptionError(
    'leaderLeaseMs',
    shortestMs,
    `it must not be below the ${leaderLeaseMs} ms that this Manager was started with, for any pool; restart the Managers, one after the other, with the shorter one`,
  );
}
