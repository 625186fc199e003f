/**
 * A directory that one process at a time can write to.
 *
 * The lock is on the directory itself and not on a file inside. So removed or replaced files make no difference, and
 * neither does the path by which a second process finds the directory: a rename or a bind mount leads to the same
 * inode, and that inode is locked. The file `lock` inside is locked as well, for processes that know only that file,
 * and names the holder.
 *
 * **The written directory is the locked one.** On Linux all files are reached through the descriptor that carries the
 * lock (`/proc/self/fd/N`). If somebody renames the directory and puts another in the place, this process goes on in
 * the locked one, and never removes or overwrites a file of the other. Elsewhere, and where there is no `/proc`, files
 * are reached by the path.
 *
 * **The lock cannot say** whether others still look here. A process that finds another directory under the path gets
 * the lock of that one. So a writer has to ask {@link LockedDirectory.isInPlace} again and again, and stop when the
 * answer is no.
 *
 * A network file system is refused: the file server keeps the locks, forgets them on losing sight of a machine, and
 * the process there goes on writing.
 */

import { closeSync, fstatSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import type { Storage } from '../../runtime/runtime.ts';
import { acquireLock, lockDirectory, UnsupportedPlatformError } from './lock.ts';
import { networkFileSystem } from './lock-file.ts';
import { directoryAt, identityAt, identityOf, FileSystemError, wholePath } from '../storage.ts';

export interface LockedDirectory extends Disposable {
  readonly path: string;
  readonly storage: Storage;
  /** False once the path leads to another directory, or to none. */
  isInPlace(): Promise<boolean>;
}

/** The directory is on a network file system, which can take the lock of a running process away unnoticed. */
export class NetworkDirectoryError extends InvalidArgumentError {
  readonly path: string;

  constructor(path: string, kind: string) {
    super(
      'NETWORK_DIRECTORY',
      `"${path}" is on a network file system (${kind}), whose server can drop the lock of a Manager that still runs, so that a ` +
        'second one leads beside it. Use a directory on a local disk. If only this machine ever uses the directory, ' +
        'say allowNetworkDirectory: true (--allow-network-directory)',
      { details: { path } },
    );
    this.path = path;
  }
}

export interface LockedDirectoryOptions {
  /** Takes a network file system for good enough. */
  readonly allowNetwork?: boolean | undefined;
  /** The kind of a file system, as Linux numbers them. @default asks the system */
  readonly fileSystemOf?: ((path: string) => number) | undefined;
}

/**
 * The directory must be there.
 *
 * @throws {LockedError} if another process has the directory
 * @throws {NetworkDirectoryError}
 * @throws {UnsupportedPlatformError} if this platform has no such lock
 * @throws {FileSystemError}
 */
export async function openLockedDirectory(
  directory: string,
  options: LockedDirectoryOptions = {},
): Promise<LockedDirectory> {
  const { allowNetwork = false, fileSystemOf = typeOf } = options;
  const path = wholePath(directory);
  const network = networkFileSystem(fileSystemOf(path));
  if (network !== undefined && !allowNetwork) throw new NetworkDirectoryError(path, network);
  const noteIn = join(path, 'lock');
  const descriptor = await lockDirectory(path, noteIn).catch((error: unknown) => {
    // Some network file systems can lock files and not directories.
    if (network !== undefined && error instanceof UnsupportedPlatformError) return undefined;
    throw error;
  });
  try {
    const note = await acquireLock(noteIn);
    return new Locked(path, descriptor, note);
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    throw error;
  }
}

class Locked implements LockedDirectory {
  readonly path: string;
  readonly storage: Storage;
  readonly #identity: string;
  readonly #note: Disposable;
  #descriptor: number | undefined;

  constructor(path: string, descriptor: number | undefined, note: Disposable) {
    const stats =
      descriptor === undefined ? statSync(path, { bigint: true }) : fstatSync(descriptor, { bigint: true });
    this.path = path;
    this.#identity = identityOf(stats);
    this.#descriptor = descriptor;
    this.#note = note;
    this.storage = directoryAt(path, baseOf(descriptor, this.#identity) ?? path);
  }

  async isInPlace(): Promise<boolean> {
    return identityAt(this.path) === this.#identity;
  }

  [Symbol.dispose](): void {
    this.#note[Symbol.dispose]();
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** A path that leads to the open directory, also after a rename. */
function baseOf(descriptor: number | undefined, identity: string): string | undefined {
  const base = `/proc/self/fd/${descriptor}`;
  if (descriptor === undefined || process.platform !== 'linux') return undefined;
  const found = statSync(base, { bigint: true, throwIfNoEntry: false });
  return found !== undefined && identityOf(found) === identity ? base : undefined;
}

function typeOf(path: string): number {
  if (process.platform !== 'linux') return 0;
  try {
    return statfsSync(path).type;
  } catch (cause) {
    throw new FileSystemError('look at', path, cause);
  }
}
