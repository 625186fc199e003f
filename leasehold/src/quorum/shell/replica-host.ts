/**
 * A replica as part of a real process: the driver of every core, a journal on files, and callers that wait for answers.
 *
 *     calls ──┐                ┌──► journal on files ──► synced
 *     links ──┼──► Replica ────┼──► links
 *     timer ──┘                ├──► answers, one packet per caller and turn
 *                              └──► changes, for watches
 *
 * If the disk is full, the frame is written again until there is room; meanwhile nothing is acknowledged, this replica gives up its read
 * leases and the leadership (`core/room.ts`), and the others go on without it. If the disk fails otherwise, the replica ends: after a failed
 * sync nobody knows which frames are durable.
 */

import { isFull } from '../../log/file/errors.ts';
import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import { alarmOn, Driver } from '../../runtime/driver.ts';
import { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import { later } from '../../runtime/time.ts';
import type { Answer } from '../core/answer.ts';
import type { Peeked } from '../core/reads.ts';
import type { Found } from '../core/result.ts';
import type { Configuration, Member } from '../core/configuration.ts';
import type { Effect } from '../core/context.ts';
import type { TakenOver } from '../core/copy.ts';
import type { Frame } from '../core/journal.ts';
import type { Revision } from '../core/operation.ts';
import type { ClaimEvents } from '../fenced-log/port.ts';
import { SUSPENSION_NOTICED_MS } from '../core/leases.ts';
import type { Change } from '../core/membership.ts';
import type { Message } from '../core/messages.ts';
import type { QuorumLimits, ResolvedQuorumDurations } from '../core/options.ts';
import type { Recovered } from '../core/recovery.ts';
import { answerOf, CheckIn, newestConfiguration } from '../core/check-in.ts';
import { nameOf } from '../core/founding.ts';
import { Repair } from '../core/repair.ts';
import { type Snapshot, type SnapshotPart, wholePart } from '../core/snapshot.ts';
import { Replica, type ReplicaCall } from '../core/replica.ts';
import type { JournalDisk } from '../disk/journal-disk.ts';
import { HistoriesDifferError, VotesLostError } from '../errors.ts';
import { ChangeHistory, type HistoryEvents } from './change-history.ts';

/** Where answers go. They are collected during an input, and flushed after it. */
export interface AnswerPort {
  answered(id: number, answer: Answer): void;
  flush(): void;
}

export interface ReplicaHostOptions {
  readonly storage: string;
  readonly life: number;
  /** Where the directory is, for errors. */
  readonly path: string;
  /** The journal was begun by this process: for a founder, or for a storage id that this process drew. */
  readonly isNew: boolean;
  /** The files are not those that this replica wrote: they were copied or restored. */
  readonly isCopy: boolean;
  readonly initial: Configuration;
  /** Read again and again: replicas that are heard of later are added. */
  readonly contacts: readonly string[];
  readonly durations: ResolvedQuorumDurations;
  readonly limits: QuorumLimits;
  readonly disk: JournalDisk;
  readonly runtime: Runtime;
  readonly logger: Logger;
  send(to: string, message: Message): void;
  /** The changes of the next committed slot. */
  readonly watched: HistoryEvents;
  /** After every input. */
  settled(): void;
  /** The replica cannot go on. */
  failed(error: LeaseholdError): void;
  /** The directory has every vote: the other members confirm that, and a copy has got everything that may have been forgotten. */
  confirmed(): void;
  /** The member has heard of votes that the directory does not have. */
  refused(by: string): void;
}

/** Counts since the start. */
export interface HostCounters {
  readonly served: Record<'local' | 'held' | 'leader' | 'quorum' | 'log' | 'stale', number>;
  writes: number;
  refused: number;
  suspensions: number;
}

const FULL_RETRY_MS = 250;

const NOBODY: ReadonlyMap<string, number> = new Map();

/** After so long the operator is told which slots are missing. */
const TOLD_OF_REPAIR_MS = 10_000;

const TOO_OLD =
  'the slots that a damaged frame held are in no journal of the others any more, and their state is too large to be sent at once';

export class ReplicaHost {
  readonly counters: HostCounters = {
    served: { local: 0, held: 0, leader: 0, quorum: 0, log: 0, stale: 0 },
    writes: 0,
    refused: 0,
    suspensions: 0,
  };
  readonly #options: ReplicaHostOptions;
  readonly #waiting = new Map<number, { readonly port: AnswerPort; readonly id: number }>();
  readonly #dirty = new Set<AnswerPort>();
  #stage: CheckingIn | Repairing | Running;
  #ids = 0;
  #claim: { readonly revision: Revision; readonly events: ClaimEvents } | undefined;
  #isFull = false;
  #isOver = false;
  /** The clocks that the log said to be too fast. */
  #tooFast = NOBODY;
  #vouched: readonly string[] = [];
  #takenOver: TakenOver | undefined;
  #telling: Disposable | undefined;
  #writing: Promise<void> = Promise.resolve();
  #saving: Promise<void> = Promise.resolve();

  /** @param recovered not kept: the state in it may be large, and old soon */
  constructor(options: ReplicaHostOptions, recovered: Recovered) {
    this.#options = options;
    this.#stage = this.#checkIn(recovered);
    const { driver, core } = this.#stage;
    driver.input((now) => core.wake(now));
  }

  get stage(): 'checking-in' | 'repairing' | 'running' {
    return this.#stage.kind;
  }

  /** The members that have not yet said what they heard of this replica. */
  get awaited(): readonly string[] {
    return this.#stage.kind === 'checking-in' ? this.#stage.core.awaited : [];
  }

  /** Storage ids and seats of the members, as far as this replica knows; empty if none are known. */
  get members(): readonly Member[] {
    const stage = this.#stage;
    if (stage.kind === 'running') return stage.core.view.log.newestConfiguration.members;
    return stage.kind === 'checking-in'
      ? stage.core.electorate.members
      : newestConfiguration(stage.core.recovered, this.#options.initial).configuration.members;
  }

  /** The core, once it has everything that its disk lost. */
  get replica(): Replica | undefined {
    return this.#stage.kind === 'running' ? this.#stage.core : undefined;
  }

  get history(): ChangeHistory | undefined {
    return this.#stage.kind === 'running' ? this.#stage.history : undefined;
  }

  get isDiskFull(): boolean {
    return this.#isFull;
  }

  receive(storage: string, message: Message): void {
    const stage = this.#stage;
    if (stage.kind !== 'repairing') stage.driver.input((now) => stage.core.receive(storage, message, now));
    else {
      if (message.kind === 'check-in') {
        const { initial } = this.#options;
        const { recovered } = stage.core;
        const { leaseMs } = this.#options.durations;
        this.#options.send(storage, answerOf(recovered, initial, leaseMs, storage, message.nonce));
      }
      stage.driver.input(() => stage.core.receive(storage, message));
      const { repaired, isHopeless } = stage.core;
      if (repaired !== undefined) {
        stage.driver.stop();
        const { snapshot } = repaired;
        const isFetched = snapshot !== stage.core.recovered.snapshot;
        this.#saving = this.#runRepaired(repaired, isFetched ? snapshot : undefined);
      } else if (isHopeless) {
        this.stop();
        this.#options.failed(new VotesLostError(this.#options.path, TOO_OLD));
      }
    }
  }

  /** What was fetched is durable before anything is said: at the next start there may be nobody left to ask. */
  async #runRepaired(repaired: Recovered, fetched: Snapshot | undefined): Promise<void> {
    const { disk, logger, failed } = this.#options;
    try {
      if (fetched !== undefined) await disk.save(wholePart(fetched));
    } catch (error) {
      if (this.#isOver) return;
      this.stop();
      failed(error as LeaseholdError);
      return;
    }
    if (this.#isOver) return;
    logger.info('the slots that the disk had lost were fetched from another replica', {
      chosen: repaired.chosen,
    });
    const running = this.#run(repaired);
    this.#stage = running;
    running.driver.input((now) => running.core.wake(now));
  }

  /** Calls that arrived together. While the disk is being repaired they are refused. */
  takeAll(calls: readonly ReplicaCall[], port: AnswerPort): void {
    const stage = this.#stage;
    if (stage.kind !== 'running' || this.#isOver) {
      for (const { id } of calls) port.answered(id, { kind: 'refused', why: 'not-ready' });
      port.flush();
      return;
    }
    const numbered = calls.map((call): ReplicaCall => {
      const id = this.#remember(port, call.id);
      if (call.kind === 'read') return { kind: 'read', id, mode: call.mode, keys: call.keys };
      const { session, number, answeredBelow, command } = call;
      return { kind: 'submit', id, session, number, answeredBelow, command };
    });
    stage.driver.input((now) => stage.core.takeAll(numbered, now));
  }

  /** What a read of one key under the lease finds; undefined if there is no answer at once. */
  peek(key: string): Peeked | undefined {
    const stage = this.#stage;
    if (stage.kind !== 'running') return undefined;
    const now = stage.driver.look();
    const peeked = now === undefined ? undefined : stage.core.peek(key, now);
    if (peeked !== undefined) this.counters.served.local += 1;
    return peeked;
  }

  /** The same for several keys; undefined in the place of each key without an answer. */
  peekEach(keys: readonly string[]): (Found | undefined)[] {
    const stage = this.#stage;
    const none = new Array<Found | undefined>(keys.length);
    if (stage.kind !== 'running' || this.#isOver) return none;
    const now = stage.driver.look();
    if (now === undefined) return none;
    const all = keys.map((key) => stage.core.peek(key, now)?.found);
    for (const each of all) if (each !== undefined) this.counters.served.local += 1;
    return all;
  }

  /** Claims a key: see `core/key-claim.ts`. Disposing ends the claim without an event. */
  claim(key: string, revision: Revision, events: ClaimEvents): Disposable {
    const stage = this.#stage;
    this.#claim = { revision, events };
    if (stage.kind === 'running') stage.driver.input((now) => stage.core.claim({ key, revision }, now));
    return {
      [Symbol.dispose]: () => {
        if (this.#claim?.revision !== revision) return;
        this.#claim = undefined;
        if (stage.kind === 'running') stage.driver.input((now) => stage.core.claim(undefined, now));
      },
    };
  }

  change(change: Change, port: AnswerPort, callId: number): void {
    const stage = this.#stage;
    if (stage.kind === 'running') {
      const id = this.#remember(port, callId);
      stage.driver.input((now) => stage.core.reconfigure(id, change, now));
    } else port.answered(callId, { kind: 'refused', why: 'not-ready' });
  }

  transfer(to: string): void {
    const stage = this.#stage;
    if (stage.kind === 'running') stage.driver.input((now) => stage.core.transfer(to, now));
  }

  /** Stops reading and says so, finishes the frame that is being written, and does nothing after that. */
  async close(): Promise<void> {
    const stage = this.#stage;
    if (stage.kind === 'running') stage.driver.input((now) => stage.core.release(now));
    this.stop();
    await this.#writing;
    await this.#saving;
  }

  /** Nothing more is done or said. */
  stop(): void {
    this.#isOver = true;
    this.#telling?.[Symbol.dispose]();
    this.#stage.driver.stop();
  }

  #remember(port: AnswerPort, id: number): number {
    this.#ids += 1;
    this.#waiting.set(this.#ids, { port, id });
    return this.#ids;
  }

  #afterCheckIn(recovered: Recovered): Repairing | Running {
    return recovered.missing === undefined ? this.#run(recovered) : this.#repair(recovered);
  }

  #checkIn(recovered: Recovered): CheckingIn {
    const { storage: self, initial, contacts, isCopy, isNew, durations, runtime } = this.#options;
    const nonce = Math.floor(runtime.random() * 2 ** 48);
    const { electionMs, leaseMs } = durations;
    const core = new CheckIn(
      { self, recovered, initial, contacts, isCopy, isNew, electionMs, leaseMs, nonce },
      runtime.now(),
    );
    const driver = new Driver<Effect>({
      ...{ core, clock: runtime, guard: new SuspensionGuard(runtime, SUSPENSION_NOTICED_MS) },
      alarm: (wake) => alarmOn(runtime, wake),
      execute: (effect) => this.#execute(effect),
      afterInput: () => this.#lookAtCheckIn(core, recovered),
    });
    return { kind: 'checking-in', core, driver };
  }

  #lookAtCheckIn({ verdict, members }: CheckIn, recovered: Recovered): void {
    if (verdict.is === 'open' || this.#stage.kind !== 'checking-in' || this.#isOver) return;
    this.#stage.driver.stop();
    if (verdict.is === 'refused') {
      this.stop();
      this.#options.refused(verdict.by);
      return;
    }
    this.#takenOver = verdict.takenOver;
    if (this.#takenOver === undefined) this.#options.confirmed();
    this.#vouched = members;
    const next = this.#afterCheckIn(recovered);
    this.#stage = next;
    next.driver.input((now) => next.core.wake(now));
  }

  #repair(recovered: Recovered): Repairing {
    const { contacts, durations, runtime } = this.#options;
    const core = new Repair(recovered, contacts, durations.electionMs, runtime.now());
    const driver = new Driver<Effect>({
      ...{ core, clock: runtime, guard: new SuspensionGuard(runtime, SUSPENSION_NOTICED_MS) },
      alarm: (wake) => alarmOn(runtime, wake),
      execute: (effect) => this.#execute(effect),
    });
    this.#telling = runtime.wakeAt(later(runtime.now(), TOLD_OF_REPAIR_MS), () => {
      if (this.#isOver || this.#stage.kind !== 'repairing') return;
      const { first, last } = core.missing;
      this.#options.logger.warn(
        'slots that the disk lost were sent by no other replica yet. Start all replicas: one that has them in its journal or in a snapshot is enough',
        { first, last, asked: contacts.map(nameOf).join(', ') },
      );
    });
    return { kind: 'repairing', core, driver };
  }

  #run(recovered: Recovered): Running {
    const { storage: self, life, initial, contacts, durations, limits, runtime } = this.#options;
    const vouched = this.#vouched;
    const takenOver = this.#takenOver;
    const options = { self, life, recovered, initial, contacts, durations, limits, vouched, takenOver };
    const core = new Replica({ ...options, random: () => runtime.random() }, runtime.now());
    const driver = new Driver<Effect>({
      ...{ core, clock: runtime, guard: new SuspensionGuard(runtime, SUSPENSION_NOTICED_MS) },
      alarm: (wake) => alarmOn(runtime, wake),
      execute: (effect) => this.#execute(effect),
      suspended: () => {
        this.counters.suspensions += 1;
        this.#options.logger.warn('this machine was suspended; local reads begin again with new promises');
      },
      afterInput: () => this.#flush(),
    });
    const history = new ChangeHistory(core.view.log.base, this.#options.watched);
    return { kind: 'running', core, driver, history };
  }

  #execute(effect: Effect): void {
    switch (effect.do) {
      case 'send':
        this.#options.send(effect.to, effect.message);
        return;
      case 'persist':
        this.#writing = this.#persist(effect.frame);
        return;
      case 'save':
        this.#saving = this.#save(effect.part);
        return;
      case 'answer':
        this.#answer(effect.id, effect.answer);
        return;
      case 'show':
        this.history?.show(effect.slot, effect.operation, effect.results);
        return;
      case 'claim-extended':
        if (this.#claim?.revision === effect.revision) this.#claim.events.extended(effect.until);
        return;
      case 'claim-ended':
        if (this.#claim?.revision === effect.revision) this.#claim.events.ended(effect.why);
        return;
      case 'installed':
        this.history?.installed(effect.slot);
        return;
      case 'differs':
        this.stop();
        this.#options.failed(new HistoriesDifferError(this.#options.path, effect.slot, nameOf(effect.from)));
        return;
      case 'complete':
        this.#options.confirmed();
        return;
      case 'trace':
        this.#options.logger.debug(effect.event.what, effect.event.facts);
        return;
    }
  }

  /** The answer to a read with a position from which a watch misses nothing: {@link ReplicatedLog.watchFrom}. */
  #watchable(answer: Answer): Answer {
    const { replica } = this;
    if (answer.kind !== 'read' || replica === undefined) return answer;
    return { ...answer, position: replica.view.log.watchFrom(answer.position) };
  }

  #answer(id: number, answer: Answer): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    if (answer.kind === 'read') this.counters.served[answer.served] += 1;
    else if (answer.kind === 'refused') this.counters.refused += 1;
    else this.counters.writes += 1;
    waiting.port.answered(waiting.id, this.#watchable(answer));
    this.#dirty.add(waiting.port);
  }

  #flush(): void {
    for (const port of this.#dirty) port.flush();
    this.#dirty.clear();
    this.#lookAtClocks();
    this.#options.settled();
  }

  #lookAtClocks(): void {
    const tooFast = this.replica?.view.clocks.tooFast ?? NOBODY;
    const before = this.#tooFast;
    if (tooFast === before) return;
    this.#tooFast = tooFast;
    const { logger } = this.#options;
    for (const [storage, rate] of tooFast)
      if (!before.has(storage))
        logger.error('a clock runs too fast beside the one here: promises of that replica do not count', {
          ...{ replica: nameOf(storage), timesAsFast: Math.floor(100 * rate) / 100, bound: CLOCK_RATE_BOUND },
        });
    for (const storage of before.keys())
      if (!tooFast.has(storage))
        logger.warn('a clock that ran too fast is within the bound again', { replica: nameOf(storage) });
  }

  async #persist(frame: Frame): Promise<void> {
    const { disk, logger } = this.#options;
    for (let isWritten = false; !isWritten; ) {
      try {
        await disk.write(frame);
        isWritten = true;
      } catch (error) {
        if (this.#isOver) return;
        if (!isFull(error)) {
          if (!(error instanceof LeaseholdError)) throw error;
          this.stop();
          this.#options.failed(error);
          return;
        }
        this.#diskFull();
        await this.#pause(FULL_RETRY_MS);
        if (this.#isOver) return;
      }
    }
    if (this.#isFull) logger.warn('there is room on the disk again');
    this.#isFull = false;
    const stage = this.#stage;
    if (stage.kind === 'running') stage.driver.input((now) => stage.core.synced(now));
  }

  #diskFull(): void {
    if (this.#isFull) return;
    this.#isFull = true;
    this.#options.logger.error('the disk is full: this replica acknowledges nothing until there is room');
    const stage = this.#stage;
    if (stage.kind === 'running') stage.driver.input((now) => stage.core.diskFull(now));
  }

  /** Beside the frames: a replica that writes its state goes on serving. */
  async #save(part: SnapshotPart): Promise<void> {
    let isFailed = false;
    try {
      await this.#options.disk.save(part);
    } catch (error) {
      if (this.#isOver) return;
      if (!isFull(error)) {
        if (!(error instanceof LeaseholdError)) throw error;
        this.stop();
        this.#options.failed(error);
        return;
      }
      isFailed = true;
      this.#options.logger.warn('no room for a snapshot: the journal grows until there is', {
        slot: part.slot,
      });
    }
    const stage = this.#stage;
    if (stage.kind === 'running')
      stage.driver.input((now) => (isFailed ? stage.core.saveFailed(now) : stage.core.saved(now)));
  }

  #pause(ms: number): Promise<void> {
    const { runtime } = this.#options;
    return new Promise((resolve) => {
      runtime.wakeAt(later(runtime.now(), ms), resolve);
    });
  }
}

interface CheckingIn {
  readonly kind: 'checking-in';
  readonly core: CheckIn;
  readonly driver: Driver<Effect>;
}

interface Repairing {
  readonly kind: 'repairing';
  readonly core: Repair;
  readonly driver: Driver<Effect>;
}

interface Running {
  readonly kind: 'running';
  readonly core: Replica;
  readonly driver: Driver<Effect>;
  readonly history: ChangeHistory;
}
