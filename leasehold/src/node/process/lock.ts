/**
 * A file that one process at a time can lock. The kernel releases the lock when the process ends, however that
 * happens. No pid file: a pid is given to another process soon enough, and after a power cut the file is still there.
 *
 * The lock belongs to the open file, not to the process that asked. So on Linux, where Node has no call for locks, a
 * child asks: `flock` is handed our descriptor, locks the descriptor and ends, and the lock stays with us, for as long
 * as we keep the descriptor open. The BSDs lock in `open`.
 *
 *     we      open ─┬──────────────────── descriptor open: locked ───────┤ end, kill -9, close
 *     flock         └─ locks, exit 0
 *
 * A descriptor can be locked whose file nobody will find again, because the file was removed or replaced after we had
 * opened it. Then another process could lock the new file, and both would have "the" lock. So with the lock in hand we
 * check whether the path still leads to the locked file, and otherwise start again.
 *
 * The file also carries a text, which the next holder finds: `read` the last holder's text, `write` ours. The line
 * above names the holder of the lock, for people only; nothing is decided by that line.
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
import { setTimeout } from 'node:timers/promises';
import { present } from '../../runtime/assert.ts';
import { InUseError, RefusedError } from '../../runtime/errors.ts';
import { FileSystemError } from '../storage.ts';

export interface FileLock extends Disposable {
  readonly path: string;
  /** The text of the last `write`, ours or an earlier holder's; empty if there was none. */
  read(): string;
  /** Replaces the text. A kill in the middle leaves the text empty, not mixed. */
  write(text: string): void;
}

/**
 * Another process has the lock, or this one by an earlier call. Wait until that process has ended, or end that
 * process.
 */
export class LockedError extends InUseError {
  readonly path: string;
  /** The holder, in its own words: `pid 4711 on db-3`. */
  readonly holder: string | undefined;

  constructor(path: string, holder: string | undefined, advice = 'stop that one, or use another path') {
    super('LOCKED', `"${path}" is locked by ${holder ?? 'another process'}; ${advice}`, {
      details: { path, holder },
    });
    this.path = path;
    this.holder = holder;
  }
}

/** There is no lock on this platform that ends with the process. */
export class UnsupportedPlatformError extends RefusedError {
  constructor(what: string, options?: ErrorOptions) {
    super('UNSUPPORTED_PLATFORM', what, options);
  }
}

/** The same on all BSDs; Node does not name the flag. */
const O_EXLOCK = 0x20;
const BSD: ReadonlySet<string> = new Set(['darwin', 'freebsd', 'openbsd', 'netbsd']);

const MODE = 0o600;
/** How often the path may be replaced under our hands before we give up. */
const TRIES_MAX = 20;
/** How often, and after which pause, a lock is asked for again that this very process had last. */
const OWN_TRIES_MAX = 5;
const OWN_PAUSE_MS = 40;
/** The line that names the holder has a fixed length, so that writing the line does not touch the text. */
const NOTE_BYTES = 128;
const TEXT_BYTES_MAX = 64 * 1024;

/**
 * @throws {LockedError} if the lock is taken
 * @throws {UnsupportedPlatformError} if this platform has no such lock
 * @throws {FileSystemError} if the file cannot be opened
 */
export async function acquireLock(path: string): Promise<FileLock> {
  for (let attempt = 1; attempt <= TRIES_MAX; attempt += 1) {
    const descriptor = await openLockedAgain(path, 'file', path);
    if (descriptor === 'taken') throw new LockedError(resolve(path), holderOf(path));
    try {
      if (leadsTo(path, descriptor)) return new Lock(path, descriptor);
    } catch (cause) {
      closeSync(descriptor);
      throw new FileSystemError('lock', path, cause);
    }
    closeSync(descriptor);
  }
  throw new LockedError(resolve(path), 'no process for long: another process keeps replacing the file');
}

class Lock implements FileLock {
  readonly path: string;
  #descriptor: number | undefined;

  constructor(path: string, descriptor: number) {
    this.path = path;
    this.#descriptor = descriptor;
    writeSync(descriptor, `${ownNote().padEnd(NOTE_BYTES - 1)}\n`, 0);
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

type Kind = 'file' | 'directory';

const FLAGS: Readonly<Record<Kind, number>> = {
  file: constants.O_RDWR | constants.O_CREAT,
  directory: constants.O_RDONLY | constants.O_DIRECTORY,
};

const ownNote = (): string => `pid ${process.pid} on ${hostname()}`.slice(0, NOTE_BYTES - 1);

/**
 * Until its program begins, a child that this process starts shares all of our descriptors, also those that we close meanwhile. So
 * a lock that this process itself has just let go of may be taken for a moment longer.
 */
async function openLockedAgain(path: string, kind: Kind, noteIn: string): Promise<number | 'taken'> {
  for (let attempt = 1; ; attempt += 1) {
    const descriptor = await openLocked(path, kind);
    if (descriptor !== 'taken' || attempt === OWN_TRIES_MAX || holderOf(noteIn) !== ownNote())
      return descriptor;
    await setTimeout(OWN_PAUSE_MS);
  }
}

async function openLocked(path: string, kind: Kind): Promise<number | 'taken'> {
  if (BSD.has(process.platform)) return openLockedOnBsd(path, kind);
  if (process.platform === 'linux') return openLockedOnLinux(path, kind);
  throw new UnsupportedPlatformError(
    `on ${process.platform} there is no file lock that ends with its process; use Linux, macOS or a BSD`,
  );
}

function openLockedOnBsd(path: string, kind: Kind): number | 'taken' {
  try {
    return openSync(path, FLAGS[kind] | constants.O_NONBLOCK | O_EXLOCK, MODE);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'EAGAIN' || code === 'EWOULDBLOCK') return 'taken';
    throw new FileSystemError('lock', path, cause);
  }
}

async function openLockedOnLinux(path: string, kind: Kind): Promise<number | 'taken'> {
  const descriptor = openForLock(path, kind);
  try {
    if (await flock(descriptor)) return descriptor;
  } catch (cause) {
    closeSync(descriptor);
    throw cause;
  }
  closeSync(descriptor);
  return 'taken';
}

function openForLock(path: string, kind: Kind): number {
  try {
    return openSync(path, FLAGS[kind], MODE);
  } catch (cause) {
    throw new FileSystemError('lock', path, cause);
  }
}

/**
 * A descriptor of the directory, which is locked. Closing the descriptor releases the lock.
 *
 * @throws as {@link acquireLock}; with the holder that `noteIn` names
 */
export async function lockDirectory(path: string, noteIn: string): Promise<number> {
  for (let attempt = 1; attempt <= TRIES_MAX; attempt += 1) {
    const descriptor = await openLockedAgain(path, 'directory', noteIn);
    if (descriptor === 'taken') throw new LockedError(resolve(path), holderOf(noteIn));
    if (leadsTo(path, descriptor)) return descriptor;
    closeSync(descriptor);
  }
  throw new LockedError(resolve(path), 'no process for long: another process keeps replacing the file');
}

/** Whether the open file or directory is now locked by us. */
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

/** Information only, so no error here is a reason to fail. */
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
