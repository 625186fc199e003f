/**
 * The simulated disk, with faults at the worst places: a write that fails after a part was written, and a sync of the
 * directory that fails.
 */

import type { Storage, StorageFile } from '../../../runtime/runtime.ts';
import { DiskError, type SimDisk } from '../../../sim/disk.ts';
import type { Random } from '../../../sim/random.ts';

export class FaultyStorage implements Storage {
  readonly #storage: Storage;
  readonly #disk: SimDisk;
  readonly #random: Random;
  #writesToFail = 0;
  #namesToFail = 0;

  /** `storage` is the disk as one process sees it. */
  constructor(disk: SimDisk, storage: Storage, random: Random) {
    this.#disk = disk;
    this.#storage = storage;
    this.#random = random;
  }

  failNextWrite(): void {
    this.#writesToFail += 1;
  }

  /** Whether a write is still to fail. */
  get willFail(): boolean {
    return this.#writesToFail > 0;
  }

  failNextSyncOfNames(): void {
    this.#namesToFail += 1;
  }

  async open(name: string): Promise<StorageFile> {
    const file = await this.#storage.open(name);
    return {
      size: () => file.size(),
      read: (offset, length) => file.read(offset, length),
      write: async (offset, bytes) => {
        if (this.#writesToFail === 0) return file.write(offset, bytes);
        this.#writesToFail -= 1;
        await file.write(offset, bytes.slice(0, this.#random.integer(0, bytes.length)));
        throw new DiskError('EIO', 'write', name);
      },
      truncate: (size) => file.truncate(size),
      sync: () => file.sync(),
      isInPlace: () => file.isInPlace(),
      close: () => file.close(),
    };
  }

  list(): Promise<readonly string[]> {
    return this.#storage.list();
  }

  rename(from: string, to: string): Promise<void> {
    return this.#storage.rename(from, to);
  }

  remove(name: string): Promise<void> {
    return this.#storage.remove(name);
  }

  syncDirectory(): Promise<void> {
    if (this.#namesToFail > 0) {
      this.#namesToFail -= 1;
      this.#disk.failNextSync();
    }
    return this.#storage.syncDirectory();
  }
}
