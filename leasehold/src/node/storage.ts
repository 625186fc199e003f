/**
 * Files in a real directory, with the promises of `Storage` and no more.
 *
 * A name is durable only when the directory with the name has been synced, and that is true of the directory itself
 * too: when `openDirectory` has to create the directory, every directory above that gained an entry is synced, from
 * the outermost in. Otherwise a power cut could take the whole log away although each file was synced.
 *
 * Only regular files are opened. A symbolic link may lead to a file that another process writes, and a pipe keeps
 * nothing. Such entries are listed all the same: a log that left them out would take the directory for an empty one.
 */

import { constants, statSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { invalidOption, LeaseholdError, StorageError } from '../runtime/errors.ts';
import type { Storage, StorageFile } from '../runtime/runtime.ts';

/** Only the user of the process may read: a log holds secrets by which others could pretend to be a peer. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'this user may not; change the owner or the mode of the directory',
  EPERM: 'this user may not; change the owner or the mode of the directory',
  EEXIST: 'there is a file of that name; give a directory',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full; free some space',
  EDQUOT: 'the quota of this user is used up; free some space',
  EIO: 'the device failed; what was written since the last sync may be lost, so stop',
  EMFILE: 'the process has too many files open; raise its limit',
  ENFILE: 'the machine has too many files open',
  ENOTDIR: 'a part of the path is not a directory',
  ENOENT: 'there is no such file',
  ELOOP: 'it is a symbolic link; put the file itself there',
  EISDIR: 'it is a directory; put the file itself there',
  EFTYPE: 'it is not a regular file; put the file itself there',
};

const LATER_PERHAPS: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE']);

/**
 * The file system refused. `code` is the one of the system, as `ENOSPC`. After `EIO` from a sync, stop.
 *
 * @internal
 */
export class FileSystemError extends StorageError {
  constructor(doing: string, path: string, cause: unknown) {
    const code = codeOf(cause) ?? 'UNKNOWN';
    const retryable = LATER_PERHAPS.has(code);
    super(code, `${code}: could not ${doing} "${path}": ${ADVICE[code] ?? String(cause)}`, {
      ...{ cause, retryable, details: { path } },
    });
  }
}

/** From the root: for people, who may be elsewhere when they read the path. */
export const wholePath = (path: string): string => resolve(path);

/**
 * The directory, which is created if missing.
 *
 * @throws {FileSystemError} if the directory cannot be created or the path is no directory
 */
export async function openDirectory(path: string): Promise<Storage> {
  const whole = resolve(path);
  await tried('make the directory', whole, async () => {
    const first = await mkdir(whole, { recursive: true, mode: DIRECTORY_MODE });
    if (first !== undefined) for (const parent of parentsOf(first, whole)) await syncDirectory(parent);
  });
  return directoryAt(whole);
}

/**
 * A directory that is reached by `base`, for instance by a descriptor, and is called `path` in errors.
 *
 * @internal
 */
export const directoryAt = (path: string, base: string = path): Storage => new Directory(path, base);

/**
 * The directory, which must be there.
 *
 * @throws {FileSystemError} if the path is missing, or is no directory
 */
export async function openExistingDirectory(path: string): Promise<Storage> {
  const directory = directoryAt(resolve(path));
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
  readonly #base: string;

  constructor(path: string, base: string) {
    this.#path = path;
    this.#base = base;
  }

  async open(name: string): Promise<StorageFile> {
    const at = this.#within(name);
    const path = join(this.#path, name);
    const flags = constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);
    return tried('open', path, async () => {
      const handle = await open(at, flags, FILE_MODE);
      const stats = await handle.stat({ bigint: true });
      if (stats.isFile()) return new OpenFile(path, at, handle, identityOf(stats));
      await handle.close();
      throw Object.assign(new Error('not a regular file'), { code: 'EFTYPE' });
    });
  }

  async list(): Promise<readonly string[]> {
    return tried('list', this.#path, () => readdir(this.#base));
  }

  async rename(from: string, to: string): Promise<void> {
    const [source, target] = [this.#within(from), this.#within(to)];
    await tried(`rename to ${to}`, join(this.#path, from), () => rename(source, target));
  }

  async remove(name: string): Promise<void> {
    const at = this.#within(name);
    await tried('remove', join(this.#path, name), () => unlink(at));
  }

  async syncDirectory(): Promise<void> {
    await tried('sync the directory', this.#path, () => syncDirectory(this.#base));
  }

  #within(name: string): string {
    if (name === '' || name === '.' || name === '..' || /[/\\\0]/.test(name)) {
      throw invalidOption('name', JSON.stringify(name), 'it must name a file in this directory');
    }
    return join(this.#base, name);
  }
}

class OpenFile implements StorageFile {
  readonly #path: string;
  readonly #at: string;
  readonly #handle: FileHandle;
  readonly #identity: string;

  constructor(path: string, at: string, handle: FileHandle, identity: string) {
    this.#path = path;
    this.#at = at;
    this.#handle = handle;
    this.#identity = identity;
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

  /** The length counts as data here: `fdatasync` leaves out only metadata that reading does not need. */
  async sync(): Promise<void> {
    await tried('sync', this.#path, () => this.#handle.datasync());
  }

  async isInPlace(): Promise<boolean> {
    return identityAt(this.#at, this.#path) === this.#identity;
  }

  /** The number of a removed file may be used again, but not with its time of birth. */
  async identity(): Promise<string> {
    const stats = await tried('look at', this.#path, () => this.#handle.stat({ bigint: true }));
    return `${identityOf(stats)}:${stats.birthtimeNs}`;
  }

  async isShared(): Promise<boolean> {
    return (await tried('look at', this.#path, () => this.#handle.stat())).nlink > 1;
  }

  async close(): Promise<void> {
    await tried('close', this.#path, () => this.#handle.close());
  }
}

/** This very file or directory, under any name: a copy has another identity. */
export const identityOf = ({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string =>
  `${dev}:${ino}`;

/**
 * Of the file or directory there; undefined if there is none. `path` is for the error. Synchronous: the answer is in
 * the cache of the kernel, and a trip to another thread takes a hundred times as long.
 */
export function identityAt(at: string, path: string = at): string | undefined {
  try {
    const stats = statSync(at, { bigint: true, throwIfNoEntry: false });
    return stats && identityOf(stats);
  } catch (cause) {
    throw new FileSystemError('look at', path, cause);
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
    throw new FileSystemError(doing, path, cause);
  }
}

const codeOf = (cause: unknown): string | undefined =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
