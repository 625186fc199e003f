/** The errors of a log on files, each with the next step. */

import { StorageError } from '../../runtime/errors.ts';

/**
 * A file of the log does not hold the written content. Entries after the damage may have been told to others as true,
 * so nothing is cut off and nothing is skipped.
 */
export class DamagedLogError extends StorageError {
  readonly file: string;
  /** In bytes from the beginning of the file. */
  readonly offset: number;

  constructor(file: string, offset: number, finding: string) {
    super(
      'DAMAGED_LOG',
      `the log is damaged in "${file}" at offset ${offset}: ${finding}. Nothing was changed. Keep a copy of ` +
        'the data directory and look at the disk. Then put back the whole directory from a backup and, if the Manager ' +
        'has run since that was taken, raise its counters (`leasehold manager recover`); or start ' +
        'with an empty directory, once all owners are stopped and a hold has passed: every lease and all lease ' +
        'numbers begin anew, and look-ups report everything as lost.',
      { details: { file, offset } },
    );
    this.file = file;
    this.offset = offset;
  }
}

/** The log was written by a version of this program that is newer than this one. */
export class UnknownLogFormatError extends StorageError {
  readonly file: string;
  readonly version: number;

  constructor(file: string, version: number, known: number) {
    super(
      'UNREADABLE_LOG',
      `"${file}" has format version ${version}, and this program knows ${known}. Nothing was changed. ` +
        'Start the version that wrote it, or a newer one.',
      { details: { file, version } },
    );
    this.file = file;
    this.version = version;
  }
}

/**
 * The storage failed, and the contents are unknown. Afterwards the log acknowledges nothing more: end the process. A
 * new process reads the real contents.
 */
export class StorageFailedError extends StorageError {
  readonly file: string;

  constructor(doing: string, file: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const full = isFull(cause);
    super(
      'STORAGE_FAILED',
      `could not ${doing} "${file}": ${why}. ${full ? 'Make room, then start again' : 'Look at the disk and at the kernel log before starting again'}; nothing is acknowledged any more.`,
      { cause, retryable: full, details: { file } },
    );
    this.file = file;
  }
}

/**
 * The path leads to another directory or file than the one that is locked and written. Somebody may lead there. So the
 * leader is deposed and the log acknowledges nothing more: end the process.
 */
export class LogReplacedError extends StorageError {
  readonly path: string;

  constructor(path: string, user: 'Manager' | 'replica' = 'Manager') {
    super('LOG_REPLACED', `"${path}" was renamed, removed or replaced while ${WHEN_REPLACED[user]}`, {
      details: { path },
    });
    this.path = path;
  }
}

const WHEN_REPLACED: Readonly<Record<'Manager' | 'replica', string>> = {
  Manager:
    'a Manager led on it, so the Manager no longer leads. Find out who did that. Put the data directory back as it was and start ' +
    'the Manager again; or start it on what is there now: an empty directory begins a new log, which waits until earlier leases have expired.',
  replica:
    'a replica used it, so the replica has stopped. Find out who did that. Put the directory back as it was and start the replica again; or ' +
    'start it with an empty directory and join: true (--join), and add it in place of the old one (leasehold quorum add <name>).',
};

/** Whether this says that there is no room: on the disk, or in the quota. */
export function isFull(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
