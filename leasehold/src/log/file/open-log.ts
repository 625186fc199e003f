/**
 * The activities of an open log: elections, appends, compactions, and the events about them. The head of `file-log.ts`
 * lists the promises.
 */

import { assert } from '../../runtime/assert.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';
import { newHistoryKey } from '../history.ts';
import type {
  AppendOutcome,
  DeposedReason,
  FollowerEvents,
  Following,
  LeaderEvents,
  Leadership,
  LogBatch,
  LogStart,
} from '../log.ts';
import { compactFiles } from './compaction.ts';
import { LogReplacedError } from './errors.ts';
import { isLogFailure, type LogFailure, type LogLock } from './fence.ts';
import type { FileLog, FileLogOptions, FileLogStats } from './file-log-options.ts';
import type { Recovered } from './recovery.ts';
import { Writer } from './writer.ts';

export type ResolvedFileLogOptions = FileLogOptions & {
  readonly maxBatchBytes: number;
  readonly preallocateBytes: number;
  readonly retryMs: number;
};

/** How often a leader looks whether everything is in place: a look or two may be late. */
const LOOKS_PER_LEASE = 4;

/** An open log: the leader, the followers, and their events. */
export class OpenLog implements FileLog {
  readonly maxBatchBytes: number;
  readonly #options: ResolvedFileLogOptions;
  readonly #writer: Writer;
  readonly #lock: LogLock;
  readonly #history: string;
  readonly #floor: number;
  readonly #begunHere: boolean;
  #term: number;
  #snapshot: LogStart['snapshot'];
  #batches: LogBatch[];
  readonly #candidates: Candidate[] = [];
  /** The one that leads, or is about to. */
  #present: Candidate | undefined;
  readonly #followers = new Set<Follower>();
  #compaction: Promise<void> | undefined;
  /** The position of the last compaction that was asked for and not given up. */
  #compacting = 0;
  #compactNext: { readonly bytes: Uint8Array; readonly position: number } | undefined;
  #counts = { appends: 0, refused: 0, compactions: 0 };
  /** Waits for room to be elected. */
  #retry: Disposable | undefined;
  #nextLook: Disposable | undefined;
  #closing: Promise<void> | undefined;
  #hasFailed = false;
  #state: 'open' | 'failed' | 'closed' = 'open';

  constructor(options: ResolvedFileLogOptions, recovered: Recovered, lock: LogLock) {
    const { storage, runtime, logger, preallocateBytes } = options;
    this.maxBatchBytes = options.maxBatchBytes;
    this.#options = options;
    this.#lock = lock;
    this.#history = recovered.history;
    this.#floor = recovered.floor;
    this.#begunHere = recovered.begunHere;
    this.#term = recovered.term;
    this.#snapshot = recovered.snapshot;
    this.#batches = recovered.batches;
    const onFatal = (error: LogFailure): void => this.#fail(error);
    const newKey = (): string => newHistoryKey(options.randomId);
    const around = { storage, runtime, logger, preallocateBytes, lock, onFatal, newKey };
    this.#writer = new Writer(around, recovered);
  }

