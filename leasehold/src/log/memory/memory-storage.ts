/**
 * Files that are nowhere but in memory: for a Manager that keeps nothing, in tests and in small services where
 * everything lives and dies with one process. Behaves like a file system (a removed file is still there for those who
 * have the file open) and never fails.
 */

import type { Storage, StorageFile } from '../../runtime/runtime.ts';
import { SingleError } from '../../runtime/errors.ts';

/** A name that is not there. The code is that of a file system. */
export class NoSuchFileError extends SingleError {
  override readonly name = 'NoSuchFileError';
  readonly code = 'ENOENT';
  readonly retryable = false;

  constructor(file: string) {
    super(`there is no file "${file}" in memory`);
  }
}

export function memoryStorage(): Storage {
  const files = new Map<string, MemoryFile>();
  const known = (name: string): MemoryFile => {
    const file = files.get(name);
    if (file === undefined) throw new NoSuchFileError(name);
    return file;
  };
  return {
    open: async (name) => {
      const file = files.get(name) ?? new MemoryFile(() => files.values());
      files.set(name, file);
      return file;
    },
    list: async () => [...files.keys()].sort(),
    rename: async (from, to) => {
      const file = known(from);
      files.delete(from);
      files.set(to, file);
    },
    remove: async (name) => {
      known(name);
      files.delete(name);
    },
    syncDirectory: async () => {},
  };
}

class MemoryFile implements StorageFile {
  #bytes = new Uint8Array(0);
  #size = 0;
  readonly #named: () => Iterable<MemoryFile>;

  constructor(named: () => Iterable<MemoryFile>) {
    this.#named = named;
  }

  async isInPlace(): Promise<boolean> {
    return [...this.#named()].includes(this);
  }

  async size(): Promise<number> {
    return this.#size;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    return this.#bytes.slice(offset, Math.min(offset + length, this.#size));
  }

  async write(offset: number, bytes: Uint8Array): Promise<void> {
    this.#resize(Math.max(this.#size, offset + bytes.length));
    this.#bytes.set(bytes, offset);
  }

  async truncate(size: number): Promise<void> {
    this.#resize(size);
  }

  async sync(): Promise<void> {}

  async close(): Promise<void> {}

  /** The bytes after the end are always zeros. */
  #resize(size: number): void {
    if (size > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(size, 2 * this.#bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    if (size < this.#size) this.#bytes.fill(0, size, this.#size);
    this.#size = size;
  }
}
