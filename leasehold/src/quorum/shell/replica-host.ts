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
import { Repair, type RepairProgress } from '../core/repair.ts';
import type { SnapshotPart } from '../core/snapshot.ts';
import { Replica, type ReplicaCall } from '../core/replica.ts';
import type { JournalDisk } from './disk/journal-disk.ts';
import { historiesDiffer } from '../core/errors.ts';
import { ChangeHistory, type HistoryEvents } from './change-history.ts';
import type { CheckingIn, Confirmed, Opened, Repairing, ReplicaLife, Running } from './replica-life.ts';

/** Where answers go. They are collected during an input, and flushed after it. */
export interface AnswerPort {
  answered(id: number, answer: Answer): void;
  flush(): void;
}

export interface ReplicaHostOptions {
  /** The host goes through its stages from `checking-in` to `running`, and does nothing once it is over. */
  readonly life: ReplicaLife;
  readonly storage: string;
  /** How often the directory was opened, this time included. */
  readonly incarnation: number;
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
  readonly served: Record<'local' | 'held' | 'leader' | 'quorum' | 'log' | 'weak', number>;
  writes: number;
  refused: number;
  suspensions: number;
}

const FULL_RETRY_MS = 250;

const NOBODY: ReadonlyMap<string, number> = new Map();

/** So often the operator is told how far a repair is. */
const TOLD_OF_REPAIR_MS = 10_000;

export class ReplicaHost {
  readonly counters: HostCounters = {
    served: { local: 0, held: 0, leader: 0, quorum: 0, log: 0, weak: 0 },
    writes: 0,
    refused: 0,
    suspensions: 0,
  };
  readonly #options: ReplicaHostOptions;
  readonly #waiting = new Map<number, { readonly port: AnswerPort; readonly id: number }>();
  readonly #dirty = new Set<AnswerPort>();
  readonly #life: ReplicaLife;
  #ids = 0;
  #claim: { readonly revision: Revision; readonly events: ClaimEvents } | undefined;
  #isFull = false;
  /** The clocks that the log said to be too fast. */
  #tooFast = NOBODY;
  #telling: Disposable | undefined;
  #writing: Promise<void> = Promise.resolve();
  #saving: Promise<void> = Promise.resolve();

  /** @param recovered not kept: the state in it may be large, and old soon */
  constructor(options: ReplicaHostOptions, recovered: Recovered) {
    this.#options = options;
    this.#life = options.life;
    const checkingIn = this.#checkIn(recovered);
    this.#life.enter(checkingIn);
    checkingIn.driver.input((now) => checkingIn.core.wake(now));
  }

  get stage(): Opened['kind'] | undefined {
    return this.#life.opened?.kind;
  }

  /** The members that have not yet said what they heard of this replica. */
  get awaited(): readonly string[] {
    const opened = this.#life.opened;
    return opened?.kind === 'checking-in' ? opened.core.awaited : [];
  }

  /** Storage ids and seats of the members, as far as this replica knows; empty if none are known. */
  get members(): readonly Member[] {
    const opened = this.#life.opened;
    if (opened === undefined) return [];
    if (opened.kind === 'running') return opened.core.view.log.newestConfiguration.members;
    return opened.kind === 'checking-in'
      ? opened.core.electorate.members
      : newestConfiguration(opened.core.recovered, this.#options.initial).configuration.members;
  }

  /** How far the repair of the journal is; undefined unless one is under way. */
  get repair(): RepairProgress | undefined {
    const opened = this.#life.opened;
    return opened?.kind === 'repairing' || opened?.kind === 'keeping' ? opened.core.progress : undefined;
  }

  /** The core, once it has everything that its disk lost. */
  get replica(): Replica | undefined {
    const opened = this.#life.opened;
    return opened?.kind === 'running' ? opened.core : undefined;
  }

  get history(): ChangeHistory | undefined {
    const opened = this.#life.opened;
    return opened?.kind === 'running' ? opened.history : undefined;
  }

  get isDiskFull(): boolean {
    return this.#isFull;
  }

  receive(storage: string, message: Message): void {
    const { stage } = this.#life;
    if (stage.kind === 'checking-in' || stage.kind === 'running') {
      stage.driver.input((now) => stage.core.receive(storage, message, now));
      return;
    }
    if (stage.kind !== 'repairing' && stage.kind !== 'keeping') return;
    if (message.kind === 'check-in') {
      const { initial, durations } = this.#options;
      const answer = answerOf(
        ...([stage.core.recovered, initial, durations.leaseMs, storage, message.nonce] as const),
      );
      this.#options.send(storage, answer);
    }
    if (stage.kind === 'repairing') this.#repairing(stage, storage, message);
  }

  #repairing({ core, driver, confirmed }: Repairing, storage: string, message: Message): void {
    driver.input((now) => core.receive(storage, message, now));
    const { repaired, parts, progress } = core;
    if (repaired === undefined) return;
    this.#telling?.[Symbol.dispose]();
    this.#life.enter({ kind: 'keeping', core });
    this.#saving = this.#runRepaired(repaired, confirmed, parts, progress);
  }

