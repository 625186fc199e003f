/**
 * Files in a real directory, with the promises of `Storage` and no more.
 *
 * A name is durable only when the directory that holds it has been synced, and that is true of the
 * directory itself too: when `openDirectory` has to make it, every directory above that gained an
 * entry is synced, from the outermost in. Otherwise a power cut could take the whole log away
 * although each file in it was synced.
 */

import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { InvalidOptionError, LeaseholdError } from '../runtime/errors.ts';
import type { Storage, StorageFile } from '../runtime/runtime.ts';

/** Only the user that runs the process may look: a log holds what others could pretend to be. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'this user may not; change the owner or the mode of the directory',
  EPERM: 'this user may not; change the owner or the mode of the directory',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full; free some space',
  EDQUOT: 'the quota of this user is used up; free some space',
  EIO: 'the device failed; what was written since the last sync may be lost, so stop',
  EMFILE: 'the process has too many files open; raise its limit',
  ENFILE: 'the machine has too many files open',
  ENOTDIR: 'a part of the path is not a directory',
  ENOENT: 'there is no such file',
};

const LATER_PERHAPS: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE']);

/** The file system refused. `code` is the one of the system, as `ENOSPC`. After `EIO` from a sync, stop. */
export class StorageError extends LeaseholdError {
  override readonly name = 'StorageError';
  readonly code: string;
  readonly retryable: boolean;
  readonly path: string;

  constructor(doing: string, path: string, cause: unknown) {
    const code = codeOf(cause) ?? 'UNKNOWN';
    super(`${code}: could not ${doing} "${path}": ${ADVICE[code] ?? String(cause)}`, { cause });
    this.code = code;
    this.retryable = LATER_PERHAPS.has(code);
    this.path = path;
  }
}

/** From the root: for people, who may be elsewhere when they read it. */
export const wholePath = (path: string): string => resolve(path);

/**
 * The directory, which is made if it is missing.
 *
 * @throws {StorageError} if it cannot be made or is none
 */
export async function openDirectory(path: string): Promise<Storage> {
  const whole = resolve(path);
  await tried('make the directory', whole, async () => {
    const first = await mkdir(whole, { recursive: true, mode: DIRECTORY_MODE });
    if (first !== undefined) for (const parent of parentsOf(first, whole)) await syncDirectory(parent);
  });
  return new Directory(whole);
}

/**
 * The directory, which must be there.
 *
 * @throws {StorageError} if it is not, or is none
 */
export async function openExistingDirectory(path: string): Promise<Storage> {
  const directory = new Directory(resolve(path));
  await directory.list();
  return directory;
}

/** The directories that gained an entry when all from `first` down to `last` were made, outermost first. */
function parentsOf(first: string, last: string): string[] {
  const parents: string[] = [];
  for (let made = last; made.length >= first.length; made = dirname(made)) parents.unshift(dirname(made));
  return parents;
}

class Directory implements Storage {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async open(name: string): Promise<StorageFile> {
    const path = this.#pathOf(name);
    const flags = constants.O_RDWR | constants.O_CREAT;
    return new OpenFile(path, await tried('open', path, () => open(path, flags, FILE_MODE)));
  }

  async list(): Promise<readonly string[]> {
    const entries = await tried('list', this.#path, () => readdir(this.#path, { withFileTypes: true }));
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  }

  async rename(from: string, to: string): Promise<void> {
    const path = this.#pathOf(from);
    await tried(`rename to ${to}`, path, () => rename(path, this.#pathOf(to)));
  }

  async remove(name: string): Promise<void> {
    const path = this.#pathOf(name);
    await tried('remove', path, () => unlink(path));
  }

  async syncDirectory(): Promise<void> {
    await tried('sync the directory', this.#path, () => syncDirectory(this.#path));
  }

  #pathOf(name: string): string {
    if (name === '' || name === '.' || name === '..' || /[/\\\0]/.test(name)) {
      throw new InvalidOptionError('name', JSON.stringify(name), 'it must name a file in this directory');
    }
    return join(this.#path, name);
  }
}

class OpenFile implements StorageFile {
  readonly #path: string;
  readonly #handle: FileHandle;

  constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  async size(): Promise<number> {
    return (await tried('ask the size of', this.#path, () => this.#handle.stat())).size;
  }

  /** A read may give less than was asked for although there is more; only nothing means the end. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const size = await this.size();
    const bytes = Buffer.allocUnsafeSlow(Math.max(Math.min(length, size - offset), 0));
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await tried('read', this.#path, () =>
        this.#handle.read(bytes, filled, bytes.length - filled, offset + filled),
      );
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return bytes.subarray(0, filled);
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    let written = 0;
    while (written < bytes.length) {
      const { bytesWritten } = await tried('write', this.#path, () =>
        this.#handle.write(bytes, written, bytes.length - written, offset + written),
      );
      written += bytesWritten;
    }
  }

  async truncate(size: number): Promise<void> {
    await tried('truncate', this.#path, () => this.#handle.truncate(size));
  }

  /** The length counts as data here: `fdatasync` leaves out only what nobody needs to read them. */
  async sync(): Promise<void> {
    await tried('sync', this.#path, () => this.#handle.datasync());
  }

  async close(): Promise<void> {
    await tried('close', this.#path, () => this.#handle.close());
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function tried<T>(doing: string, path: string, does: () => Promise<T>): Promise<T> {
  try {
    return await does();
  } catch (cause) {
    if (cause instanceof LeaseholdError) throw cause;
    throw new StorageError(doing, path, cause);
  }
}

const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
