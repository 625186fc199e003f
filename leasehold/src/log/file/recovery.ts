/**
 * Reads all files, and decides about an end that is not clean.
 *
 * **Why an acknowledged batch is never taken for a torn tail.** A batch is acknowledged when the sync of the batch's
 * frame has succeeded. The next frame is written only after that, and never into the bytes of an earlier one. So a
 * crash can leave at most one frame that is not whole, the last, which was not acknowledged; and nothing valid comes
 * afterwards. Hence, where a frame does not read well:
 *
 *  - a whole frame of this log with a later index follows: the bad frame had been synced, so this is **damage**;
 *  - the segment is not the last one: a segment is begun only when all earlier bytes are synced, so this is
 *    **damage**; and so is an end that looks clean, if the next segment counts more frames;
 *  - the rest of the last segment is zeros: this is the **clean end**;
 *  - anything else is a **torn tail**, and is cut off, and that is synced before anything is written.
 *
 * This assumes that a sector that is being rewritten holds the old content or the new. The end of a frame and the
 * beginning of the next may share a sector, and a disk that can garble the first while writing the second can destroy
 * an acknowledged batch.
 *
 * **Indistinguishable cases.** If the very last frame is damaged later by the disk, with nothing afterwards to prove
 * that the frame was once whole, the frame looks like a torn tail; or like a clean end, if replaced by zeros. The cut
 * is therefore logged as a warning, with file and offset, and says when to worry: if neither the process nor the
 * machine had crashed. The same holds for last segments that somebody removed. A Manager notices such a log by the
 * positions that owners and look-ups have seen.
 *
 * **Every read entry is made durable before use.** A process that was killed, or that stopped because a sync failed,
 * may leave behind bytes that can be read and are not on the disk; after a failed sync the kernel may even take them
 * for written. So the last frame is written again unchanged, the file's length is set again, and both are synced; a
 * last segment without frames is put in place anew; and so is a snapshot beside which the replaced files still exist.
 * All else was synced before something later was written.
 */

import type { Logger } from '../../runtime/logger.ts';
import type { Storage, StorageFile } from '../../runtime/runtime.ts';
import { type History, newHistory } from '../history.ts';
import type { LogBatch, LogStart } from '../log.ts';
import { DamagedLogError, isFull, UnknownLogFormatError } from './errors.ts';
import { attempt, createSegment, putFile, readFile, syncFile, syncNames } from './files.ts';
import {
  decodeFrame,
  decodeSegmentHead,
  decodeSnapshot,
  encodeSnapshotHead,
  findFrame,
  FORMAT_VERSION,
  HEAD_BYTES,
  historySeed,
  parseName,
  type SegmentHead,
  segmentName,
  type SnapshotHead,
  snapshotName,
} from './format.ts';

export interface RecoveryOptions {
  readonly storage: Storage;
  readonly logger: Logger;
  /** For the history of a log that is not there yet. */
  readonly randomId: () => string;
  /** And for the floor: `newLogFloor`, unless a test wants positions from 1. */
  readonly beginAbove: () => number;
}

/** One needed segment, as the writer goes on with it. */
export interface SegmentSummary {
  readonly sequence: number;
  /** The last position in the segment, or before. */
  lastPosition: number;
  bytes: number;
}

export interface Recovered extends History {
  /** There was no log, and this is a new one. */
  readonly begunHere: boolean;
  readonly term: number;
  readonly floor: number;
  readonly snapshot: LogStart['snapshot'];
  readonly batches: LogBatch[];
  readonly segments: SegmentSummary[];
  readonly tail: Tail;
}

/** Where the next frame goes. */
export interface Tail {
  readonly file: StorageFile;
  readonly sequence: number;
  readonly offset: number;
  readonly index: number;
  /** The length of the file. */
  readonly allocated: number;
}

/** Rejects with {@link DamagedLogError}, with UnknownLogFormatError, or with StorageFailedError. */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  const { storage, randomId, beginAbove } = options;
  const files = await listFiles(storage);
  if (files.segments.length === 0) {
    const [snapshot] = files.snapshots;
    if (snapshot !== undefined) {
      throw new DamagedLogError(snapshotName(snapshot), 0, 'it is there, but no segment of the log is');
    }
    return begin(storage, newHistory(randomId), beginAbove());
  }
  const reading = new Reading();
  const latest = files.snapshots.at(-1);
  if (latest !== undefined)
    reading.snapshot(snapshotName(latest), latest, await read(storage, snapshotName(latest)));
  const needed = reading.needed(files.segments);
  for (const sequence of needed) {
    const isLast = sequence === needed.at(-1);
    reading.segment(segmentName(sequence), sequence, isLast, await read(storage, segmentName(sequence)));
  }
  reading.finish();
  const tail = await settle(options, reading);
  await settleSnapshot(options, reading);
  return { ...reading.found(), tail };
}

const read = (storage: Storage, name: string): Promise<Uint8Array> =>
  attempt('read', name, readFile(storage, name));

