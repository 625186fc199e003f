/**
 * Writes records to the end of the log, as many as there are at a time, with one sync in flight.
 *
 *     submitted   a │ b c d │ e
 *     written     ──a──sync──bcd──sync──e──sync──►
 *
 * Records that are submitted in one turn, or while an earlier sync is under way, become one frame: one write and one
 * sync for all of them. The next frame is written when the sync has succeeded and not before; recovery stands on that.
 *
 * **No room.** A write that finds the disk full is taken back: the file is cut to where the frame began, and once that
 * is synced, the frame's records are refused, for they are surely not there. Space that is only preallocated may be
 * missing; then the log goes on without.
 *
 * **Another place.** The path is checked when a frame is synced and before the frame is acknowledged (`fence.ts`): if
 * the directory was moved and replaced by a copy at any time up to then, a Manager that starts on the copy does not find
 * the frame. A check before the write would add nothing: the frame goes to the descriptor of the old file, and the
 * outcome of an unacknowledged frame is unknown in any case. A new segment is created by its path, so the path is checked
 * before. If the path leads elsewhere, the writer has failed, and nothing is acknowledged.
 *
 * **Any other failure**, above all of a sync, leaves the content of the file unknown. Then the writer has failed for
 * good: nothing submitted is ever answered.
 */

import { assert } from '../../runtime/assert.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime, Storage, StorageFile } from '../../runtime/runtime.ts';
import { isFull, StorageFailedError } from './errors.ts';
import { checkPlace, isLogFailure, type LogFailure, type LogLock } from './fence.ts';
import { attempt, createSegment, syncFile } from './files.ts';
import { encodeFrame, HEAD_BYTES, historySeed, type LogRecord, segmentName } from './format.ts';
import type { Recovered, SegmentSummary } from './recovery.ts';

export type WriteOutcome = 'written' | 'refused';

export interface WriterOptions {
  readonly storage: Storage;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** How much room to make ahead, in bytes. */
  readonly preallocateBytes: number;
  readonly lock: LogLock;
  readonly onFatal: (error: LogFailure) => void;
  /** For a history without a key: the key comes with the next segment. */
  readonly newKey: () => string;
}

export interface WriterStats {
  /** Frames that were synced, and how long the last of these syncs took. */
  syncs: number;
  lastSyncMs: number;
}

type Item =
  | { readonly record: LogRecord; readonly done: (outcome: WriteOutcome) => void }
  | {
      readonly rotated: (outcome: WriteOutcome) => void;
      readonly failed: (error: LogFailure) => void;
    };

export class Writer {
  readonly stats: WriterStats = { syncs: 0, lastSyncMs: 0 };
  /** Oldest first; the last one is being written. */
  readonly segments: SegmentSummary[];
  readonly #options: WriterOptions;
  readonly #history: string;
  /** As in the head of the segment that is being written. */
  #key: string | undefined;
  readonly #seed: number;
  readonly #zeros: Uint8Array;
  #file: StorageFile;
  #name: string;
  #offset: number;
  #allocated: number;
  #index: number;
  #term: number;
  #floor: number;
  readonly #queue: Item[] = [];
  #isFull = false;
  #running: Promise<void> | undefined;
  #failure: LogFailure | undefined;
  #isClosed = false;

  constructor(options: WriterOptions, recovered: Recovered) {
    const { tail } = recovered;
    this.#options = options;
    this.segments = recovered.segments;
    this.#history = recovered.history;
    this.#key = recovered.key;
    this.#seed = historySeed(recovered.history);
    this.#zeros = new Uint8Array(options.preallocateBytes);
    this.#file = tail.file;
    this.#name = segmentName(tail.sequence);
    this.#offset = tail.offset;
    this.#allocated = tail.allocated;
    this.#index = tail.index;
    this.#term = recovered.term;
    this.#floor = recovered.floor;
  }

  /** The key of the history; undefined until a segment has one. */
  get key(): string | undefined {
    return this.#key;
  }

  /** `done` comes later, never from within; not at all once the writer has failed. */
  submit(record: LogRecord, done: (outcome: WriteOutcome) => void): void {
    this.#enqueue({ record, done });
  }

