/**
 * Do others still find the files that we write?
 *
 * The lock makes sure that one process at a time writes to the directory. The lock cannot make sure that the path
 * still leads to the directory: somebody may rename the directory and make a new one, and a second Manager gets the
 * lock of the new one. Then two lead, each by the rules. So the path is checked after each write's sync, before the
 * write is acknowledged, and on a timer while somebody leads. The leader lease rests on that: the lease is counted from
 * *before* a check that found everything in place.
 *
 *     old leader   look ├── leader lease ──┤ answers nobody any more
 *     somebody           rename, mkdir
 *     new leader                  opens a new log ├───────── waits a takeover hold ────────┤ grants keys
 *
 * The new log waits (`log/new-log.ts`), and a takeover hold covers the leader lease of another. So the two never grant
 * the same key, however late the old leader checks: without a check, the old leader's lease expires.
 *
 * The open segment is looked at, too. Somebody who replaces that file takes away everything that is written to the old
 * one; an append that nobody will find again must not be acknowledged.
 *
 * A look reads device and inode. A directory that was moved away and back is the same, and nothing was lost.
 */

import type { StorageFile } from '../../runtime/runtime.ts';
import { LogReplacedError, StorageFailedError } from './errors.ts';
import { attempt } from './files.ts';

/** The lock that one process at a time has. Disposing releases the lock. */
export interface LogLock extends Disposable {
  /** Of the directory, for people. */
  readonly path: string;
  /** False once the path leads to another directory, or to none. */
  isInPlace(): Promise<boolean>;
}

/** Of a log that no other process can reach. */
export const inMemory: LogLock = {
  path: 'memory',
  isInPlace: async () => true,
  [Symbol.dispose]: () => {},
};

/** After one of these nothing is acknowledged any more. */
export type LogFailure = StorageFailedError | LogReplacedError;

export const isLogFailure = (error: unknown): error is LogFailure =>
  error instanceof StorageFailedError || error instanceof LogReplacedError;

/** Rejects with {@link LogReplacedError} if the directory, or the file of that name inside, is another one by now. */
export async function checkPlace(lock: LogLock, file: StorageFile, name: string): Promise<void> {
  const looks = Promise.all([lock.isInPlace(), file.isInPlace()]);
  const [isDirectory, isFile] = await attempt('look at', name, looks);
  if (!isDirectory) throw new LogReplacedError(lock.path);
  if (!isFile) throw new LogReplacedError(`${lock.path}/${name}`);
}
