/**
 * The journal on files: frames one behind the other in segments, each frame written and synced at once.
 *
 *     0000000000000003.journal    head, frame, frame, …, zeros
 *     0000000000000004.journal    head, frame, …, zeros
 *
 * A frame with a base (every entry after a snapshot) begins a new segment. The segment gets a name only when it is durable. When the
 * snapshot is durable too (`snapshot-file.ts`), the older segments are deleted. Frames have the form of the file log's (`log/file/format.ts`): a checksum that begins with the
 * storage id, so a segment of another directory has no valid frame, and an index that counts them, so a missing frame is
 * noticed. The zeros are there ahead of time, so that a sync need not change the length of the file. A frame also names the time at which it
 * was written, so that a file that was written later by others is noticed (`place.ts`); so nothing is changed here before there is a frame to write.
 *
 * Reading gives the frames in order, with `damaged` in every place where something was that cannot be read:
 *
 *  - bytes behind the last valid frame of the last segment are a torn tail if a crash can have left them: nobody has heard of them. They are
 *    cut off before the next frame. If not, votes may be lost (`tail.ts`).
 *  - a segment gets its name when its head and its first frame are durable, the first segment too. So a last segment without
 *    a frame that can be read, as one that was emptied or filled with zeros, has lost votes. A wrong head is damage, as
 *    an unreadable frame is.
 *  - anything else that is missing or unreadable was durable once. `core/recovery.ts` decides whether votes are lost.
 */

import { checksum } from '../../../log/file/checksum.ts';
import { isFull, LogReplacedError, StorageFailedError } from '../../../log/file/errors.ts';
import { attempt, putFile, readFile, syncFile } from '../../../log/file/files.ts';
import { decodeFrame, encodeFrame, findFrame, type LogRecord } from '../../../log/file/format.ts';
import { present } from '../../../runtime/assert.ts';
import { MalformedMessageError } from '../../../runtime/errors.ts';
import type { Storage, StorageFile } from '../../../runtime/runtime.ts';
import type { Ballot } from '../../core/ballot.ts';
import type { Frame } from '../../core/journal.ts';
import { basePlace, type StoredFrame } from '../../core/recovery.ts';
import type { Snapshot, SnapshotPart } from '../../core/snapshot.ts';
import { directoryMismatch, votesLost } from '../../core/errors.ts';
import { decodeJournalFrame, encodeJournalFrame } from '../../wire/frames.ts';
import { readSnapshot, SnapshotFile, snapshotName, snapshotSlot } from './snapshot-file.ts';
import { stateOfTail, type TailState } from './tail.ts';

const HEAD_BYTES = 32;
const MAGIC = new TextEncoder().encode('LHQUORUM');
const FORMAT = 4;

export interface JournalDiskOptions {
  readonly storage: Storage;
  /** The storage id. */
  readonly id: string;
  readonly path: string;
  /** Whether the path still leads to this directory. */
  isInPlace(): Promise<boolean>;
  /** By the wall clock. */
  wallMs(): number;
  /** A new segment has got its name. */
  rotated?(): Promise<void>;
  /** A new segment is begun when one is longer. @default 64 MiB */
  readonly segmentBytes?: number | undefined;
  /** @default 1 MiB */
  readonly zerosBytes?: number | undefined;
}

export interface OpenedJournal {
  readonly disk: JournalDisk;
  readonly frames: readonly StoredFrame[];
  /** The snapshot from which a restart begins, if any. */
  readonly snapshots: ReadonlyMap<number, Snapshot>;
  readonly tail: JournalTail;
}

/** The end of a journal, as a start finds it. */
export interface JournalTail {
  readonly segment: string;
  /** How many frames were ever written, as far as they can be read. */
  readonly frames: number;
  /** When the last of them was written, by the wall clock. */
  readonly writtenMs: number;
  readonly state: TailState;
  /** Bytes behind the last frame that are not zeros; they are cut off. */
  readonly tornBytes: number;
}

const segmentName = (number: number): string => `${String(number).padStart(16, '0')}.journal`;

