/**
 * One Manager in a running process: the core of `manager/manager.ts` with a log and a port, as the operator's object.
 * The observations for operators are recorded beside the core (`manager-watch.ts`) and put together elsewhere
 * (`api-source.ts`); this file has only the operations.
 *
 * A Manager ends in one of three ways, and each is told apart. *Closed* by the caller. *Failed*, because the log could
 * not keep a promise: then the Manager sends nothing more, since a message may be untrue after the next start.
 * *Halted*, because others know of a later log: then the Manager still shows its state, for the operator who has to
 * find out why.
 */

import type { HttpServer } from '../../node/http/server.ts';
import { ProcessMonitor } from '../../node/http/process-usage.ts';
import { randomId } from '../../node/id.ts';
import { ProgressMonitor } from '../../node/service/progress.ts';
import { formatAddress } from '../../node/tcp/address.ts';
import { originOf } from '../../node/tcp/address-groups.ts';
import type { TcpCounters } from '../../node/tcp/counters.ts';
import { alarmOn } from '../../runtime/driver.ts';
import { InvalidOptionError, type LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime, Transport } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { ApiSource } from '../http/source.ts';
import { ManagerDriver } from '../manager/driver.ts';
import type { ManagerLimits } from '../manager/settings.ts';
import { Manager } from '../manager/manager.ts';
import { checkTakeover, type ManagerSettings } from '../manager/settings.ts';
import type { ManagerObservation } from '../manager/observation.ts';
import type { FromManager, ToManager } from '../messages.ts';
import { VERSION } from '../../runtime/version.ts';
import { apiSource, type ApiSourceParts, progressChecks } from './api-source.ts';
import {
  type ManagerConfiguration,
  type ResolvedConfiguration,
  resolveConfiguration,
  settingsOf,
  shortestLeaderChangeMs,
  shortestLeaderLeaseMs,
  shortestToleranceMs,
} from './configuration.ts';
import { ClosedError } from './errors.ts';
import { ManagerWatch } from './manager-watch.ts';
import { removePool } from './remove-pool.ts';
import { StepDown } from './step-down.ts';
import type { Store } from './store.ts';
import { Condition } from '../../runtime/condition.ts';

/** @internal */
export interface ManagerDependencies {
  readonly id: string;
  readonly configuration: ResolvedConfiguration;
  readonly store: Store;
  /** No owner can hold a lease from an earlier log. */
  readonly firstStart?: boolean | undefined;
  /** The address for owners, which other Managers tell the owners. */
  readonly advertised: string;
  readonly listener: Transport<FromManager, ToManager> & {
    readonly host: string;
    readonly port: number;
    readonly counters: TcpCounters;
    readonly peers: ReadonlyMap<string, { readonly remote: string }>;
    admit(peer: string): void;
  };
  /** @default MANAGER_LIMITS */
  readonly limits?: ManagerLimits | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

/** How often a standby reads the head of the log. */
const LOOK_EVERY_MS = 2_000;
/** How often a leader notes beside the log that it leads. */
const MARK_EVERY_MS = 1_000;

export class PoolManager implements AsyncDisposable {
  /** Clients tell leaders of one history and term apart by this. */
  readonly #process = randomId(8);
  /** The source of the HTTP API. @internal */
  readonly source: ApiSource;
  readonly #around: ManagerDependencies;
  readonly #core: Manager;
  readonly #watch: ManagerWatch;
  readonly #guard: SuspensionGuard;
  readonly #driver: ManagerDriver;
  readonly #stepDown: StepDown;
  readonly #usage = new ProcessMonitor();
  readonly #progress: ProgressMonitor;
  readonly #waiters = new Condition();
  #configuration: ResolvedConfiguration;
  #failure: LeaseholdError | undefined;
  #owned: AsyncDisposable | undefined;
  #closed: Promise<void> | undefined;
  #web: HttpServer | undefined;
  #advertisedHttp: string | undefined;
  readonly #over = new AbortController();
  #nextLook: Disposable | undefined;
  /** The last instant of leadership; or, if there was none, the first instant. */
  #standsBySince: Instant;
  readonly #openedAt: Instant;
  /** The log may have been put back: one that keeps nothing cannot, and one that was led a moment ago has not. */
  readonly #mayBeOlder: boolean;
  #nextMark: Disposable | undefined;
  /** The leader and term of the last log line about following. */
  #followed: string | undefined;

