/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The fenced log on files of one machine, for a single Manager.
 *
 * Here the fence is a lock: `lock` must give something that one process at a time can have, and that is gone when the
 * process is. The process that has the log open is therefore the only one that can write, and is elected on request.
 * The leader lease counts from the last check that the path still leads to the locked directory (`fence.ts`); a log in
 * memory has no path, and a leader lease without an end. The remaining promise is durability, through every failure of
 * the power, the disk or the process:
 *
 *     open      lock ► read and verify everything ► mend the end ► make all durable
 *     campaign  the term, greater than any before, is durable ► elected
 *     append    one frame, one sync ► appended             (writer.ts)
 *     compact   new segment ► snapshot in place ► older files removed
 *
 * `open-log.ts` carries this out, `format.ts` has the format of the files, `recovery.ts` tells a torn end from damage.
 *
 * **When the storage fails**, by a failed sync or by anything else but a lack of room, or was replaced, `onFatal` is
 * told once and nothing is answered any more, neither appends nor elections: the contents of the disk are unknown, and
 * only a new process that reads the disk can know. End the process.
 *
 * Nobody is called back from within a call: every event is told in a later microtask.
 */

import { invalidOption } from '../../runtime/errors.ts';
import type { FileLog, FileLogOptions } from './file-log-options.ts';
import { OpenLog } from './open-log.ts';
import { recover } from './recovery.ts';

/**
 * Takes the lock, reads everything, and mends a torn end.
 *
 * Rejects with the error of `lock`; with DamagedLogError or UnknownLogFormatError, having changed nothing; or with
 * StorageFailedError.
 */
export async function openFileLog(options: FileLogOptions): Promise<FileLog> {
  const { maxBatchBytes = 1 << 24, preallocateBytes = 1 << 20, retryMs = 1_000 } = options;
  if (!(Number.isSafeInteger(maxBatchBytes) && maxBatchBytes > 0 && maxBatchBytes <= 2 ** 31)) {
    throw invalidOption('maxBatchBytes', maxBatchBytes, 'it must be a whole number from 1 to 2^31');
  }
  if (!(Number.isSafeInteger(preallocateBytes) && preallocateBytes >= 0)) {
    throw invalidOption('preallocateBytes', preallocateBytes, 'it must be a whole number, 0 or more');
  }
  if (!(retryMs > 0)) throw invalidOption('retryMs', retryMs, 'it must be above 0');
  const lock = await options.lock();
  try {
    const recovered = await recover(options);
    const log = new OpenLog({ ...options, maxBatchBytes, preallocateBytes, retryMs }, recovered, lock);
    await log.ensureKey();
    return log;
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}
