/// <reference lib="esnext.disposable" preserve="true" />

/**
 * All that a process may ask of the surroundings. In production they will be the parts in `node/`; in a simulation,
 * those in `sim/`. Nothing else in the toolkit reads a clock, sets a timer, draws a number, opens a socket or touches
 * a file, and that is why a failure is a seed.
 */

import type { Instant } from './time.ts';

export interface Runtime {
  /** The monotonic clock of this process. The clock may stand still while the machine is suspended. */
  now(): Instant;
  /** The wall clock, in milliseconds. The wall clock may jump either way; compare readings only with each other. */
  wallMs(): number;
  /** Time since the machine booted, suspensions included, in milliseconds. Slow to read. */
  uptimeMs(): number;
  /** Calls back once, at `at` or later. Disposing before then cancels. */
  wakeAt(at: Instant, callback: () => void): Disposable;
  /** In [0, 1). */
  random(): number;
}

/** A path to peers that may lose, repeat, delay and reorder messages, but not alter them. */
export interface Transport<Out = unknown, In = unknown> {
  send(to: string, message: Out): void;
  listen(callback: (from: string, message: In) => void): Disposable;
}

/**
 * Files in one directory, with the promises of a POSIX file system and no more: written bytes are durable only after
 * `sync` of that file, a name only after `syncDirectory`. A `sync` that has failed once may have lost data although a
 * second one succeeds; the only safe answer is to stop.
 */
export interface Storage {
  /** Opens for reading and writing; creates a missing file. */
  open(name: string): Promise<StorageFile>;
  /** All names, those of directories and links too, which cannot be opened. */
  list(): Promise<readonly string[]>;
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  syncDirectory(): Promise<void>;
}

export interface StorageFile {
  size(): Promise<number>;
  /** Up to `length` bytes from `offset`; fewer at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
  write(offset: number, bytes: Uint8Array): Promise<void>;
  truncate(size: number): Promise<void>;
  sync(): Promise<void>;
  /** False once the name leads to another file, or to none: nobody will find bytes that are written here. */
  isInPlace(): Promise<boolean>;
  /**
   * True if the file has a second name, perhaps in another directory, where others may write (a hard link). @default
   * never
   */
  isShared?(): Promise<boolean>;
  /**
   * Names this very file: a copy has another identity. The converse need not hold: a file may have another identity after
   * a restart of the machine. @default not known
   */
  identity?(): Promise<string>;
  close(): Promise<void>;
}