  /** What was fetched is durable before anything is said: at the next start there may be nobody left to ask. */
  async #runRepaired(
    repaired: Recovered,
    confirmed: Confirmed,
    parts: readonly SnapshotPart[],
    { slots, bytes }: RepairProgress,
  ): Promise<void> {
    const { disk, logger, failed } = this.#options;
    try {
      for (const part of parts) await disk.save(part);
    } catch (error) {
      if (!this.#life.isOver) failed(error as LeaseholdError);
      return;
    }
    if (this.#life.isOver) return;
    logger.info('the slots that the disk had lost were fetched from other replicas', {
      ...{ slots, bytes, chosen: repaired.chosen },
    });
    this.#begin(this.#run(repaired, confirmed));
  }

  /** Calls that arrived together. While the disk is being repaired they are refused. */
  takeAll(calls: readonly ReplicaCall[], port: AnswerPort): void {
    const { stage } = this.#life;
    if (stage.kind !== 'running') {
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
    const { stage } = this.#life;
    if (stage.kind !== 'running') return undefined;
    const now = stage.driver.look();
    const peeked = now === undefined ? undefined : stage.core.peek(key, now);
    if (peeked !== undefined) this.counters.served.local += 1;
    return peeked;
  }

  /** The same for several keys; undefined in the place of each key without an answer. */
  peekEach(keys: readonly string[]): (Found | undefined)[] {
    const { stage } = this.#life;
    const none = new Array<Found | undefined>(keys.length);
    if (stage.kind !== 'running') return none;
    const now = stage.driver.look();
    if (now === undefined) return none;
    const all = keys.map((key) => stage.core.peek(key, now)?.found);
    for (const each of all) if (each !== undefined) this.counters.served.local += 1;
    return all;
  }

  /** Claims a key: see `core/key-claim.ts`. Disposing ends the claim without an event. */
  claim(key: string, revision: Revision, events: ClaimEvents): Disposable {
    const { stage } = this.#life;
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
    const { stage } = this.#life;
    if (stage.kind === 'running') {
      const id = this.#remember(port, callId);
      stage.driver.input((now) => stage.core.reconfigure(id, change, now));
    } else port.answered(callId, { kind: 'refused', why: 'not-ready' });
  }

  /** Another member is to lead; undefined: the one that has most of the log. */
  stepDown(to: string | undefined): void {
    const { stage } = this.#life;
    if (stage.kind === 'running') stage.driver.input((now) => stage.core.stepDown(to, now));
  }

  /** Stops reading and says so, and finishes the frame that is being written. */
  async close(): Promise<void> {
    const { stage } = this.#life;
    if (stage.kind === 'running') stage.driver.input((now) => stage.core.release(now));
    this.#life.closed();
    this.over();
    await this.#writing;
    await this.#saving;
  }

  /** The life is over: nothing is told of it any more. */
  over(): void {
    this.#telling?.[Symbol.dispose]();
  }

  #remember(port: AnswerPort, id: number): number {
    this.#ids += 1;
    this.#waiting.set(this.#ids, { port, id });
    return this.#ids;
  }

  #begin(next: Repairing | Running): void {
    this.#life.enter(next);
    next.driver.input((now) => next.core.wake(now));
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
    if (verdict.is === 'open' || this.#life.stage.kind !== 'checking-in') return;
    if (verdict.is === 'refused') {
      this.#options.refused(verdict.by);
      return;
    }
    const { takenOver } = verdict;
    if (takenOver === undefined) this.#options.confirmed();
    const confirmed = { takenOver, vouched: members };
    const isWhole = recovered.missing.length === 0;
    this.#begin(isWhole ? this.#run(recovered, confirmed) : this.#repair(recovered, confirmed));
  }

  #repair(recovered: Recovered, confirmed: Confirmed): Repairing {
    const { contacts, durations, runtime } = this.#options;
    const core = new Repair(recovered, contacts, durations.electionMs, runtime.now());
    const driver = new Driver<Effect>({
      ...{ core, clock: runtime, guard: new SuspensionGuard(runtime, SUSPENSION_NOTICED_MS) },
      alarm: (wake) => alarmOn(runtime, wake),
      execute: (effect) => this.#execute(effect),
    });
    this.#options.logger.warn('the disk lost slots that are chosen: they are fetched from other replicas', {
      slots: core.progress.slots,
      spans: recovered.missing.map(({ first, last }) => `${first} to ${last}`).join(', '),
    });
    this.#tellOf(core, 0);
    return { kind: 'repairing', core, driver, confirmed };
  }

  /** Again and again, until the repair is over. */
  #tellOf(core: Repair, bytesBefore: number): void {
    const { logger, contacts, runtime } = this.#options;
    this.#telling = runtime.wakeAt(later(runtime.now(), TOLD_OF_REPAIR_MS), () => {
      if (this.#life.isOver || core.repaired !== undefined) return;
      const { slots, fetched, bytes, next, from } = core.progress;
      if (bytes > bytesBefore)
        logger.info('slots that the disk lost are being fetched', {
          ...{ slots, fetched, bytes, from: from === undefined ? undefined : nameOf(from) },
        });
      else
        logger.warn(
          'slots that the disk lost were sent by no other replica yet. Start all replicas: one that has them in its journal or in a snapshot is enough',
          { slots, fetched, next, asked: contacts.map(nameOf).join(', ') },
        );
      this.#tellOf(core, bytes);
    });
  }

  #run(recovered: Recovered, confirmed: Confirmed): Running {
    const { storage: self, incarnation: life, initial, contacts, durations, limits, runtime } = this.#options;
    const options = { self, life, recovered, initial, contacts, durations, limits, ...confirmed };
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
        this.#options.failed(historiesDiffer(this.#options.path, effect.slot, nameOf(effect.from)));
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
        if (this.#life.isOver) return;
        if (!isFull(error)) {
          if (!(error instanceof LeaseholdError)) throw error;
          this.#options.failed(error);
          return;
        }
        this.#diskFull();
        await this.#pause(FULL_RETRY_MS);
        if (this.#life.isOver) return;
      }
    }
    if (this.#isFull) logger.warn('there is room on the disk again');
    this.#isFull = false;
    const { stage } = this.#life;
    if (stage.kind === 'running') stage.driver.input((now) => stage.core.synced(now));
  }

  #diskFull(): void {
    if (this.#isFull) return;
    this.#isFull = true;
    this.#options.logger.error('the disk is full: this replica acknowledges nothing until there is room');
    const { stage } = this.#life;
    if (stage.kind === 'running') stage.driver.input((now) => stage.core.diskFull(now));
  }

  /** Beside the frames: a replica that writes its state goes on serving. */
  async #save(part: SnapshotPart): Promise<void> {
    let isFailed = false;
    try {
      await this.#options.disk.save(part);
    } catch (error) {
      if (this.#life.isOver) return;
      if (!isFull(error)) {
        if (!(error instanceof LeaseholdError)) throw error;
        this.#options.failed(error);
        return;
      }
      isFailed = true;
      this.#options.logger.warn('no room for a snapshot: the journal grows until there is', {
        slot: part.slot,
      });
    }
    const { stage } = this.#life;
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