  /**
   * Begins a new segment after all that was submitted so far, unless the present one is empty and has a key.
   * Refused if there is no room; rejects once the writer has failed.
   */
  rotate(): Promise<WriteOutcome> {
    return new Promise((rotated, failed) => this.#enqueue({ rotated, failed }));
  }

  /** Rejects if the path leads elsewhere. May be asked while something is being written. */
  async checkPlace(): Promise<void> {
    const file = this.#file;
    try {
      await checkPlace(this.#options.lock, file, this.#name);
    } catch (error) {
      if (this.#file === file) throw error;
      await this.checkPlace(); // A new segment was begun meanwhile, and that one counts.
    }
  }

  /** Finishes the submitted records, and closes the file. */
  async close(): Promise<void> {
    await this.#running;
    this.#isClosed = true;
    await attempt('close', this.#name, this.#file.close());
  }

  #enqueue(item: Item): void {
    this.#queue.push(item);
    assert(!this.#isClosed, 'something was submitted to a log that is closed');
    if (this.#failure === undefined) this.#running ??= this.#run();
    else this.#drop(this.#failure);
  }

  async #run(): Promise<void> {
    await undefined; // Other submissions of this turn ride along.
    try {
      while (this.#queue.length > 0) await this.#next();
    } catch (error) {
      if (!isLogFailure(error)) throw error;
      this.#failure = error;
      this.#drop(error);
      this.#options.onFatal(error);
    } finally {
      this.#running = undefined;
    }
  }

  /** Records that were not answered never will be. */
  #drop(error: LogFailure): void {
    for (const item of this.#queue.splice(0)) if ('failed' in item) item.failed(error);
  }

  async #next(): Promise<void> {
    const [first] = this.#queue;
    if (first !== undefined && 'rotated' in first) {
      first.rotated(await this.#rotate());
      this.#queue.shift();
      return;
    }
    const group: Extract<Item, { record: LogRecord }>[] = [];
    for (const item of this.#queue) {
      if ('rotated' in item) break;
      group.push(item);
    }
    this.#queue.splice(0, group.length);
    const outcome = await this.#write(group.map(({ record }) => record));
    for (const { done } of group) done(outcome);
  }

  async #write(records: readonly LogRecord[]): Promise<WriteOutcome> {
    const { runtime } = this.#options;
    const frame = encodeFrame(this.#seed, this.#index, records);
    const end = this.#offset + frame.length;
    try {
      await this.#file.write(this.#offset, frame);
    } catch (error) {
      if (!isFull(error)) throw new StorageFailedError('write', this.#name, error);
      return this.#takeBack(records);
    }
    if (end > this.#allocated) await this.#preallocate(end);
    const beganAt = runtime.now();
    await syncFile(this.#file, this.#name);
    this.stats.lastSyncMs = runtime.now() - beganAt;
    await this.checkPlace();
    this.stats.syncs += 1;
    this.#offset = end;
    this.#index += 1;
    this.#note(records);
    if (this.#isFull) this.#options.logger.warn('there is room for the log again', { file: this.#name });
    this.#isFull = false;
    return 'written';
  }

  /** Zeros after the frame, which is the last thing in the file. */
  async #preallocate(end: number): Promise<void> {
    this.#allocated = end;
    if (this.#zeros.length === 0) return;
    try {
      await this.#file.write(end, this.#zeros);
      this.#allocated = end + this.#zeros.length;
    } catch (error) {
      // Those that fitted are zeros after the end, as they should be.
      if (!isFull(error)) throw new StorageFailedError('write', this.#name, error);
    }
  }

  async #takeBack(records: readonly LogRecord[]): Promise<WriteOutcome> {
    await attempt('truncate', this.#name, this.#file.truncate(this.#offset));
    await syncFile(this.#file, this.#name);
    this.#allocated = this.#offset;
    if (!this.#isFull) {
      this.#options.logger.error('no room for the log: it refuses changes until there is', {
        file: this.#name,
        offset: this.#offset,
        refused: records.length,
      });
    }
    this.#isFull = true; // Said once, until there is room again.
    return 'refused';
  }

  async #rotate(): Promise<WriteOutcome> {
    if (this.#offset === HEAD_BYTES && this.#key !== undefined) return 'written';
    const sequence = (this.segments.at(-1)?.sequence ?? 0) + 1;
    const key = this.#key ?? this.#options.newKey();
    const head = {
      ...{ history: this.#history, key, sequence, firstIndex: this.#index },
      ...{ term: this.#term, floor: this.#floor, beginsHistory: false },
    };
    let file: StorageFile;
    await this.checkPlace();
    try {
      file = await createSegment(this.#options.storage, head);
    } catch (error) {
      if (!isFull(error)) throw error;
      return 'refused';
    }
    await attempt('close', this.#name, this.#file.close());
    this.#file = file;
    this.#key = key;
    this.#name = segmentName(sequence);
    this.#offset = HEAD_BYTES;
    this.#allocated = HEAD_BYTES;
    this.segments.push({
      sequence,
      lastPosition: this.segments.at(-1)?.lastPosition ?? 0,
      bytes: HEAD_BYTES,
    });
    return 'written';
  }

  #note(records: readonly LogRecord[]): void {
    const segment = this.segments.at(-1);
    for (const record of records) {
      this.#term = record.term;
      if (record.kind === 'batch' && segment !== undefined) segment.lastPosition = record.position;
    }
    if (segment !== undefined) segment.bytes = this.#offset;
  }
}
