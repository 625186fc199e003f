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

import { ProcessMonitor } from '../../../node/http/process-usage.ts';
import { randomId } from '../../../node/id.ts';
import { ProgressMonitor } from '../../../node/service/progress.ts';
import type { ServedAt, Service, ServiceLimits } from '../../../node/service/service.ts';
import { formatAddress } from '../../../node/tcp/address.ts';
import { originOf } from '../../../node/tcp/address-groups.ts';
import type { TcpCounters } from '../../../node/tcp/counters.ts';
import { alarmOn } from '../../../runtime/driver.ts';
import { invalidOption, type LeaseholdError, UnavailableError } from '../../../runtime/errors.ts';
import { unlessAborted } from '../../../runtime/on-abort.ts';
import {
  type CallOptions,
  Closing,
  type Event,
  type EventsOptions,
  type Handle,
  type Problem,
  type Status,
} from '../../../runtime/handle.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime, Transport } from '../../../runtime/runtime.ts';
import { SuspensionGuard } from '../../../runtime/suspension.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import { managerService } from '../service/routes.ts';
import type { ApiSource } from '../service/source.ts';
import { advertisedHttp } from './advertised.ts';
import { ManagerDriver } from '../../core/manager/driver.ts';
import type { ManagerLimits } from '../../core/manager/settings.ts';
import { Manager } from '../../core/manager/manager.ts';
import { checkTakeover, type ManagerSettings } from '../../core/manager/settings.ts';
import type { ManagerObservation } from '../../core/manager/observation.ts';
import type { FromManager, ToManager } from '../../core/messages.ts';
import { VERSION } from '../../../runtime/version.ts';
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
import { closed, outcomeUnknown } from '../errors.ts';
import { waitWithin } from '../../../runtime/wait-within.ts';
import { ManagerWatch } from './manager-watch.ts';
import { type Order, orderOwner } from './order-owner.ts';
import { removePool } from './remove-pool.ts';
import { StepDown } from './step-down.ts';
import { type KnownPools, namingPools } from './unknown-pools.ts';
import type { Store } from './store.ts';
import { Condition } from '../../../runtime/condition.ts';

