/**
 * A file that one process at a time can have, and that the kernel takes back when the process ends,
 * however it ends. No pid file: a pid is given to another process soon enough, and after a power cut
 * the file is still there.
 *
 * The lock belongs to the open file, not to the process that asked for it. So on Linux, where Node
 * has no call for it, a child does the asking: `flock` is handed our descriptor, locks it and ends,
 * and the lock stays with us, for as long as we keep the descriptor open. The BSDs lock in `open`.
 *
 *     we      open ─┬──────────────────── descriptor open: locked ───────┤ end, kill -9, close
 *     flock         └─ lock it, exit 0
 *
 * A descriptor can be locked whose file nobody will find again, because it was removed or replaced
 * after we had opened it. Then another process could lock the new file, and both would have "the"
 * lock. So with the lock in hand we look whether the path still leads to what we have locked, and
 * otherwise start again.
 *
 * The file also carries a text, which the next holder finds: `read` what the last one left, `write`
 * ours. The line above it says who holds the lock, for people only; nothing is decided by it.
 */

import { spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { present } from '../runtime/assert.ts';
import { LeaseholdError } from '../runtime/errors.ts';
import { StorageError } from './storage.ts';

export interface FileLock extends Disposable {
  readonly path: string;
  /** What the last `write` left, ours or an earlier holder's; empty if there was none. */
  read(): string;
  /** Replaces the text. Somebody who kills us in the middle leaves it empty, not mixed. */
  write(text: string): void;
}

/** Another process has the lock, or this one by an earlier call. Wait until it has ended, or end it. */
export class LockedError extends LeaseholdError {
  override readonly name = 'LockedError';
  readonly code = 'LOCKED';
  readonly retryable = true;
  readonly path: string;
  /** Who has it, as it said itself: `pid 4711 on db-3`. */
  readonly holder: string | undefined;

  constructor(path: string, holder: string | undefined) {
    super(`"${path}" is locked by ${holder ?? 'another process'}; stop that one, or use another path`);
    this.path = path;
    this.holder = holder;
  }
}

/** There is no lock on this platform that ends with its process. */
export class UnsupportedPlatformError extends LeaseholdError {
  override readonly name = 'UnsupportedPlatformError';
  readonly code = 'UNSUPPORTED_PLATFORM';
  readonly retryable = false;

  constructor(what: string, options?: ErrorOptions) {
    super(what, options);
  }
}

/** The same on all BSDs; Node does not name it. */
const O_EXLOCK = 0x20;
const BSD: ReadonlySet<string> = new Set(['darwin', 'freebsd', 'openbsd', 'netbsd']);

const MODE = 0o600;
/** How often the path may be replaced under our hands before we give up. */
const TRIES_MAX = 20;
/** The line that says who holds it has a fixed length, so that writing it does not touch the text. */
const NOTE_BYTES = 128;
const TEXT_BYTES_MAX = 64 * 1024;

/**
 * @throws {LockedError} if it is taken
 * @throws {UnsupportedPlatformError} if this platform has no such lock
 * @throws {StorageError} if the file cannot be opened
 */
export async function acquireLock(path: string): Promise<FileLock> {
  for (let attempt = 1; attempt <= TRIES_MAX; attempt += 1) {
    const descriptor = await openLocked(path);
    if (descriptor === 'taken') throw new LockedError(resolve(path), holderOf(path));
    try {
      if (leadsTo(path, descriptor)) return new Lock(path, descriptor);
    } catch (cause) {
      closeSync(descriptor);
      throw new StorageError('lock', path, cause);
    }
    closeSync(descriptor);
  }
  throw new LockedError(resolve(path), 'nobody for long: somebody keeps replacing it');
}

class Lock implements FileLock {
  readonly path: string;
  #descriptor: number | undefined;

  constructor(path: string, descriptor: number) {
    this.path = path;
    this.#descriptor = descriptor;
    const note = `pid ${process.pid} on ${hostname()}`.slice(0, NOTE_BYTES - 1);
    writeSync(descriptor, `${note.padEnd(NOTE_BYTES - 1)}\n`, 0);
  }

  read(): string {
    return readText(this.#open(), NOTE_BYTES, TEXT_BYTES_MAX);
  }

  write(text: string): void {
    const descriptor = this.#open();
    ftruncateSync(descriptor, NOTE_BYTES);
    writeSync(descriptor, text, NOTE_BYTES);
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #open(): number {
    return present(this.#descriptor, `the lock on ${this.path}, which has been released`);
  }
}

async function openLocked(path: string): Promise<number | 'taken'> {
  if (BSD.has(process.platform)) return openLockedOnBsd(path);
  if (process.platform === 'linux') return openLockedOnLinux(path);
  throw new UnsupportedPlatformError(
    `on ${process.platform} there is no file lock that ends with its process; use Linux, macOS or a BSD`,
  );
}

function openLockedOnBsd(path: string): number | 'taken' {
  try {
    return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | O_EXLOCK, MODE);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'EAGAIN' || code === 'EWOULDBLOCK') return 'taken';
    throw new StorageError('lock', path, cause);
  }
}

async function openLockedOnLinux(path: string): Promise<number | 'taken'> {
  const descriptor = openForLock(path);
  try {
    if (await flock(descriptor)) return descriptor;
  } catch (cause) {
    closeSync(descriptor);
    throw cause;
  }
  closeSync(descriptor);
  return 'taken';
}

function openForLock(path: string): number {
  try {
    return openSync(path, constants.O_RDWR | constants.O_CREAT, MODE);
  } catch (cause) {
    throw new StorageError('lock', path, cause);
  }
}

/** Whether the open file is now locked by us. */
function flock(descriptor: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn('flock', ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] });
    child.once('error', (cause) => {
      const message = 'the program flock did not start; install util-linux (or busybox)';
      reject(new UnsupportedPlatformError(message, { cause }));
    });
    child.once('exit', (status, signal) => {
      if (status === 0) resolve(true);
      else if (status === 1) resolve(false);
      else {
        const how = `flock ended with ${signal ?? status}`;
        reject(new UnsupportedPlatformError(`${how}: this file system may have no locks; use a local one`));
      }
    });
  });
}

function leadsTo(path: string, descriptor: number): boolean {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  const opened = fstatSync(descriptor, { bigint: true });
  return found !== undefined && found.ino === opened.ino && found.dev === opened.dev;
}

/** Information only, so whatever goes wrong here is no reason to fail. */
function holderOf(path: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY);
  } catch {
    return undefined;
  }
  try {
    const note = readText(descriptor, 0, NOTE_BYTES).trim();
    return note === '' ? undefined : note;
  } finally {
    closeSync(descriptor);
  }
}

function readText(descriptor: number, offset: number, length: number): string {
  const bytes = Buffer.alloc(length);
  return bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, length, offset));
}