/** By number, lowest first. Temporary files of an earlier run are removed. */
export async function listFiles(
  storage: Storage,
): Promise<{ readonly segments: readonly number[]; readonly snapshots: readonly number[] }> {
  const segments: number[] = [];
  const snapshots: number[] = [];
  for (const name of await attempt('list', '.', storage.list())) {
    const file = parseName(name);
    if (file?.what === 'segment') segments.push(file.number);
    if (file?.what === 'snapshot') snapshots.push(file.number);
    if (file?.what === 'temporary') await attempt('remove', name, storage.remove(name));
  }
  const rising = (a: number, b: number): number => a - b;
  return { segments: segments.sort(rising), snapshots: snapshots.sort(rising) };
}

/** A log that nobody has seen yet. The history is durable before anything else happens. */
async function begin(storage: Storage, history: History, floor: number): Promise<Recovered> {
  const head = { ...history, sequence: 1, firstIndex: 0, term: 0, floor, beginsHistory: true };
  const file = await attempt('create', segmentName(1), createSegment(storage, head));
  return {
    ...{ ...history, begunHere: true, term: 0, floor, snapshot: undefined, batches: [] },
    segments: [{ sequence: 1, lastPosition: 0, bytes: HEAD_BYTES }],
    tail: { file, sequence: 1, offset: HEAD_BYTES, index: 0, allocated: HEAD_BYTES },
  };
}

/** The entries read so far, and whether they are consistent. */
class Reading {
  readonly batches: LogBatch[] = [];
  readonly segments: SegmentSummary[] = [];
  snapshotFile: { readonly head: SnapshotHead; readonly bytes: Uint8Array } | undefined;
  /** The last segment: the head, the content, and how far the content is good. */
  last:
    | {
        readonly head: SegmentHead;
        readonly content: Uint8Array;
        lastFrameAt: number;
        end: number;
        torn: boolean;
      }
    | undefined;
  /** Of the frame to come. */
  index = 0;
  term = 0;
  floor = 0;
  position = 0;
  readonly #histories = new Set<string>();

  snapshot(name: string, position: number, content: Uint8Array): void {
    const snapshot = decodeSnapshot(content);
    if (typeof snapshot === 'number') throw new UnknownLogFormatError(name, snapshot, FORMAT_VERSION);
    if (snapshot === undefined) throw new DamagedLogError(name, 0, 'the checksum of the snapshot is wrong');
    if (snapshot.head.position !== position) {
      throw new DamagedLogError(name, 16, `the snapshot says it is at ${snapshot.head.position}`);
    }
    this.snapshotFile = snapshot;
    this.position = position;
  }

  /** The segments with entries beyond the snapshot; older ones are only not removed yet. */
  needed(there: readonly number[]): readonly number[] {
    const first = this.snapshotFile?.head.firstSegment ?? 1;
    const needed = there.filter((sequence) => sequence >= first);
    for (let i = 0; i < Math.max(1, needed.length); i++) {
      if (needed[i] !== first + i)
        throw new DamagedLogError(segmentName(first + i), 0, 'this segment is missing');
    }
    return needed;
  }

  segment(name: string, sequence: number, isLast: boolean, content: Uint8Array): void {
    const head = decodeSegmentHead(content);
    if (typeof head === 'number') throw new UnknownLogFormatError(name, head, FORMAT_VERSION);
    if (head === undefined) throw new DamagedLogError(name, 0, 'the checksum of its head is wrong');
    this.#follows(name, sequence, head);
    const seed = historySeed(head.history);
    let [at, lastFrameAt] = [HEAD_BYTES, HEAD_BYTES];
    for (;;) {
      const frame = decodeFrame(content, at, seed, this.index);
      if (frame === undefined) break;
      if (frame.index !== this.index) {
        throw new DamagedLogError(name, at, `frame ${this.index} was expected here, not ${frame.index}`);
      }
      for (const record of frame.records) this.#take(name, at, record);
      this.index += 1;
      [at, lastFrameAt] = [frame.end, at];
    }
    const isClean = content.subarray(at).every((byte) => byte === 0);
    if (!isClean) {
      const later = findFrame(content, at + 8, seed, this.index + 1);
      if (later !== undefined) {
        throw new DamagedLogError(
          name,
          at,
          `this frame is damaged, for a good one follows at offset ${later}`,
        );
      }
      if (!isLast) throw new DamagedLogError(name, at, 'this frame is damaged, for a later segment exists');
    }
    this.segments.push({ sequence, lastPosition: this.position, bytes: at });
    if (isLast) this.last = { head, content, lastFrameAt, end: at, torn: !isClean };
  }

