/**
 * The few file operations of the log, each with the necessary syncs.
 *
 * A file gets its name only when whole and durable: the file is written under a temporary name, synced, renamed, and
 * then the directory is synced. So a name that is there always has the content, and the replaced files may be removed
 * as soon as {@link putFile} is done, not before.
 */

import type { Storage, StorageFile } from '../../runtime/runtime.ts';
import { isFull, StorageFailedError } from './errors.ts';
import { encodeSegmentHead, type SegmentHead, segmentName, temporaryName } from './format.ts';

const PIECE_BYTES = 1 << 20;

/**
 * Rejects with the storage's error if there is no room, in which case nothing has changed; with {@link
 * StorageFailedError} after any other failure.
 */
export async function putFile(storage: Storage, name: string, parts: readonly Uint8Array[]): Promise<void> {
  const temporary = temporaryName(name);
  try {
    const file = await storage.open(temporary);
    try {
      await file.truncate(0);
      let offset = 0;
      for (const part of parts) {
        await file.write(offset, part);
        offset += part.length;
      }
      await syncFile(file, temporary);
    } finally {
      await file.close();
    }
    await storage.rename(temporary, name);
  } catch (error) {
    if (!isFull(error)) throw storageFailed('write', name, error);
    await attempt('remove', temporary, removeIfThere(storage, temporary));
    throw error;
  }
  await syncNames(storage, name);
}

/** A segment without frames, open and ready for the first one. */
export async function createSegment(storage: Storage, head: SegmentHead): Promise<StorageFile> {
  const name = segmentName(head.sequence);
  await putFile(storage, name, [encodeSegmentHead(head)]);
  return attempt('open', name, storage.open(name));
}

export async function readFile(storage: Storage, name: string): Promise<Uint8Array> {
  const file = await storage.open(name);
  try {
    const bytes = new Uint8Array(await file.size());
    for (let offset = 0; offset < bytes.length; ) {
      const piece = await file.read(offset, Math.min(PIECE_BYTES, bytes.length - offset));
      if (piece.length === 0) throw new StorageFailedError('read', name, 'it ended before its end');
      bytes.set(piece, offset);
      offset += piece.length;
    }
    return bytes;
  } finally {
    await file.close();
  }
}

/** A sync that fails is the end, for every reason, even for a lack of space. */
export async function syncFile(file: StorageFile, name: string): Promise<void> {
  try {
    await file.sync();
  } catch (error) {
    throw new StorageFailedError('sync', name, error);
  }
}

/** Makes changes of names durable; `name` is one of them, for the error. */
export async function syncNames(storage: Storage, name: string): Promise<void> {
  try {
    await storage.syncDirectory();
  } catch (error) {
    throw new StorageFailedError('sync the directory of', name, error);
  }
}

/** A request to the storage, with a failure turned into a {@link StorageFailedError}. */
export async function attempt<T>(doing: string, name: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw storageFailed(doing, name, error);
  }
}

const storageFailed = (doing: string, name: string, error: unknown): StorageFailedError =>
  error instanceof StorageFailedError ? error : new StorageFailedError(doing, name, error);

async function removeIfThere(storage: Storage, name: string): Promise<void> {
  if ((await storage.list()).includes(name)) await storage.remove(name);
}
