/**
 * Whether the files of a directory are those that the replica wrote, or copies of them: a file `place`.
 *
 * A copy has all that was in the original and nothing that came after, so a copy cannot vote before every other member has confirmed
 * the directory (`core/check-in.ts`). The file system tells the two apart. `place` names the inodes of the directory and of the
 * segments, with the times of their creation, and the time at which `place` itself was written:
 *
 *     cp -r, tar, rsync into a new or emptied directory     other inodes, or the same ones created later
 *     rsync over the old files                               changed segments are other inodes
 *     cp -r over the old files                               `place` was written later than the text in it says
 *
 *     journal and identity restored, `place` left there      no segment that `place` names is there
 *
 * A segment that `place` does not name was begun just before the process ended. That proves nothing and is not held against the
 * directory, if at least one segment is there that `place` names: older segments are removed only after `place` was written anew. A file system that went back as a whole (a snapshot of the volume, `cp -a` over the old files) is not noticed here, but
 * by a majority, unless all members that heard the missing votes are down. A directory that is moved to another disk
 * counts as a copy, and is confirmed by all the others.
 */

import { isFull } from '../../log/file/errors.ts';
import { putFile, readFile } from '../../log/file/files.ts';
import type { Storage } from '../../runtime/runtime.ts';
import { isSegmentName } from './journal-disk.ts';

/** What the file system says about files (`node/fingerprints.ts`). */
export interface FilePlaces {
  of(name?: string): string | undefined;
  modifiedMs(name: string): number | undefined;
}

interface Place {
  readonly writtenMs: number;
  readonly directory: string | undefined;
  readonly segments: Readonly<Record<string, string | undefined>>;
}

const FILE = 'place';

/** Between the reading of the clock and the end of the write. */
const WRITTEN_WITHIN_MS = 5_000;

/** Says that the files are where they belong. False if there is no room; then the directory counts as a copy, which is safe. */
export async function writePlace(storage: Storage, places: FilePlaces, writtenMs: number): Promise<boolean> {
  const names = (await storage.list()).filter(isSegmentName);
  const segments = Object.fromEntries(names.map((name) => [name, places.of(name)]));
  const place: Place = { writtenMs, directory: places.of(), segments };
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
  const names = await storage.list();
  if (!names.includes(FILE)) return true;
  const place = parsed(new TextDecoder().decode(await readFile(storage, FILE)));
  if (place === undefined) return true;
  const { writtenMs, directory, segments } = place;
  const modifiedMs = places.modifiedMs(FILE) ?? 0;
  if (directory !== places.of() || Math.abs(modifiedMs - writtenMs) > WRITTEN_WITHIN_MS) return true;
  const named = names.filter((name) => Object.hasOwn(segments, name));
  return named.length === 0 || named.some((name) => segments[name] !== places.of(name));
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function parsed(text: string): Place | undefined {
  try {
    const place: unknown = JSON.parse(text);
    const isPlace =
      isObject(place) && 'segments' in place && isObject(place.segments) && 'writtenMs' in place;
    return isPlace ? (place as Place) : undefined;
  } catch {
    return undefined; // As a directory without the file: it counts as a copy.
  }
}
