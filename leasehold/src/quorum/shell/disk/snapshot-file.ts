/**
 * Snapshots on files, in parts: `0000000000001234.snapshot`, named by the slot.
 *
 *     head, frame with part 1, frame with part 2, …, frame with the last part
 *
 * The parts are written one by one under a temporary name, and synced every few megabytes, so that no single sync takes long and
 * delays those of the journal. When the last part is durable, the file gets its name. So a name that is there stands for a whole
 * snapshot, and `core/transfer.ts` argues when a restart uses that snapshot. A temporary file means nothing; the next snapshot
 * overwrites the file.
 *
 * Frames have the form of those in the journal. The checksum begins with the storage id and the slot, and the index counts the
 * parts, so a part of another snapshot or directory is not taken for one of this.
 */

import { checksum } from '../../../log/file/checksum.ts';
import { attempt, syncFile, syncNames } from '../../../log/file/files.ts';
import { decodeFrame, encodeFrame } from '../../../log/file/format.ts';
import type { Storage, StorageFile } from '../../../runtime/runtime.ts';
import type { Found } from '../../core/result.ts';
import type { SessionSnapshot } from '../../core/sessions.ts';
import type { Snapshot, SnapshotPart } from '../../core/snapshot.ts';
import { votesLost } from '../../core/errors.ts';
import { decodeSnapshotPart, encodeSnapshotPart } from '../../wire/frames.ts';

const MAGIC = new TextEncoder().encode('LHQSNAP1');
const HEAD_BYTES = 16;
const FRAME_HEAD_BYTES = 24;
const ALIGNMENT = 8;

/** A sync follows when so much was written since the last one. */
const SYNC_BYTES: number = 8 * 1024 * 1024;

export const snapshotName = (slot: number): string => `${String(slot).padStart(16, '0')}.snapshot`;

export function snapshotSlot(name: string): number | undefined {
  const digits = /^(\d{16})\.snapshot$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

const TEMPORARY = 'unfinished.snapshot.tmp';

const seedOf = (id: string, slot: number): number => checksum(new TextEncoder().encode(`${id} ${slot}`));

/** The snapshot that is being written. */
export class SnapshotFile {
  readonly #storage: Storage;
  readonly #id: string;
  #file: StorageFile | undefined;
  #offset = 0;
  #syncedTo = 0;
  #parts = 0;

  constructor(storage: Storage, id: string) {
    this.#storage = storage;
    this.#id = id;
  }

  /**
   * Writes a part. After the last one, the whole snapshot is durable under its name when the promise resolves. A part with `first: 0`
   * begins a file. One at a time.
   *
   * @throws the error of the storage if there is no room; then the unfinished file is gone, and a snapshot begins with its first part
   * @throws {StorageFailedError}
   */
  async write(part: SnapshotPart): Promise<void> {
    if (part.first === 0) await this.#begin();
    const file = this.#file as StorageFile;
    try {
      const bytes = encodePart(seedOf(this.#id, part.slot), this.#parts, part);
      await file.write(this.#offset, bytes);
      this.#offset += bytes.length;
      this.#parts += 1;
    } catch (error) {
      await this.#drop();
      throw error;
    }
    if (part.isLast || this.#offset - this.#syncedTo >= SYNC_BYTES) {
      await syncFile(file, TEMPORARY);
      this.#syncedTo = this.#offset;
    }
    if (!part.isLast) return;
    const name = snapshotName(part.slot);
    await this.close();
    await attempt('rename', TEMPORARY, this.#storage.rename(TEMPORARY, name));
    await syncNames(this.#storage, name);
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    if (file !== undefined) await attempt('close', TEMPORARY, file.close());
  }

  async #begin(): Promise<void> {
    await this.close();
    const file = await attempt('open', TEMPORARY, this.#storage.open(TEMPORARY));
    await attempt('truncate', TEMPORARY, file.truncate(0));
    const head = new Uint8Array(HEAD_BYTES);
    head.set(MAGIC);
    await file.write(0, head);
    this.#file = file;
    this.#offset = HEAD_BYTES;
    this.#syncedTo = 0;
    this.#parts = 0;
  }

  async #drop(): Promise<void> {
    await this.close();
    await attempt('remove', TEMPORARY, this.#storage.remove(TEMPORARY));
  }
}

/**
 * Reads a snapshot, a part at a time.
 *
 * @throws {StorageError} if a part is missing or damaged: the file was whole and durable once
 */
export async function readSnapshot(
  storage: Storage,
  id: string,
  slot: number,
  path: string,
): Promise<Snapshot> {
  const name = snapshotName(slot);
  const file = await attempt('open', name, storage.open(name));
  const seed = seedOf(id, slot);
  const values: Found[] = [];
  const sessions: SessionSnapshot[] = [];
  try {
    for (let offset = HEAD_BYTES, index = 0; ; index += 1) {
      const head = await attempt('read', name, file.read(offset, FRAME_HEAD_BYTES));
      const bodyBytes = head.length < FRAME_HEAD_BYTES ? 0 : uint32At(head, 4);
      const bytes = await attempt('read', name, file.read(offset, FRAME_HEAD_BYTES + bodyBytes));
      const frame = decodeFrame(bytes, 0, seed, index);
      const [record] = frame?.records ?? [];
      if (frame?.index !== index || record?.kind !== 'batch')
        throw votesLost(path, `part ${index + 1} of ${name} is damaged`);
      const part = decodeSnapshotPart(record.bytes);
      for (const value of part.values) values.push(value);
      for (const piece of part.sessions) sessions.push(piece);
      if (part.isLast) return { slot, configuration: part.configuration, state: { values, sessions } };
      offset += Math.ceil((FRAME_HEAD_BYTES + bodyBytes) / ALIGNMENT) * ALIGNMENT;
    }
  } finally {
    await file.close();
  }
}

const uint32At = (bytes: Uint8Array, at: number): number =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at, true);

function encodePart(seed: number, index: number, part: SnapshotPart): Uint8Array {
  const bytes = encodeSnapshotPart(part);
  return encodeFrame(seed, index, [{ kind: 'batch', term: 0, position: index + 1, bytes }]);
}