function segmentNumber(name: string): number | undefined {
  const digits = /^(\d{16})\.journal$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export const isSegmentName = (name: string): boolean => segmentNumber(name) !== undefined;

export class JournalDisk {
  syncs = 0;
  readonly #options: JournalDiskOptions;
  readonly #seed: number;
  readonly #zeros: Uint8Array;
  readonly #segmentBytes: number;
  #file: StorageFile;
  #number: number;
  #offset: number;
  #allocated: number;
  #index: number;
  /** The segment that begins with the newest frame with a base, and the base. */
  #base: { readonly number: number; readonly slot: number } | undefined;
  /** Bytes that mean nothing follow. */
  #isTorn: boolean;
  readonly #snapshot: SnapshotFile;
  /** A frame and a snapshot may become durable at once. */
  #removing: Promise<void> = Promise.resolve();

  private constructor(options: JournalDiskOptions, file: StorageFile, at: Tail) {
    this.#options = options;
    this.#seed = seedOf(options.id);
    this.#zeros = new Uint8Array(options.zerosBytes ?? 1 << 20);
    this.#segmentBytes = options.segmentBytes ?? 64 * 1024 * 1024;
    this.#file = file;
    this.#number = at.number;
    this.#offset = at.offset;
    this.#allocated = at.size;
    this.#isTorn = at.state !== 'clean';
    this.#index = at.index;
    this.#snapshot = new SnapshotFile(options.storage, options.id);
  }

  /** Whether the directory has a journal, damaged or not. */
  static async isThere(storage: Storage): Promise<boolean> {
    return (await storage.list()).some((name) => segmentNumber(name) !== undefined);
  }

  /** Whether the directory has a journal in which nothing was ever written: this replica has promised, accepted and voted for nothing. */
  static async isUnwritten(storage: Storage, id: string): Promise<boolean> {
    const [first, ...others] = (await storage.list()).filter(isSegmentName);
    if (first === undefined || others.length > 0) return false;
    return saysNothing(await readFile(storage, first), seedOf(id));
  }

  /**
   * Begins a journal where there is none, with a frame that says nothing. Durable when the promise resolves. A journal that says
   * nothing may be there already: the process ended before the identity was written.
   *
   * @throws {RefusedError} if there is one that says something: votes would be forgotten
   */
  static async create(storage: Storage, id: string, path: string, wallMs: number): Promise<void> {
    const seed = seedOf(id);
    const names = (await storage.list()).filter(isSegmentName);
    const found = names.length === 0 ? undefined : await readFile(storage, names[0] as string);
    const isNothing = found === undefined || saysNothing(found, seed);
    if (names.length > 1 || !isNothing) {
      throw directoryMismatch(
        path,
        'its file "identity" is from before the journal was begun, as in a backup of which a part was restored',
        'Put back the newer "identity", or start this replica with an empty directory and newcomer: true (--newcomer), and add it in place of the old one',
      );
    }
    if (found !== undefined) return;
    await putFile(storage, segmentName(1), [encodeHead(1, 0), encodeAt(0, NOTHING_YET, seed, wallMs)]);
  }

  /**
   * Reads a journal and gets ready to append to the last segment.
   *
   * @throws {StorageError} {@link DirectoryMismatchError}
   */
  static async open(options: JournalDiskOptions): Promise<OpenedJournal> {
    const { storage, id, path } = options;
    const { frames, tail } = await readJournal(storage, seedOf(id), path);
    const slots = new Set((await storage.list()).map(snapshotSlot));
    const place = basePlace(frames, (slot) => slots.has(slot));
    frames.splice(0, place ?? 0);
    const begin = place === undefined ? undefined : frames[0];
    const base = begin === undefined || begin === 'damaged' ? 0 : (begin.base ?? 0);
    const snapshots = new Map<number, Snapshot>();
    if (base > 0) snapshots.set(base, await readSnapshot(storage, id, base, path));
    const name = segmentName(tail.number);
    const file = await attempt('open', name, storage.open(name));
    await syncFile(file, name); // A process that was killed may have written what can be read and is not durable.
    const { index, writtenMs, state, tornBytes } = tail;
    const found: JournalTail = { segment: name, frames: index, writtenMs, state, tornBytes };
    return { disk: new JournalDisk(options, file, tail), frames, snapshots, tail: found };
  }

  /** How many frames were ever written. They are durable. */
  get frames(): number {
    return this.#index;
  }

  get bytes(): number {
    return this.#offset;
  }

  /**
   * The frame is durable when this resolves. One at a time.
   *
   * @throws the error of the storage if there is no room; then nothing has changed, and the same frame can be written again
   * @throws {StorageFailedError} or {@link LogReplacedError}: nothing may be written here any more
   */
  async write(frame: Frame): Promise<void> {
    const { path } = this.#options;
    if (!(await this.#options.isInPlace()) || !(await this.#file.isInPlace()))
      throw new LogReplacedError(path, 'replica');
    if (this.#isTorn) await this.#cut();
    const bytes = encodeAt(this.#index, frame, this.#seed, this.#options.wallMs());
    if (frame.base !== undefined || this.#offset > this.#segmentBytes) await this.#rotate(bytes);
    else await this.#append(bytes);
    this.#index += 1;
    this.syncs += 1;
    if (frame.base === undefined) return;
    this.#base = { number: this.#number, slot: frame.base };
    await this.#removeOld();
  }

  /**
   * Writes a part of a snapshot, beside the frames. After the last one the snapshot is durable when this resolves. One at a time.
   *
   * @throws the error of the storage if there is no room; then nothing is left of the snapshot
   * @throws {StorageFailedError} or {@link LogReplacedError}: nothing may be written here any more
   */
  async save(part: SnapshotPart): Promise<void> {
    if (!(await this.#options.isInPlace())) throw new LogReplacedError(this.#options.path);
    await this.#snapshot.write(part);
    if (part.isLast) await this.#removeOld();
  }

  async close(): Promise<void> {
    await this.#snapshot.close();
    await this.#file.close();
  }

  #removeOld(): Promise<void> {
    this.#removing = this.#removing.then(() => this.#removeNow());
    return this.#removing;
  }

  /** The newest frame with a base stands for all that was written before, if the snapshot is there. */
  async #removeNow(): Promise<void> {
    const { storage } = this.#options;
    const names = await storage.list();
    const base = this.#base;
    if (base === undefined || (base.slot > 0 && !names.includes(snapshotName(base.slot)))) return;
    for (const name of names) {
      const isOldSegment = (segmentNumber(name) ?? base.number) < base.number;
      const isOldSnapshot = (snapshotSlot(name) ?? base.slot) < base.slot;
      if (isOldSegment || isOldSnapshot) await attempt('remove', name, storage.remove(name));
    }
  }

  async #append(bytes: Uint8Array): Promise<void> {
    const name = segmentName(this.#number);
    const end = this.#offset + bytes.length;
    try {
      await this.#file.write(this.#offset, bytes);
      if (end > this.#allocated) {
        await this.#file.write(end, this.#zeros);
        this.#allocated = end + this.#zeros.length;
      }
    } catch (error) {
      if (!isFull(error)) throw new StorageFailedError('write', name, error);
      await this.#cut();
      throw error;
    }
    await syncFile(this.#file, name);
    this.#offset = end;
  }

  async #cut(): Promise<void> {
    const name = segmentName(this.#number);
    await attempt('truncate', name, this.#file.truncate(this.#offset));
    await syncFile(this.#file, name);
    this.#allocated = this.#offset;
    this.#isTorn = false;
  }

  async #rotate(bytes: Uint8Array): Promise<void> {
    const { storage } = this.#options;
    const number = this.#number + 1;
    const name = segmentName(number);
    await putFile(storage, name, [encodeHead(number, this.#index), bytes]);
    await attempt('close', segmentName(this.#number), this.#file.close());
    this.#file = await attempt('open', name, storage.open(name));
    this.#number = number;
    this.#offset = HEAD_BYTES + bytes.length;
    this.#allocated = this.#offset;
    await this.#options.rotated?.();
  }
}

interface Tail {
  readonly number: number;
  readonly offset: number;
  /** Of the frame that comes next. */
  readonly index: number;
  readonly size: number;
  readonly writtenMs: number;
  readonly state: TailState;
  /** Bytes behind the last frame that are not zeros. */
  readonly tornBytes: number;
}

async function readJournal(
  storage: Storage,
  seed: number,
  path: string,
): Promise<{ readonly frames: StoredFrame[]; readonly tail: Tail }> {
  const numbers = (await storage.list())
    .flatMap((name) => segmentNumber(name) ?? [])
    .toSorted((a, b) => a - b);
  const frames: StoredFrame[] = [];
  let index = 0;
  let writtenMs = 0;
  let tail: Tail = {
    ...{ number: 1, offset: HEAD_BYTES, index: 0, size: HEAD_BYTES },
    ...{ writtenMs, state: 'clean', tornBytes: 0 },
  };
  for (const number of numbers) {
    const file = await readFile(storage, segmentName(number));
    let offset = HEAD_BYTES;
    for (
      let at = findFrame(file, offset, seed, index);
      at !== undefined;
      at = findFrame(file, offset, seed, index)
    ) {
      const found = present(decodeFrame(file, at, seed, index), 'the frame that was found');
      const frame = frameOf(found.records, path);
      if (offset === HEAD_BYTES && !hasHead(file, number, found.index)) frames.push('damaged');
      if (found.index !== index) frames.push('damaged'); // Or deleted: then a later frame has a base.
      frames.push(frame);
      index = found.index + 1;
      writtenMs = found.records[0]?.term ?? 0;
      offset = found.end;
    }
    if (offset === HEAD_BYTES && number === numbers.at(-1)) {
      throw votesLost(path, `${segmentName(number)} has no frame that can be read`);
    }
    const tornBytes = file.subarray(offset).findLastIndex((byte) => byte !== 0) + 1;
    const state = stateOfTail(file, offset, index);
    tail = { number, offset, index, size: file.length, writtenMs, state, tornBytes };
  }
  return { frames, tail };
}

function frameOf(records: readonly LogRecord[], path: string): Frame {
  const [record] = records;
  const bytes = record?.kind === 'batch' ? record.bytes : new Uint8Array(0);
  try {
    if (bytes.at(-1) !== END) throw new MalformedMessageError('a frame', 'ends in another way');
    return decodeJournalFrame(bytes.subarray(0, -1));
  } catch (error) {
    if (!(error instanceof MalformedMessageError)) throw error;
    const finding = `its journal was written by another version of this program (${error.message})`;
    throw directoryMismatch(path, finding, 'Start the version that wrote it');
  }
}

/** Whether a segment has the first frame of a new journal, and nothing else. */
function saysNothing(file: Uint8Array, seed: number): boolean {
  const writtenMs = decodeFrame(file, HEAD_BYTES, seed, 0)?.records[0]?.term ?? 0;
  const nothing = encodeAt(0, NOTHING_YET, seed, writtenMs);
  const isAll = file.length === HEAD_BYTES + nothing.length && hasHead(file, 1, 0);
  return isAll && nothing.every((byte, place) => byte === file[HEAD_BYTES + place]);
}

const seedOf = (id: string): number => checksum(new TextEncoder().encode(id));

const hasHead = (file: Uint8Array, number: number, firstIndex: number): boolean =>
  encodeHead(number, firstIndex).every((byte, at) => file[at] === byte);

function encodeAt(index: number, frame: Frame, seed: number, wallMs: number): Uint8Array {
  const body = encodeJournalFrame(frame);
  const bytes = new Uint8Array(body.length + 1);
  bytes.set(body);
  bytes[body.length] = END;
  const term = Math.floor(wallMs); // No other number of the record is free.
  return encodeFrame(seed, index, [{ kind: 'batch', term, position: index + 1, bytes }]);
}

/** The last byte of a frame, which is never zero (`tail.ts`). */
const END = 1;

const NOTHING_YET: Frame = {
  ...{ promised: 0 as Ballot, chosen: 0, committed: 0, lastBefore: 0, holdMs: 0, first: 1 },
  ...{ votes: 0, heard: new Map() },
  ...{ truncateTo: Number.POSITIVE_INFINITY, entries: [], base: undefined },
};

function encodeHead(number: number, firstIndex: number): Uint8Array {
  const head = new Uint8Array(HEAD_BYTES);
  const view = new DataView(head.buffer);
  head.set(MAGIC);
  view.setUint32(8, FORMAT, true);
  view.setBigUint64(16, BigInt(number), true);
  view.setBigUint64(24, BigInt(firstIndex), true);
  return head;
}