  /** @internal */
  constructor(around: ManagerDependencies) {
    const { id, configuration, runtime, store, logger, listener, advertised } = around;
    this.#around = around;
    this.#configuration = configuration;
    this.#openedAt = runtime.now();
    this.#mayBeOlder = store.takeoverMs === undefined && store.recency?.isRecent() !== true;
    this.#standsBySince = this.#openedAt;
    const core = new Manager(this.#settingsOf(configuration));
    this.#core = core;
    const watch = new ManagerWatch({
      ...{ id, core, runtime, logger },
      admits: (peer) => listener.admit(peer),
      halted: (why) => this.#noteHalt(why),
      cannotGoOn: (error) => this.fail(error),
      afterInput: () => this.#afterInput(),
    });
    this.#watch = watch;
    const parts: ApiSourceParts = {
      ...{ core, watch, runtime, listener, store },
      self: () => ({ id, address: advertised, http: this.#advertisedHttp }),
      stepDown: () => this.stepDown(),
      removePool: (pool) => this.removePool(pool),
      standsBySince: () => this.#standsBySince,
      configuration: () => this.#configuration,
      process: () => this.#usage.usage(),
      httpLimited: () => this.#httpLimited(),
      failure: () => this.#failure,
    };
    this.#progress = new ProgressMonitor({ runtime, logger, checks: progressChecks(parts) });
    this.source = apiSource(parts, this.#progress);
    this.#guard = new SuspensionGuard(runtime, shortestToleranceMs(configuration));
    this.#driver = new ManagerDriver({
      ...{ core, clock: runtime, guard: this.#guard, log: store.log, transport: listener, watcher: watch },
      alarm: (wake) => alarmOn(runtime, wake),
      candidate: (campaign) => `${id}.${randomId(4)}.${campaign}`,
    });
    this.#stepDown = new StepDown({
      ...{ core, store, runtime, logger, driver: this.#driver, isOver: this.#over.signal },
      leaderChangeMs: () => shortestLeaderChangeMs(this.#configuration),
      until: (isSo, signal) => this.#until(isSo, signal),
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
    return this.#web?.url;
  }

  /** @internal */
  get configuration(): ResolvedConfiguration {
    return this.#configuration;
  }

  /** The leader, as far as known. */
  get leader(): { readonly id: string; readonly address: string | undefined } | undefined {
    if (this.#core.role === 'leading') return { id: this.id, address: this.#around.advertised };
    const { elected } = this.#around.store;
    if (elected !== undefined) return { id: elected.id, address: undefined };
    const { leader: id, address } = this.#core.state.leaderRecord;
    return id === '' ? undefined : { id, address };
  }

  /** @internal The connections over which members were last heard. */
  memberConnections(): ReadonlySet<string> {
    return this.#core.memberConnections();
  }

  /** The state for observers. */
  observe(): ManagerObservation {
    return this.#core.observe();
  }

  /**
   * Applies a configuration from here on. An omitted option goes back to the default.
   *
   * @throws {InvalidOptionError} and then nothing was changed
   */
  configure(configuration: ManagerConfiguration): void {
    const resolved = resolveConfiguration(configuration);
    const { store, logger } = this.#around;
    checkLeaderLease(resolved, store);
    const settings = this.#settingsOf(resolved);
    checkTakeover(settings);
    this.#configuration = resolved;
    this.#guard.toleranceMs = shortestToleranceMs(resolved);
    this.#driver.input((now) => this.#core.configure(settings, now));
    logger.info('the configuration was changed', { pools: [...resolved.pools.keys()].join(', ') });
  }

  /**
   * Rejects when the Manager cannot go on; pending until then.
   *
   * @throws {StorageFailedError} if the disk failed
   * @throws {LogReplacedError} if the data directory was renamed, removed or replaced
   * @throws {StoreWentBackError} if etcd was restored from a backup during this leadership
   * @throws {DamagedEtcdLogError} and every other error that keeps a Manager from starting on a log, if found while
   *   running
   * @throws {UnreadableLogError} if a newer version wrote to the followed log
   * @throws {ClosedError} if the Manager had been closed already
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

  /**
   * Resolves when this Manager leads; at once if it leads already. Rejects with the reason of the signal, or when the
   * Manager is closed.
   */
  async whenLeading(signal?: AbortSignal): Promise<void> {
    const isOver = AbortSignal.any([this.#over.signal, ...(signal === undefined ? [] : [signal])]);
    await this.#until(() => this.#core.role === 'leading', isOver);
  }

  /**
   * Lets another Manager lead, and becomes a standby: before a restart, so that nobody has to wait until a leader
   * lease has expired. Resolves when another leads, with true; with false if this one did not lead, and there was
   * nothing to do.
   *
   * @throws {AloneError} if no other Manager can or does take over in time; then this one stands again
   * @throws {ClosedError} if the Manager is closed meanwhile
   */
  stepDown(): Promise<boolean> {
    return this.#stepDown.begin();
  }

  /**
   * Removes a pool in which nobody is. Look-ups of the pool are told that everything is lost. Resolves when the
   * removal is in the log: with true, or with false if the log had nothing of the pool.
   *
   * @throws {PoolInUseError} if owners are in the pool; then nothing was changed
   * @throws {NotLeadingError} if this Manager does not lead, or is deposed before the outcome of the write is known
   * @throws {ClosedError} if the Manager is closed meanwhile
   */
  async removePool(pool: string): Promise<boolean> {
    const isRemoved = await removePool(pool, {
      ...{ core: this.#core, driver: this.#driver, until: (isSo) => this.#until(isSo) },
      leader: () => this.leader?.id,
    });
    if (isRemoved) this.#around.logger.info('a pool was removed', { pool });
    return isRemoved;
  }

  /**
   * @internal Resolves when the Manager is of use: as a leader, or as a standby of others; or when halted, with a
   *   reason to show.
   */
  async serving(signal?: AbortSignal): Promise<void> {
    const { store } = this.#around;
    const knowsOfOthers = (): boolean => store.isShared && (this.#hasRead() || store.elected !== undefined);
    const isServing = (): boolean => this.#core.role !== 'standby' || knowsOfOthers();
    await this.#until(isServing, signal);
  }

  /** @internal A condition outside that somebody waits for may have become true. */
  look(): void {
    this.#sayWhomItFollows();
    this.#waiters.look();
  }

  /** @internal Where the HTTP API is, for the caller, and for others. */
  listens(web: HttpServer | undefined, advertisedHttp: string | undefined): void {
    const { id, store, advertised: address, runtime } = this.#around;
    this.#web = web;
    this.#advertisedHttp = advertisedHttp;
    store.enrol({ id, address, http: advertisedHttp, version: VERSION, sinceMs: runtime.wallMs() });
  }

  /** @internal Closed together with the Manager. */
  owns(owned: AsyncDisposable): void {
    this.#owned = owned;
  }

  #httpLimited(): Readonly<Record<string, number>> {
    const { connectionsFull: httpConnections = 0, streamsFull: eventStreams = 0 } = this.#web?.counters ?? {};
    return { httpConnections, eventStreams };
  }

  #settingsOf(configuration: ResolvedConfiguration): ManagerSettings {
    const { id, store, advertised: address, firstStart } = this.#around;
    const { log, takeoverMs: groupTakeoverMs } = store;
    const { maxBatchBytes } = log;
    const settings = settingsOf(id, configuration, { maxBatchBytes, address, firstStart, groupTakeoverMs });
    const { limits, listener } = this.#around;
    // Addresses without their ports, which differ for each connection.
    const originOfPeer = (peer: string): string => {
      const remote = listener.peers.get(peer)?.remote;
      return remote === undefined ? peer : originOf(remote.replace(/:\d+$/, ''));
    };
    return {
      ...settings,
      process: this.#process,
      isLogShared: store.isShared,
      openedAt: this.#mayBeOlder ? this.#openedAt : undefined,
      limits,
      originOf: originOfPeer,
    };
  }

  /** Resolves when `isSo` is true; rejects if the Manager cannot go on, or with the reason of the signal. */
  #until(isSo: () => boolean, signal?: AbortSignal): Promise<true> {
    return this.#waiters.until(() => {
      if (this.#failure !== undefined) throw this.#failure;
      return isSo() || undefined;
    }, signal);
  }

  /** After an input, and all its effects. */
  #afterInput(): void {
    const { store, runtime } = this.#around;
    if (store.recency !== undefined && this.#nextMark === undefined) this.#markRecent(store.recency);
    if (this.#core.role === 'leading') this.#standsBySince = runtime.now();
    else this.#sayWhomItFollows();
    this.#waiters.look();
  }

  #sayWhomItFollows(): void {
    const { store } = this.#around;
    const { leader } = this;
    if (this.#core.role !== 'standby' || !store.isShared) return;
    if (leader === undefined || leader.id === this.id) return;
    const term = store.elected?.term ?? this.#core.state.leaderRecord.term;
    const followed = `${leader.id} in term ${term}`;
    if (followed === this.#followed) return;
    this.#followed = followed;
    this.#watch.follows(leader, term);
  }

  /** A restart within a moment need not wait for witnesses. */
  #markRecent(recency: NonNullable<Store['recency']>): void {
    const { runtime } = this.#around;
    if (!this.#core.isSureOfItsLog(runtime.now())) return;
    recency.note(this.#core.state.position);
    this.#nextMark = runtime.wakeAt(later(runtime.now(), MARK_EVERY_MS), () => {
      this.#nextMark = undefined;
      this.#markRecent(recency);
    });
  }

  /** So that a standby knows how many commits are missing, also when no look-up asks. */
  #lookAtHead(): void {
    const { runtime } = this.#around;
    this.#driver.input((now) => this.#core.lookAtHead(now));
    this.#nextLook = runtime.wakeAt(later(runtime.now(), LOOK_EVERY_MS), () => this.#lookAtHead());
  }

  /**
   * This Manager remembers the halt; the next leader, also this Manager after a restart, has to find the halt in the
   * store.
   */
  #noteHalt(why: string): void {
    this.#nextMark?.[Symbol.dispose]();
    this.#around.store.recency?.forget();
    const { history, term, state } = this.#core.observe();
    if (history === undefined) return;
    const { id, store } = this.#around;
    const seen = this.#core.seen(history);
    store.halt({
      history,
      term: Math.max(term, seen?.term ?? 0),
      position: Math.max(state.position, seen?.position ?? 0),
      why: `${id}: ${why}`,
    });
  }

  #hasRead(): boolean {
    return this.#core.history !== undefined;
  }

  /** @internal */
  stop(): void {
    this.#nextLook?.[Symbol.dispose]();
    this.#nextMark?.[Symbol.dispose]();
    this.#driver[Symbol.dispose]();
    this.#usage[Symbol.dispose]();
    this.#progress[Symbol.dispose]();
    this.#watch[Symbol.dispose]();
    this.#failure ??= new ClosedError('the Manager');
    this.#over.abort(this.#failure);
  }

  /** @internal The log has failed: says no more to anybody. */
  fail(error: LeaseholdError): void {
    this.#around.logger.error('the Manager cannot go on', { why: error.message, code: error.code });
    this.#nextLook?.[Symbol.dispose]();
    this.#nextMark?.[Symbol.dispose]();
    this.#driver[Symbol.dispose]();
    this.#failure = error;
    this.#waiters.look();
  }
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
