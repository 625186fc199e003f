/**
 * Replaces the oldest part of the log by a snapshot, in an order that can stop anywhere:
 *
 *     1  a new segment is begun, so that the older ones get no more frames
 *     2  the snapshot is written, synced, and renamed to the final name; the name is synced
 *     3  the segments without later entries, and older snapshots, are removed
 *
 * Until 2 is done, only the old files count; afterwards, they count no more. Appends go on meanwhile, in the new
 * segment; only step 1 stands in their way, for two syncs.
 */

import { assert } from '../../runtime/assert.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Storage } from '../../runtime/runtime.ts';
import { isFull } from './errors.ts';
import { putFile } from './files.ts';
import { encodeSnapshotHead, snapshotName } from './format.ts';
import { removeReplaced } from './recovery.ts';
import type { Writer } from './writer.ts';

export interface CompactionOptions {
  readonly storage: Storage;
  readonly logger: Logger;
  readonly history: string;
}

/** False if there was no room: the log is unchanged. Rejects with a LogFailure. */
export async function compactFiles(
  { storage, logger, history }: CompactionOptions,
  writer: Writer,
  { position, bytes }: { readonly position: number; readonly bytes: Uint8Array },
): Promise<boolean> {
  const name = snapshotName(position);
  const noRoom = (): false => {
    logger.error('no room to compact the log; it goes on without', { file: name, bytes: bytes.length });
    return false;
  };
  if ((await writer.rotate()) === 'refused') return noRoom();
  const first = writer.segments.find(({ lastPosition }) => lastPosition > position) ?? writer.segments.at(-1);
  assert(first !== undefined, 'a log without a segment');
  const head = { history, position, firstSegment: first.sequence };
  try {
    await putFile(storage, name, [encodeSnapshotHead(head, bytes), bytes]);
  } catch (error) {
    if (!isFull(error)) throw error;
    return noRoom();
  }
  await writer.checkPlace();
  await removeReplaced(storage, head);
  writer.segments.splice(0, writer.segments.indexOf(first));
  return true;
}
