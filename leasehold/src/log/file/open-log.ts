/**
 * What happens in a log that is open: elections, appends, compactions, and who is told of them. The
 * head of `file-log.ts` says what it promises.
 */

import { assert } from '../../runtime/assert.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { instant, later } from '../../runtime/time.ts';
import type {
  AppendOutcome,
  FollowerEvents,
  Following,
  LeaderEvents,
  Leadership,
  LogBatch,
  LogStart,
} from '../log.ts';
import { compactFiles } from './compaction.ts';
import { StorageFailedError } from './errors.ts';
import type { FileLog, FileLogOptions, FileLogStats } from './file-log.ts';
import type { Recovered } from './recovery.ts';
import { Writer } from './writer.ts';

export type ResolvedFileLogOptions = FileLogOptions & {
  readonly maxBatchBytes: number;
  readonly preallocateBytes: number;
  readonly retryMs: number;
};

/** A log that is open: who leads, who follows, and what they are told. */
export class OpenLog implements FileLog {
  readonly maxBatchBytes: number;
  readonly #options: ResolvedFileLogOptions;
  readonly #writer: Writer;
  readonly #lock: Disposable;
  readonly #history: string;
  readonly #floor: number;
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
  #closing: Promise<void> | undefined;
  #hasFailed = false;
  #state: 'open' | 'failed' | 'closed' = 'open';

  constructor(options: ResolvedFileLogOptions, recovered: Recovered, lock: Disposable) {
    const { storage, runtime, logger, preallocateBytes } = options;
    this.maxBatchBytes = options.maxBatchBytes;
    this.#options = options;
    this.#lock = lock;
    this.#history = recovered.history;
    this.#floor = recovered.floor;
    this.#term = recovered.term;
    this.#snapshot = recovered.snapshot;
    this.#batches = recovered.batches;
    const onFatal = (error: StorageFailedError): void => this.#fail(error);
    this.#writer = new Writer({ storage, runtime, logger, preallocateBytes, onFatal }, recovered);
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

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get start(): LogStart {
    const batches = this.#batches.slice();
    return { history: this.#history, snapshot: this.#snapshot, batches, floor: this.#floor };
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

  /** Writes a term for the first who waits, unless somebody leads. */
  #elect(): void {
    if (this.#present !== undefined || !this.isOpen) return;
    const candidate = this.#candidates.shift();
    if (candidate === undefined) return;
    this.#present = candidate;
    candidate.isBeingElected = true;
    this.#term += 1;
    const term = this.#term;
    this.#writer.submit({ kind: 'term', term }, (outcome) => {
      candidate.isBeingElected = false;
      if (candidate.isOver) return this.ended(candidate);
      if (outcome === 'written') return queueMicrotask(() => candidate.lead(term, this.start));
      const { runtime, retryMs } = this.#options;
      this.#present = undefined;
      this.#candidates.unshift(candidate);
      this.#retry = runtime.wakeAt(later(runtime.now(), retryMs), () => this.#elect());
    });
  }

  async #compact(): Promise<void> {
    try {
      for (let next = this.#compactNext; next !== undefined && this.isOpen; next = this.#compactNext) {
        this.#compactNext = undefined;
        await this.#replace(next);
      }
    } catch (error) {
      if (!(error instanceof StorageFailedError)) throw error;
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
    if (this.#state === 'open') this.#present?.depose();
    this.#state = 'closed';
    this.#retry?.[Symbol.dispose]();
    try {
      await this.#compaction;
      await this.#writer.close();
    } finally {
      this.#lock[Symbol.dispose]();
    }
  }

  #fail(error: StorageFailedError): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    if (this.#state === 'open') this.#state = 'failed';
    this.#options.logger.error(error.message, { code: error.code, file: error.file });
    queueMicrotask(() => this.#options.onFatal(error));
  }
}

/** One campaign, from when it stands to when its leadership ends. */
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

  lead(term: number, start: LogStart): void {
    if (this.isOver || !this.#log.isOpen) return;
    this.term = term;
    this.start = start;
    this.#events.elected(this, instant(Number.POSITIVE_INFINITY));
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

  depose(): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.term > 0) queueMicrotask(() => this.#events.deposed('resigned'));
  }
}

/** Somebody in this process who wants to hear what is appended. */
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
