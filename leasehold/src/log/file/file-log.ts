/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The fenced log on files of one machine, for a single Manager.
 *
 * Here the fence is a lock: `lock` must give something that one process at a time can have, and that
 * is gone when the process is. Whoever has the log open is therefore the only one who can write to
 * it, and is elected as soon as it asks; its leader lease has no end, since it ends with the process.
 * What is left of the promises is to keep things, whatever happens to the power, the disk or the
 * process:
 *
 *     open      lock ► read and verify everything ► mend the end ► make it durable
 *     campaign  the term, greater than any before, is durable ► elected
 *     append    one frame, one sync ► appended             (writer.ts)
 *     compact   new segment ► snapshot in place ► older files removed
 *
 * `open-log.ts` carries this out, `format.ts` says what is in the files, `recovery.ts` how a torn end is told from damage.
 *
 * **When the storage fails**, by a failed sync or by anything else but a lack of room, `onFatal` is
 * told once and nothing is answered any more, neither appends nor elections: what is on the disk is
 * unknown, and only a new process that reads it can know. End the process.
 *
 * Nobody is called back from within a call: whatever is told is told in a later microtask.
 */

import { InvalidOptionError, type LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime, Storage } from '../../runtime/runtime.ts';
import type { FencedLog } from '../log.ts';
import { OpenLog } from './open-log.ts';
import { recover } from './recovery.ts';

export interface FileLogOptions {
  /** The directory, which the log has for itself; files with other names are left alone. */
  readonly storage: Storage;

  /** Takes what only one process at a time can have; rejects if another has it. Disposed at the end. */
  readonly lock: () => Promise<Disposable>;
  readonly runtime: Runtime;
  readonly logger: Logger;

  /** The storage has failed: nothing is acknowledged any more. End the process. Called once at most. */
  onFatal(error: LeaseholdError): void;

  /** Unlike any other, 1 to 68 bytes long: names the history of a log that begins. */
  readonly randomId: () => string;

  /** A larger batch is refused, in bytes. @default 16 MiB */
  readonly maxBatchBytes?: number | undefined;

  /**
   * How much room is made ahead, in bytes, so that most syncs need not change the length of a file.
   * More wastes space; less makes syncs slower more often; 0 makes none.
   *
   * @default 1 MiB
   */
  readonly preallocateBytes?: number | undefined;

  /** How long to wait before trying again to be elected on a full disk, in milliseconds. @default 1_000 */
  readonly retryMs?: number | undefined;
}

/** Plain fields, read when somebody wants to know. */
export interface FileLogStats {
  /** Of the snapshot and of all segments, without what is only preallocated. */
  readonly bytes: number;
  readonly segments: number;
  readonly lastSyncMs: number;
  /** Frames written and synced; each carries one batch or more. */
  readonly syncs: number;
  readonly appends: number;
  readonly refused: number;
  readonly compactions: number;
}

export interface FileLog extends FencedLog, AsyncDisposable {
  readonly stats: FileLogStats;

  /** Finishes what was begun, closes the files and gives the lock back. Whoever leads is deposed. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Takes the lock, reads everything, and mends the end if it was torn.
 *
 * Rejects with what `lock` rejected with; with DamagedLogError or UnknownLogFormatError, having
 * changed nothing; or with StorageFailedError.
 */
export async function openFileLog(options: FileLogOptions): Promise<FileLog> {
  const { maxBatchBytes = 1 << 24, preallocateBytes = 1 << 20, retryMs = 1_000 } = options;
  if (!(Number.isSafeInteger(maxBatchBytes) && maxBatchBytes > 0 && maxBatchBytes <= 2 ** 31)) {
    throw new InvalidOptionError('maxBatchBytes', maxBatchBytes, 'it must be a whole number from 1 to 2^31');
  }
  if (!(Number.isSafeInteger(preallocateBytes) && preallocateBytes >= 0)) {
    throw new InvalidOptionError(
      'preallocateBytes',
      preallocateBytes,
      'it must be a whole number, 0 or more',
    );
  }
  if (!(retryMs > 0)) throw new InvalidOptionError('retryMs', retryMs, 'it must be above 0');
  const lock = await options.lock();
  try {
    const recovered = await recover(options);
    return new OpenLog({ ...options, maxBatchBytes, preallocateBytes, retryMs }, recovered, lock);
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}