  /** A snapshot belongs to the history of its making. */
  finish(): void {
    const { snapshotFile } = this;
    if (snapshotFile === undefined || this.#histories.has(snapshotFile.head.history)) return;
    throw new DamagedLogError(snapshotName(snapshotFile.head.position), 60, 'the snapshot is of another log');
  }

  found(): Omit<Recovered, 'tail'> {
    const { term, floor, batches, segments, snapshotFile } = this;
    const snapshot = snapshotFile && { position: snapshotFile.head.position, bytes: snapshotFile.bytes };
    const { history = '', key } = this.last?.head ?? {};
    return { history, key, begunHere: false, term, floor, snapshot, batches, segments };
  }

  #follows(name: string, sequence: number, head: SegmentHead): void {
    const isFirst = this.segments.length === 0;
    if (head.sequence !== sequence)
      throw new DamagedLogError(name, 16, `it says it is segment ${head.sequence}`);
    if (isFirst) this.index = head.firstIndex;
    else if (head.firstIndex !== this.index) {
      throw new DamagedLogError(
        segmentName(sequence - 1),
        this.segments.at(-1)?.bytes ?? 0,
        `it ends with frame ${this.index}, but ${head.firstIndex} were written before "${name}" was begun`,
      );
    }
    if (!isFirst && !this.#histories.has(head.history) && !head.beginsHistory) {
      throw new DamagedLogError(name, 60, 'this segment is of another log');
    }
    this.#histories.add(head.history);
    this.term = Math.max(this.term, head.term);
    this.floor = Math.max(this.floor, head.floor);
  }

  #take(name: string, at: number, record: Parameters<typeof isInOrder>[0]): void {
    if (!isInOrder(record, this))
      throw new DamagedLogError(name, at, 'it holds terms or positions out of order');
    this.term = record.term;
    if (record.kind !== 'batch') return;
    if (record.position <= (this.snapshotFile?.head.position ?? 0)) return;
    this.position = record.position;
    this.batches.push({ position: record.position, bytes: record.bytes });
  }
}

function isInOrder(
  record: NonNullable<ReturnType<typeof decodeFrame>>['records'][number],
  { term, batches, floor }: Reading,
): boolean {
  if (record.kind === 'term') return record.term > term;
  return record.term === term && record.position > Math.max(batches.at(-1)?.position ?? 0, floor);
}

/** Makes the end of the last segment clean and the whole segment durable, and opens the segment for the writer. */
async function settle({ storage, logger }: RecoveryOptions, reading: Reading): Promise<Tail> {
  const { last, index } = reading;
  if (last === undefined) throw new DamagedLogError('.', 0, 'no segment was read');
  const { head, content, lastFrameAt, end, torn } = last;
  const name = segmentName(head.sequence);
  if (torn) {
    logger.warn(
      'cut a torn tail off the log; it was never acknowledged. If neither this process nor the machine had ' +
        'crashed, the disk has lost something',
      { file: name, offset: end, bytes: content.length - end },
    );
  }
  if (end === HEAD_BYTES) {
    const file = await attempt('write', name, createSegment(storage, head));
    return { file, sequence: head.sequence, offset: end, index, allocated: end };
  }
  let file = await attempt('open', name, storage.open(name));
  if (await isShared(file, name)) {
    await attempt('close', name, file.close());
    await attempt('write', name, putFile(storage, name, [content.subarray(0, end)]));
    file = await attempt('open', name, storage.open(name));
  }
  await attempt('truncate', name, file.truncate(end)); // Preallocated or torn: no byte is needed.
  await attempt('write', name, file.write(lastFrameAt, content.subarray(lastFrameAt, end)));
  await syncFile(file, name);
  await syncNames(storage, name);
  return { file, sequence: head.sequence, offset: end, index, allocated: end };
}

/**
 * A copy of the directory made of hard links (`cp -al`) has this very file, and a Manager on the copy would write to
 * ours.
 */
const isShared = async (file: StorageFile, name: string): Promise<boolean> =>
  (await attempt('look at', name, file.isShared?.() ?? Promise.resolve(false))) === true;

/** Finishes a compaction that was interrupted. */
async function settleSnapshot(
  { storage, logger }: RecoveryOptions,
  { snapshotFile }: Reading,
): Promise<void> {
  if (snapshotFile === undefined) return;
  const { head, bytes } = snapshotFile;
  if (!(await hasReplaced(storage, head))) return;
  const name = snapshotName(head.position);
  try {
    await putFile(storage, name, [encodeSnapshotHead(head, bytes), bytes]);
  } catch (error) {
    if (!isFull(error)) throw error;
    logger.warn('no room to finish a compaction; what it replaces is kept', { file: name });
    return;
  }
  await removeReplaced(storage, head);
}

async function hasReplaced(storage: Storage, snapshot: SnapshotHead): Promise<boolean> {
  return (await replaced(storage, snapshot)).length > 0;
}

/** Removes the files that a snapshot replaces. Only for a snapshot whose name is durable. */
export async function removeReplaced(storage: Storage, snapshot: SnapshotHead): Promise<void> {
  const names = await replaced(storage, snapshot);
  for (const name of names) await attempt('remove', name, storage.remove(name));
  if (names.length > 0) await syncNames(storage, snapshotName(snapshot.position));
}

async function replaced(
  storage: Storage,
  { position, firstSegment }: SnapshotHead,
): Promise<readonly string[]> {
  const names = await attempt('list', '.', storage.list());
  return names.filter((name) => {
    const file = parseName(name);
    if (file?.what === 'segment') return file.number < firstSegment;
    return file?.what === 'snapshot' && file.number < position;
  });
}
