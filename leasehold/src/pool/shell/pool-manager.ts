/**
 * One Manager in a running process: the core of `manager/manager.ts` with a log, a port, and people
 * who want to know how it is.
 */

import type { FileLog } from '../../log/file/file-log.ts';
import { ProcessMonitor } from '../../node/http/process-usage.ts';
import { randomId } from '../../node/id.ts';
import type { TcpCounters } from '../../node/tcp/counters.ts';
import { alarmOn } from '../../runtime/driver.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime, Transport } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import type { Instant } from '../../runtime/time.ts';
import type { TraceEvent } from '../../runtime/trace.ts';
import { ManagerCounters } from '../http/counters.ts';
import { EventLog } from '../http/event-log.ts';
import { type Change, type Reasons, reasonsIn } from '../http/events.ts';
import { Recorder } from '../http/recorder.ts';
import type { ApiSource } from '../http/source.ts';
import { ManagerDriver, type ManagerWatcher } from '../manager/driver.ts';
import { Manager } from '../manager/manager.ts';
import type { ManagerObservation, OwnerObservation } from '../manager/observation.ts';
import type { FromManager, ToManager } from '../messages.ts';
import { decodeBatch } from '../state.ts';
import { VERSION } from '../version.ts';
import {
  type ManagerConfiguration,
  type ResolvedConfiguration,
  resolveConfiguration,
  settingsOf,
} from './configuration.ts';
import { ClosedError } from './errors.ts';
import { namesakesIn } from './namesakes.ts';
import { Waiters } from './waiters.ts';

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

/** `docs/production-one-machine.md` has it at length. */
const AFTER_A_HALT =
  'find out whether an old copy of the data directory was put back, or the disk lost what it had written. Then ' +
  'stop the Manager and all owners, wait a hold, and start with an empty directory: every lease and all lease ' +
  'numbers begin anew, and look-ups report everything as lost. Another copy of the directory does not mend it: ' +
  'this Manager may have served somebody from the older one';

export class PoolManager implements AsyncDisposable {
  /** What the HTTP API is made of. @internal */
  readonly source: ApiSource;
  readonly #around: ManagerSurroundings;
  readonly #core: Manager;
  readonly #guard: SuspensionGuard;
  readonly #driver: ManagerDriver;
  readonly #counters = new ManagerCounters();
  readonly #recorder: Recorder;
  readonly #usage = new ProcessMonitor();
  readonly #waiters = new Waiters();
  readonly #events: EventLog;
  #configuration: ResolvedConfiguration;
  /** The batch being written, and since when. */
  #writing: { readonly bytes: Uint8Array; readonly at: Instant } | undefined;
  #failure: LeaseholdError | undefined;
  #owned: AsyncDisposable | undefined;
  #closed: Promise<void> | undefined;
  #url: string | undefined;

