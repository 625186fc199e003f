/**
 * Whether the files of a directory are those that the replica wrote, or copies of them: a file `place`.
 *
 * A copy has all that was in the original and nothing that came after, so a copy cannot vote before every other member has confirmed
 * the directory (`core/check-in.ts`). The file system tells the two apart. `place` names the inodes of the directory and of the
 * segments, with the times of their creation; the time at which `place` itself was written; and how many frames the journal had then:
 *
 *     cp -r, tar, rsync into a new or emptied directory     other inodes, or the same ones created later
 *     rsync over the old files                               changed segments are other inodes
 *     cp -r over the old files                               `place` was written later than the text in it says
 *     journal and identity restored, `place` left there      no segment that `place` names is there
 *     cp of an older journal over the present one            the segment was written later than its last frame says
 *     the same with the old times (cp -p, rsync --inplace)   fewer frames than `place` says
 *
 * A segment that `place` does not name was begun just before the process ended. That proves nothing and is not held against the
 * directory, if at least one segment is there that `place` names: older segments are removed only after `place` was written anew.
 *
 * **The times of a segment.** A frame names the time just before it is written, and nothing else writes to a segment. So the file system cannot know of
 * a later write, unless the process ended in the middle of one. A torn tail shows that. The bytes may also be missing although the time has
 * arrived: if power fails during the first write after a pause, the directory may count as a copy without need. A segment that is
 * older than its last frame proves nothing: a sync does not include the times.
 *
 * **The count of frames** is noted when the members have confirmed the directory, with each new segment, at a clean stop, and every {@link NOTED_EVERY_MS} in
 * between if there are more. So a journal that was put back with its old times is noticed if it is older than the last note.
 *
 * Not noticed here: a file system that went back as a whole (a snapshot of the volume, `cp -a` of everything over the old files), and a journal
 * with its old times that is younger than the last note. A majority notices both, unless all members that heard the missing votes are down. A directory
 * that is moved to another disk counts as a copy, and is confirmed by all the others.
 */

import { isFull } from '../../../log/file/errors.ts';
import { attempt, putFile, readFile, syncNames } from '../../../log/file/files.ts';
import type { Storage } from '../../../runtime/runtime.ts';
import { isSegmentName, type JournalTail } from './journal-disk.ts';

/** What the file system says about files (`node/fingerprints.ts`). */
export interface FilePlaces {
  of(name?: string): string | undefined;
  modifiedMs(name: string): number | undefined;
}

interface Place {
  readonly writtenMs: number;
  /** How many frames the journal had. */
  readonly frames: number;
  readonly directory: string | undefined;
  readonly segments: Readonly<Record<string, string | undefined>>;
}

const FILE = 'place';

/** Between the reading of the clock and the end of the write. */
const WRITTEN_WITHIN_MS = 5_000;

/** The same for a frame, which nothing but one call lies in between. */
const FRAME_WRITTEN_WITHIN_MS = 500;

/** A note costs three syncs, beside the frames. */
export const NOTED_EVERY_MS = 10_000;

/** Says that the files are where they belong. False if there is no room; then the directory counts as a copy, which is safe. */
export async function writePlace(
  storage: Storage,
  places: FilePlaces,
  writtenMs: number,
  frames: number,
): Promise<boolean> {
  const names = (await storage.list()).filter(isSegmentName);
  const segments = Object.fromEntries(names.map((name) => [name, places.of(name)]));
  const place: Place = { writtenMs, frames, directory: places.of(), segments };
  try {
    await putFile(storage, FILE, [new TextEncoder().encode(JSON.stringify(place))]);
    return true;
  } catch (error) {
    if (!isFull(error)) throw error;
    return false;
  }
}

/** Whether the files were copied or restored since {@link writePlace}, or nobody can know. */
export async function isCopied(storage: Storage, places: FilePlaces): Promise<boolean> {
  const place = await readPlace(storage);
  if (place === undefined) return true;
  const names = await storage.list();
  const { writtenMs, directory, segments } = place;
  const modifiedMs = places.modifiedMs(FILE) ?? 0;
  if (directory !== places.of() || Math.abs(modifiedMs - writtenMs) > WRITTEN_WITHIN_MS) return true;
  const named = names.filter((name) => Object.hasOwn(segments, name));
  return named.length === 0 || named.some((name) => segments[name] !== places.of(name));
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Whether the journal in these files is older than the one that was there: for files that are in place. */
export async function isOlder(storage: Storage, places: FilePlaces, tail: JournalTail): Promise<boolean> {
  const place = await readPlace(storage);
  if (place === undefined || place.frames > tail.frames) return true;
  const laterMs = (places.modifiedMs(tail.segment) ?? 0) - tail.writtenMs;
  return tail.state === 'clean' && laterMs > FRAME_WRITTEN_WITHIN_MS;
}

/**
 * Lets the directory count as a copy until {@link writePlace}, whatever is written meanwhile: a doubt outlasts a restart. Resolves when that
 * is durable.
 */
export async function removePlace(storage: Storage): Promise<void> {
  if (!(await storage.list()).includes(FILE)) return;
  await attempt('remove', FILE, storage.remove(FILE));
  await syncNames(storage, FILE);
}

async function readPlace(storage: Storage): Promise<Place | undefined> {
  if (!(await storage.list()).includes(FILE)) return undefined;
  return parsed(new TextDecoder().decode(await readFile(storage, FILE)));
}

function parsed(text: string): Place | undefined {
  try {
    const place: unknown = JSON.parse(text);
    const isPlace =
      isObject(place) &&
      'segments' in place &&
      isObject(place.segments) &&
      'writtenMs' in place &&
      'frames' in place;
    return isPlace ? (place as Place) : undefined;
  } catch {
    return undefined; // As a directory without the file: it counts as a copy.
  }
}
