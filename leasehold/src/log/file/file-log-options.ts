/// <reference lib="esnext.disposable" preserve="true" />

/** A log on files as others see it, and what it is opened with. */

import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime, Storage } from '../../runtime/runtime.ts';
import type { FencedLog } from '../log.ts';
import type { LogLock } from './fence.ts';

export interface FileLogOptions {
  /** The directory, which the log has for itself; files with other names are left alone. */
  readonly storage: Storage;

  /** Takes a lock that only one process at a time can have; rejects if another has the lock. Disposed at the end. */
  readonly lock: () => Promise<LogLock>;

  /** How long a leader acts without looking whether the log is in place, in milliseconds. @default without end */
  readonly leaderLeaseMs?: (() => number) | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;

  /** The storage has failed: nothing is acknowledged any more. End the process. Called once at most. */
  onFatal(error: LeaseholdError): void;

  /** Unique, 1 to 36 bytes long: names the history of a new log, whose key is made of two. */
  readonly randomId: () => string;

  /** The floor of a log that begins: `newLogFloor`, unless a test wants positions from 1. */
  readonly beginAbove: () => number;

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
  /** Of the snapshot and of all segments, without preallocated space. */
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
  /** The position of the last batch that is durable. */
  readonly head: number;

  /** Finishes pending work, closes the files and releases the lock. A leader is deposed. */
  [Symbol.asyncDispose](): Promise<void>;
}