/** @internal */
export interface ManagerDependencies {
  readonly name: string;
  readonly configuration: ResolvedConfiguration;
  readonly store: Store;
  /** No owner can hold a lease from an earlier log. */
  readonly firstStart?: boolean | undefined;
  /** The system has just chosen the port. */
  readonly isAddressNew?: boolean | undefined;
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
  /** Tells clients that connect where the status is served. */
  readonly greet?: ((http: string | undefined) => void) | undefined;
  readonly httpLimits?: ServiceLimits | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

/** How often a standby reads the head of the log. */
const LOOK_EVERY_MS = 2_000;
/** How often a leader notes beside the log that it leads. */
const MARK_EVERY_MS = 1_000;

/** What a Manager says of itself. */
export interface ManagerStatus extends Status {
  readonly module: 'manager';
  readonly role: 'standby' | 'leading' | 'halted';
  readonly name: string;
  /** The latest term in the log; undefined if the Manager has read none. */
  readonly term: number | undefined;
  /** How far the Manager has read the log. */
  readonly position: number;
  /** The leader, as far as known. A standby of Managers that keep nothing does not know the address. */
  readonly leader: { readonly name: string; readonly address: string | undefined } | undefined;
}

/** A Manager in this process: the leader, or a standby that follows the log. */
export class PoolManager implements Handle<ManagerStatus> {
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
  readonly #closing = new Closing();
  /** Where the status is served, and at which address the other Managers may name it. */
  #served: ServedAt | undefined;
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
    const { name: id, configuration, runtime, store, logger, listener, advertised } = around;
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
      self: () => ({ id, address: advertised, http: advertisedHttp(advertised, this.#served) }),
      stepDown: () => this.stepDown(),
      removePool: (pool) => this.removePool(pool),
      order: (pool, order) => this.#order(pool, order),
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
      ...{
        core,
        clock: runtime,
        guard: this.#guard,
        log: store.log,
        watcher: watch,
        transport: namingPools(listener, this.#knownPools()),
      },
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

  get name(): string {
    return this.#around.name;
  }

  /** `host:port`, for owners and look-ups. */
  get address(): string {
    return formatAddress(this.#around.listener);
  }

  /** @internal */
  get configuration(): ResolvedConfiguration {
    return this.#configuration;
  }

  status(): ManagerStatus {
    const { role, term, history, haltedBecause, state } = this.#core.observe();
    const { kind, where = kind } = this.#around.store.observe();
    const waitsFor = this.#progress.whyNotReady();
    const problems: readonly Problem[] = this.#progress.stalls().map(({ check, why, forMs }) => ({
      ...{ id: check, level: 'failing', what: why, sinceMs: Math.round(forMs) },
      cure:
        haltedBecause === undefined
          ? 'see the log of this Manager, and its store'
          : 'see leasehold manager recover',
      command: 'leasehold status',
    }));
    return {
      ...{ module: 'manager', role, instance: where, name: this.name },
      ...{ isReady: waitsFor === undefined, waitsFor, problems },
      ...{ term: history === undefined ? undefined : term, position: state.position, leader: this.#leader },
    };
  }

  get #leader(): ManagerStatus['leader'] {
    if (this.#core.role === 'leading') return { name: this.name, address: this.#around.advertised };
    const { elected } = this.#around.store;
    if (elected !== undefined) return { name: elected.id, address: undefined };
    const { leader: name, address } = this.#core.state.leaderRecord;
    return name === '' ? undefined : { name, address };
  }

  /**
   * Resolves when this Manager is of use: it leads, or stands by and could take over.
   *
   * @throws {UnavailableError} when the time is over
   * @throws {ClosedError} if the Manager is closed before that
   */
  async ready(options: CallOptions = {}): Promise<void> {
    await this.#when(
      'the readiness of this Manager',
      options,
      () => this.#progress.whyNotReady() === undefined,
    );
  }

  /** What happened, to this Manager and in the log that it follows. */
  async *events({ signal, after }: EventsOptions = {}): AsyncGenerator<Event, void> {
    const over = AbortSignal.any([this.#over.signal, ...(signal === undefined ? [] : [signal])]);
    for await (const event of this.#watch.events.follow({ signal: over, after })) {
      yield event.kind === 'gap' ? { id: event.after, ...event } : { ...event };
    }
  }

  /** @internal The connections over which members were last heard. */
  memberConnections(): ReadonlySet<string> {
    return this.#core.memberConnections();
  }

  /** @internal All that the core knows, for the HTTP API, tests and measurements. */
  observe(): ManagerObservation {
    return this.#core.observe();
  }

  /**
   * Applies a configuration from here on. An omitted option goes back to the default.
   *
   * @throws {InvalidArgumentError} and then nothing was changed
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
   * Resolves when this Manager is closed, or cannot go on: then with the reason. The disk failed, the directory was renamed,
   * removed or replaced, etcd was restored from a backup during this leadership, a newer version wrote to the log; or any
   * other error that keeps a Manager from starting on a log, if found while running.
   */
  get closed(): Promise<LeaseholdError | undefined> {
    return this.#closing.closed;
  }

  /** Steps down if this Manager leads, and ends. Keys stay with their owners for as long as their leases last. */
  async close(): Promise<void> {
    await this.#closing.close(async () => void (await this.#owned?.[Symbol.asyncDispose]()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Resolves when this Manager leads; at once if it leads already.
   *
   * @throws {UnavailableError} when the time is over
   * @throws {ClosedError} if the Manager is closed before that
   */
  async whenLeading(options: CallOptions = {}): Promise<void> {
    await this.#when('the leadership of this Manager', options, () => this.#core.role === 'leading');
  }

  async #when(what: string, options: CallOptions, isSo: () => boolean): Promise<void> {
    await waitWithin(this.#around.runtime, ['manager', what], options, (signal) =>
      this.#until(isSo, AbortSignal.any([this.#over.signal, ...(signal === undefined ? [] : [signal])])),
    );
  }

  /**
   * Lets another Manager lead, and becomes a standby: before a restart, so that nobody has to wait until a leader
   * lease has expired. Resolves when another leads, with true; with false if this one did not lead, and there was
   * nothing to do. With its own `timeoutMs` or `signal` the call gives up waiting; what was begun goes on.
   *
   * @throws {UnavailableError} if no other Manager can or does take over in time; then this one stands again
   * @throws {OutcomeUnknownError} `OUTCOME_UNKNOWN` when `timeoutMs` is over
   * @throws {ClosedError} if the Manager is closed meanwhile
   */
  stepDown(options: CallOptions = {}): Promise<boolean> {
    return this.#ordered('stepping down', options, (signal) => unlessAborted(this.#stepDown.begin(), signal));
  }

  /** What was begun goes on when the time is over. */
  async #ordered<T>(
    what: string,
    options: CallOptions,
    work: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    options.signal?.throwIfAborted();
    try {
      return await waitWithin(this.#around.runtime, ['manager', what], options, work);
    } catch (error) {
      if (!(error instanceof UnavailableError) || error.code !== 'TIMEOUT') throw error;
      throw outcomeUnknown(what, options.timeoutMs ?? 0);
    }
  }

  /**
   * Removes a pool in which nobody is. Look-ups of the pool are told that everything is lost. Resolves when the
   * removal is in the log: with true, or with false if the log had nothing of the pool. With its own `timeoutMs` or `signal` the call
   * gives up waiting; what was begun goes on.
   *
   * @throws {InUseError} if owners are in the pool; then nothing was changed
   * @throws {UnavailableError} if this Manager does not lead, or is deposed before the outcome of the write is known
   * @throws {OutcomeUnknownError} `OUTCOME_UNKNOWN` when `timeoutMs` is over
   * @throws {ClosedError} if the Manager is closed meanwhile
   */
  async removePool(pool: string, options: CallOptions = {}): Promise<boolean> {
    const isRemoved = await this.#ordered(`the removal of ${pool}`, options, (signal) =>
      removePool(pool, {
        ...{ core: this.#core, driver: this.#driver, until: (isSo) => this.#until(isSo, signal) },
        leader: () => this.#leader?.name,
      }),
    );
    if (isRemoved) this.#around.logger.info('a pool was removed', { pool });
    return isRemoved;
  }

  /**
   * Orders what becomes of the keys of one owner: a drain hands them over with their state, and the owner stays without keys, until `uncordon`. Resolves
   * when the order is in the log, so it survives a change of the leader. It ends with the process of the owner.
   *
   * @throws {RefusedError} if the pool has no owner of that name, or its keys do not move with their state; then nothing was changed
   * @throws {UnavailableError} if this Manager does not lead, or is deposed before the outcome of the write is known
   * @throws {ClosedError} if the Manager is closed meanwhile
   */
  async order(pool: string, order: Order): Promise<void> {
    await this.#order(pool, order);
  }

  async #order(pool: string, order: Order): Promise<string> {
    const incarnation = await orderOwner(pool, order, {
      ...{ core: this.#core, driver: this.#driver, until: (isSo) => this.#until(isSo) },
      leader: () => this.#leader?.name,
    });
    this.#around.logger.info('an owner was given an order', { pool, ...order });
    return incarnation;
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

  /** @internal */
  toService(): Service {
    const served = (at: ServedAt | undefined): void => {
      this.#served = at;
      this.#around.greet?.(at?.url);
      if (!this.#closing.isOver) this.enrol();
    };
    return { ...managerService(this.source), limits: this.#around.httpLimits, served };
  }

  /** @internal From here on the other Managers know where this one is, and its status. */
  enrol(): void {
    const { name: id, store, advertised: address, runtime } = this.#around;
    const http = advertisedHttp(address, this.#served);
    store.enrol({ id, address, http, version: VERSION, sinceMs: runtime.wallMs() });
  }

  /** @internal Closed together with the Manager. */
  owns(owned: AsyncDisposable): void {
    this.#owned = owned;
  }

  /** In the log, or declared. */
  #knownPools(): KnownPools {
    const declared = (): ResolvedConfiguration['pools'] => this.#configuration.pools;
    return {
      has: (pool) => this.#core.state.pools.has(pool) || declared().has(pool),
      names: () => [...new Set([...this.#core.state.pools.keys(), ...declared().keys()])].sort(),
    };
  }

  #httpLimited(): Readonly<Record<string, number>> {
    const { connectionsFull = 0, streamsFull = 0 } = this.#served?.counters ?? {};
    return { httpConnections: connectionsFull, eventStreams: streamsFull };
  }

  #settingsOf(configuration: ResolvedConfiguration): ManagerSettings {
    const { name: id, store, advertised: address, firstStart } = this.#around;
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
      isAddressNew: this.#around.isAddressNew,
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
    const leader = this.#leader;
    if (this.#core.role !== 'standby' || !store.isShared) return;
    if (leader === undefined || leader.name === this.name) return;
    const term = store.elected?.term ?? this.#core.state.leaderRecord.term;
    const followed = `${leader.name} in term ${term}`;
    if (followed === this.#followed) return;
    this.#followed = followed;
    this.#watch.follows({ id: leader.name, address: leader.address }, term);
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
    const { name: id, store } = this.#around;
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
    this.#failure ??= closed('the Manager');
    this.#over.abort(this.#failure);
  }

  /** @internal The log has failed: says no more to anybody. */
  fail(error: LeaseholdError): void {
    this.#around.logger.error('the Manager cannot go on', { why: error.message, code: error.code });
    this.#nextLook?.[Symbol.dispose]();
    this.#nextMark?.[Symbol.dispose]();
    this.#driver[Symbol.dispose]();
    this.#failure = error;
    this.#closing.fail(error);
    this.#waiters.look();
  }
}

/** The store was told how long a leader may act without asking; a successor must wait at least as long. */
function checkLeaderLease(configuration: ResolvedConfiguration, { leaderLeaseMs }: Store): void {
  const shortestMs = shortestLeaderLeaseMs(configuration);
  if (leaderLeaseMs === undefined || shortestMs >= leaderLeaseMs) return;
  throw invalidOption(
    'leaderLeaseMs',
    shortestMs,
    `it must not be below the ${leaderLeaseMs} ms that this Manager was started with, for any pool; restart the Managers, one after the other, with the shorter one`,
  );
}