  get stats(): FileLogStats {
    const { segments, stats } = this.#writer;
    const bytes = segments.reduce((sum, segment) => sum + segment.bytes, this.#snapshot?.bytes.length ?? 0);
    return { ...stats, ...this.#counts, bytes, segments: segments.length };
  }

  campaign(_candidate: string, events: LeaderEvents): Disposable {
    const candidate = new Candidate(this, events);
    this.#candidates.push(candidate);
    this.#elect();
    return { [Symbol.dispose]: () => candidate.resign() };
  }

  follow(events: FollowerEvents): Following {
    const follower = new Follower(this, this.#options.runtime, events);
    this.#followers.add(follower);
    return follower;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** A history from before there were keys gets one, in a new segment; if there is no room, with a later one. */
  async ensureKey(): Promise<void> {
    if (this.#writer.key === undefined) await this.#writer.rotate();
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get start(): LogStart {
    const batches = this.#batches.slice();
    const { key } = this.#writer;
    const begun = { history: this.#history, key, begunHere: this.#begunHere };
    return { ...begun, snapshot: this.#snapshot, batches, floor: this.#floor };
  }

  /** The position of the last batch that is durable. */
  get head(): number {
    return this.#batches.at(-1)?.position ?? this.#snapshot?.position ?? 0;
  }

  append(term: number, batch: LogBatch, done: (outcome: AppendOutcome) => void): void {
    const { position, bytes } = batch;
    const above = Math.max(this.head, this.#floor);
    assert(position > above, `append at ${position}, but the log is at ${above}`);
    if (bytes.length > this.maxBatchBytes) {
      this.#counts.refused += 1;
      this.#options.logger.error('refused a batch that is too large', {
        ...{ position, bytes: bytes.length, maxBatchBytes: this.maxBatchBytes },
      });
      queueMicrotask(() => done('refused'));
      return;
    }
    this.#writer.submit({ kind: 'batch', term, position, bytes }, (outcome) => {
      if (outcome === 'written') {
        this.#counts.appends += 1;
        this.#batches.push(batch);
        for (const follower of this.#followers) follower.tell(batch);
      } else {
        this.#counts.refused += 1;
      }
      queueMicrotask(() => done(outcome === 'written' ? 'appended' : 'refused'));
    });
  }

  compact(bytes: Uint8Array, position: number): void {
    assert(position <= this.head, `compact up to ${position}, but the log is at ${this.head}`);
    const present = Math.max(this.#snapshot?.position ?? 0, this.#compacting);
    if (!this.isOpen || position <= present) return;
    this.#compacting = position;
    this.#compactNext = { bytes, position };
    this.#compaction ??= this.#compact();
  }

  ended(candidate: Candidate): void {
    const waiting = this.#candidates.indexOf(candidate);
    if (waiting >= 0) this.#candidates.splice(waiting, 1);
    if (this.#present !== candidate || candidate.isBeingElected) return;
    this.#present = undefined;
    this.#elect();
  }

  unfollow(follower: Follower): void {
    this.#followers.delete(follower);
  }

  /** Writes a term for the first waiting candidate, unless somebody leads. */
  #elect(): void {
    if (this.#present !== undefined || !this.isOpen) return;
    const candidate = this.#candidates.shift();
    if (candidate === undefined) return;
    this.#present = candidate;
    candidate.isBeingElected = true;
    this.#term += 1;
    const term = this.#term;
    const askedAt = this.#options.runtime.now(); // Before the writer looks whether everything is in place.
    this.#writer.submit({ kind: 'term', term }, (outcome) => {
      candidate.isBeingElected = false;
      if (candidate.isOver) return this.ended(candidate);
      if (outcome === 'written') return queueMicrotask(() => this.#lead(candidate, term, askedAt));
      const { runtime, retryMs } = this.#options;
      this.#present = undefined;
      this.#candidates.unshift(candidate);
      this.#retry = runtime.wakeAt(later(runtime.now(), retryMs), () => this.#elect());
    });
  }

  #lead(candidate: Candidate, term: number, askedAt: Instant): void {
    candidate.lead(term, this.start, this.#leaseFrom(askedAt));
    void this.#extend(candidate);
  }

  #leaseFrom(askedAt: Instant): Instant {
    return later(askedAt, this.#options.leaderLeaseMs?.() ?? Number.POSITIVE_INFINITY);
  }

  /** Checks whether everything is in place, extends the leader lease if so, and repeats that in a while. */
  async #extend(candidate: Candidate): Promise<void> {
    const { runtime, leaderLeaseMs } = this.#options;
    if (leaderLeaseMs === undefined) return;
    const askedAt = runtime.now();
    try {
      await this.#writer.checkPlace();
    } catch (error) {
      if (!isLogFailure(error)) throw error;
      if (this.isOpen) this.#fail(error);
      return;
    }
    if (this.#present !== candidate || !this.isOpen) return;
    candidate.extend(this.#leaseFrom(askedAt));
    this.#nextLook = runtime.wakeAt(
      later(runtime.now(), leaderLeaseMs() / LOOKS_PER_LEASE),
      () => void this.#extend(candidate),
    );
  }

  async #compact(): Promise<void> {
    try {
      for (let next = this.#compactNext; next !== undefined && this.isOpen; next = this.#compactNext) {
        this.#compactNext = undefined;
        await this.#replace(next);
      }
    } catch (error) {
      if (!isLogFailure(error)) throw error;
      this.#fail(error);
    } finally {
      this.#compaction = undefined;
    }
  }

  async #replace(snapshot: { readonly bytes: Uint8Array; readonly position: number }): Promise<void> {
    const { storage, logger } = this.#options;
    const done = await compactFiles({ storage, logger, history: this.#history }, this.#writer, snapshot);
    if (!done) this.#compacting = 0;
    if (!done) return;
    this.#counts.compactions += 1;
    this.#snapshot = snapshot;
    this.#batches = this.#batches.filter(({ position }) => position > snapshot.position);
  }

  async #close(): Promise<void> {
    if (this.#state === 'open') this.#present?.depose('resigned');
    this.#state = 'closed';
    this.#retry?.[Symbol.dispose]();
    this.#nextLook?.[Symbol.dispose]();
    try {
      await this.#compaction;
      await this.#writer.close();
    } finally {
      this.#lock[Symbol.dispose]();
    }
  }

  #fail(error: LogFailure): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    if (this.#state === 'open') this.#state = 'failed';
    const isReplaced = error instanceof LogReplacedError;
    if (isReplaced) this.#present?.depose('superseded');
    this.#options.logger.error(error.message, {
      ...{ code: error.code, file: isReplaced ? error.path : error.file },
    });
    queueMicrotask(() => this.#options.onFatal(error));
  }
}

/** One campaign, from standing for election to the end of the leadership. */
class Candidate implements Leadership {
  term = 0;
  start: LogStart = { history: '', snapshot: undefined, batches: [], floor: 0 };
  isBeingElected = false;
  isOver = false;
  readonly #log: OpenLog;
  readonly #events: LeaderEvents;
  #appending: number | undefined;

  constructor(log: OpenLog, events: LeaderEvents) {
    this.#log = log;
    this.#events = events;
  }

  lead(term: number, start: LogStart, until: Instant): void {
    if (this.isOver || !this.#log.isOpen) return;
    this.term = term;
    this.start = start;
    this.#events.elected(this, until);
  }

  extend(until: Instant): void {
    if (!this.isOver) this.#events.extended(until);
  }

  append(batch: LogBatch, done: (outcome: AppendOutcome) => void): void {
    if (this.isOver || !this.#log.isOpen) return;
    const inFlight = this.#appending;
    assert(inFlight === undefined, `append ${batch.position} while ${inFlight} is in flight`);
    this.#log.append(this.term, batch, (outcome) => {
      this.#appending = undefined;
      if (!this.isOver && this.#log.isOpen) done(outcome);
    });
    this.#appending = batch.position;
  }

  compact(snapshot: Uint8Array, upTo: number): void {
    if (!this.isOver) this.#log.compact(snapshot, upTo);
  }

  resign(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#log.ended(this);
  }

  depose(reason: DeposedReason): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.term > 0) queueMicrotask(() => this.#events.deposed(reason));
  }
}

/** A follower in this process. */
class Follower implements Following {
  readonly #log: OpenLog;
  readonly #runtime: Runtime;
  readonly #events: FollowerEvents;
  #isReset = false;
  #isOver = false;

  constructor(log: OpenLog, runtime: Runtime, events: FollowerEvents) {
    this.#log = log;
    this.#runtime = runtime;
    this.#events = events;
    this.#soon(() => {
      this.#isReset = true;
      events.reset(log.start);
    });
  }

  tell(batch: LogBatch): void {
    if (this.#isReset) this.#soon(() => this.#events.batch(batch));
  }

  askHead(): void {
    const askedAt = this.#runtime.now();
    this.#soon(() => this.#events.head(this.#log.head, askedAt));
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#log.unfollow(this);
  }

  #soon(tell: () => void): void {
    queueMicrotask(() => {
      if (!this.#isOver && this.#log.isOpen) tell();
    });
  }
}