  /** @internal */
  constructor(around: ManagerSurroundings) {
    const { id, configuration, runtime, log, listener } = around;
    this.#around = around;
    this.#configuration = configuration;
    this.#events = new EventLog({ epoch: randomId(4) });
    this.#recorder = new Recorder(this.#events, this.#counters, () => runtime.wallMs());
    this.#core = new Manager(settingsOf(id, configuration, log));
    this.source = this.#apiSource();
    this.#guard = new SuspensionGuard(runtime, shortestTolerance(configuration));
    this.#driver = new ManagerDriver({
      core: this.#core,
      clock: runtime,
      guard: this.#guard,
      alarm: (wake) => alarmOn(runtime, wake),
      ...{ log, transport: listener },
      candidate: (campaign) => `${id}.${randomId(4)}.${campaign}`,
      watcher: this.#watcher(),
    });
  }

  get id(): string {
    return this.#around.id;
  }

  /** `host:port`, for owners and look-ups. */
  get address(): string {
    const { host, port } = this.#around.listener;
    return `${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  /** Where the HTTP API and the page are; undefined if they are nowhere. */
  get httpUrl(): string | undefined {
    return this.#url;
  }

  /** What somebody who watches can see. */
  observe(): ManagerObservation {
    return this.#core.observe();
  }

  /** Does as it is told from here on. What is left out goes back to its default. */
  configure(configuration: ManagerConfiguration): void {
    const resolved = resolveConfiguration(configuration);
    const { id, log, logger } = this.#around;
    this.#configuration = resolved;
    this.#guard.toleranceMs = shortestTolerance(resolved);
    this.#driver.input((now) => this.#core.configure(settingsOf(id, resolved, log), now));
    logger.info('the configuration was changed', { pools: [...resolved.pools.keys()].join(', ') });
  }

  /** Rejects when it cannot go on; pending for as long as it can. */
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

  #watcher(): ManagerWatcher {
    const { runtime, logger } = this.#around;
    const counters = this.#counters;
    return {
      receives: (_, { kind }) => {
        if (kind === 'report') counters.reports += 1;
        else if (kind === 'sync') counters.syncs += 1;
        else counters.certificatesReceived += 1;
      },
      sends: (_, message) => {
        if (message.kind === 'update') counters.updates += 1;
        else if (message.kind === 'certified') counters.certificatesAccepted += 1;
        else if (message.kind === 'changes' && message.answers === undefined) counters.pushes += 1;
        else if (message.kind === 'changes') counters.answers += 1;
      },
      writes: (bytes) => (this.#writing = { bytes, at: runtime.now() }),
      wrote: (outcome) => this.#wrote(outcome),
      compacts: () => (counters.compactions += 1),
      elected: () => {},
      halted: (why) => logger.error('halted', { why, next: AFTER_A_HALT }),
      traced: (event) => this.#traced(event),
      afterwards: () => {
        const { id } = this.#around;
        const { role, haltedBecause, state } = this.#core;
        const glimpse = { id, role, haltedBecause, state, term: this.#core.term ?? state.term };
        const changes = this.#recorder.see(glimpse, this.#reasons());
        if (changes.length > 0) this.#warnOfNamesakes(changes);
        this.#waiters.look();
      },
    };
  }

  #warnOfNamesakes(changes: readonly Change[]): void {
    const { runtime, logger } = this.#around;
    const core = this.#core;
    const renewEveryMs = (pool: string): number => this.source.settings(pool).durations.renewEveryMs;
    const owners = (): readonly OwnerObservation[] => core.observe().owners;
    const found = namesakesIn(changes, core.state, owners, renewEveryMs, runtime.now());
    for (const { pool, earlier, later, heardAgoMs } of found) {
      logger.warn('two owners have one name: the later gets its keys', {
        ...{ pool, name: later.name, earlier: earlier.incarnation, earlierUrl: earlier.url },
        ...{ earlierHeardAgoMs: Math.round(heardAgoMs), later: later.incarnation, laterUrl: later.url },
        next: 'if both are running, stop one or give it a name of its own; if the earlier has just crashed, this is its restart, and a lock file or a supervisor would prove it',
      });
    }
  }

  /** Why members left, by the batch that was just written; read only if somebody did. */
  #reasons(): Reasons {
    const bytes = this.#writing?.bytes;
    let reasons: Reasons | undefined;
    return (pool, incarnation) => {
      if (bytes === undefined) return undefined;
      reasons ??= reasonsIn([decodeBatch(bytes)]);
      return reasons(pool, incarnation);
    };
  }

  #wrote(outcome: 'appended' | 'refused'): void {
    const counters = this.#counters;
    const writing = this.#writing;
    if (outcome === 'refused') counters.commitsRefused += 1;
    else if (writing !== undefined) {
      counters.commits += 1;
      counters.commitBytes += writing.bytes.length;
      counters.commitSeconds.observe((this.#around.runtime.now() - writing.at) / 1_000);
    }
  }

  #traced({ what, facts }: TraceEvent): void {
    if (what === 'deposed') this.#counters.suspensions += facts['reason'] === 'resigned' ? 1 : 0;
    const isNews = what === 'elected' || what === 'deposed' || what === 'halted';
    this.#around.logger[isNews ? 'info' : 'debug'](what, facts);
  }

  #apiSource(): ApiSource {
    const { runtime, listener, log, directory } = this.#around;
    const core = this.#core;
    const configuration = () => this.#configuration;
    return {
      version: VERSION,
      startedAtMs: runtime.wallMs(),
      get createPools() {
        return configuration().createPools;
      },
      counters: this.#counters,
      events: this.#events,
      now: () => runtime.now(),
      wallMs: () => runtime.wallMs(),
      observe: () => core.observe(),
      declaredPools: () => [...configuration().pools.keys()],
      settings: (pool) => configuration().pools.get(pool) ?? configuration().defaults,
      store: () => ({ kind: directory === undefined ? 'memory' : 'file', directory, bytes: log.stats.bytes }),
      traffic: () => {
        const { opened, closed, refused, bytesIn, bytesOut, dropped, malformed } = listener.counters;
        return {
          connections: opened - closed,
          connectionsAccepted: opened,
          connectionsRefused: refused,
          ...{ bytesIn, bytesOut, messagesDropped: dropped, messagesMalformed: malformed },
        };
      },
      process: () => this.#usage.usage(),
      whyNotReady: () => this.#whyNotReady(),
    };
  }

  #whyNotReady(): string | undefined {
    if (this.#failure !== undefined) return this.#failure.message;
    if (this.#core.role === 'halted') return this.#core.haltedBecause;
    return this.#core.role === 'leading' ? undefined : 'it does not lead yet';
  }
}

function shortestTolerance({ defaults, pools }: ResolvedConfiguration): number {
  const tolerances = [defaults, ...pools.values()].map(({ durations }) => durations.suspensionToleranceMs);
  return Math.min(...tolerances);
}
