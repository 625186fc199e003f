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
import { ClosedError } from './errors.ts';
import { ManagerWatch } from './manager-watch.ts';
import { StepDown } from './step-down.ts';
import type { Store } from './store.ts';
import { Waiters } from '../../runtime/waiters.ts';

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

export class PoolManager implements AsyncDisposable {
  /** What the HTTP API is made of. @internal */
  readonly source: ApiSource;
  readonly #around: ManagerSurroundings;
  readonly #core: Manager;
  readonly #watch: ManagerWatch;
  readonly #guard: SuspensionGuard;
  readonly #driver: ManagerDriver;
  readonly #stepDown: StepDown;
  readonly #usage = new ProcessMonitor();
  readonly #waiters = new Waiters();
  #configuration: ResolvedConfiguration;
  #failure: LeaseholdError | undefined;
  #owned: AsyncDisposable | undefined;
  #closed: Promise<void> | undefined;
  #url: string | undefined;
  #advertisedHttp: string | undefined;
  readonly #over = new AbortController();
  #nextLook: Disposable | undefined;
  /** The last instant at which it led; or, if it never did, its first. */
  #standsBySince: Instant;
  /** Whom it was last said to follow, and in which term. */
  #followed: string | undefined;

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
      halted: (why) => this.#noteHalt(why),
      cannotGoOn: (error) => this.fail(error),
      afterwards: () => this.#afterwards(),
    });
    this.#watch = watch;
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
    return this.#url;
  }

  /** Who leads, as far as is known. */
  get leader(): { readonly id: string; readonly address: string | undefined } | undefined {
    if (this.#core.role === 'leading') return { id: this.id, address: this.#around.advertised };
    const { elected } = this.#around.store;
    if (elected !== undefined) return { id: elected.id, address: undefined };
    const { leader: id, address } = this.#core.state.reign;
    return id === '' ? undefined : { id, address };
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
   * @throws {StoreWentBackError} if etcd was restored from a backup while it led
   * @throws {DamagedEtcdLogError} and whatever else keeps a Manager from starting on a log, if it is found while it runs
   * @throws {UnreadableLogError} if a newer version wrote what it follows
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
    await this.#until(() => this.#core.role === 'leading', isOver);
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
    return this.#stepDown.begin();
  }

  /** @internal Resolves when it serves somebody: when it leads, or stands by with others; or has halted and says why. */
  async serving(signal?: AbortSignal): Promise<void> {
    const { store } = this.#around;
    const knowsOfOthers = (): boolean => store.isShared && (this.#hasRead() || store.elected !== undefined);
    const isServing = (): boolean => this.#core.role !== 'standby' || knowsOfOthers();
    await this.#until(isServing, signal);
  }

  /** @internal Something outside may have come to be what somebody waits for. */
  look(): void {
    this.#sayWhomItFollows();
    this.#waiters.look();
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

  /** Resolves when it is so; rejects if it cannot go on, or with the reason of the signal. */
  #until(isSo: () => boolean, signal?: AbortSignal): Promise<true> {
    return this.#waiters.until(() => {
      if (this.#failure !== undefined) throw this.#failure;
      return isSo() || undefined;
    }, signal);
  }

  /** After an input, and all that came of it. */
  #afterwards(): void {
    if (this.#core.role === 'leading') this.#standsBySince = this.#around.runtime.now();
    else this.#sayWhomItFollows();
    this.#waiters.look();
  }

  #sayWhomItFollows(): void {
    const { store } = this.#around;
    const { leader } = this;
    if (this.#core.role !== 'standby' || !store.isShared) return;
    if (leader === undefined || leader.id === this.id) return;
    const term = store.elected?.term ?? this.#core.state.reign.term;
    const followed = `${leader.id} in term ${term}`;
    if (followed === this.#followed) return;
    this.#followed = followed;
    this.#watch.follows(leader, term);
  }

  /** So that a standby knows how far behind it is, also when no look-up asks. */
  #lookAtHead(): void {
    const { runtime } = this.#around;
    this.#driver.input((now) => this.#core.lookAtHead(now));
    this.#nextLook = runtime.wakeAt(later(runtime.now(), LOOK_EVERY_MS), () => this.#lookAtHead());
  }

  /** It knows by what it remembers; whoever would lead next, also itself after a restart, by what is in the store. */
  #noteHalt(why: string): void {
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
