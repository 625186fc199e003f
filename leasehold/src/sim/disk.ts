/**
 * A disk that keeps the promised bytes, and as little as possible of the rest.
 *
 * Everything exists twice: in the page cache, which programs see, and on the platter.
 *
 *     write ──► seen ──sync──► durable          a file, sector by sector
 *     create, rename, remove ──► seen ──syncDirectory──► durable      the names
 *
 * Until synced, a sector is *dirty*: the sector may have reached the platter or not. A power cut ({@link
 * SimDisk.crash}) draws which sectors did: none, all, a beginning, or any, so that of a long write the second half
 * alone may be there. Sectors are written whole. The length of a file is dirty or durable like a sector, and may have
 * grown although the bytes did not arrive; they are zeros then. The same holds for names: a file that was synced, but
 * not the directory, may be gone.
 *
 * A sync that fails draws for each sector whether the sector was written, and forgets that the others are dirty, as
 * Linux does: programs still read the new bytes, a second sync succeeds without writing them, and the next power cut
 * brings the old bytes back. The only safe reaction is to stop.
 *
 * A process that is killed loses nothing here; only a power cut does. Operations complete through
 * events of the world, so the world must be run with `runAsync`.
 */

import { invalidOption, SingleError } from '../runtime/errors.ts';
import type { Storage, StorageFile } from '../runtime/runtime.ts';
import type { Span } from './network.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

export interface DiskOptions {
  /** Tells the disks of one world apart. */
  name: string;

  /** How long anything but a sync takes. @default [0.01, 0.2] */
  delayMs?: Span | undefined;

  /** How long a sync takes. @default [0.5, 5] */
  syncMs?: Span | undefined;

  /** The probability that a sync takes {@link slowSyncMs} instead. @default 0 */
  slowSyncChance?: number | undefined;

  /** @default [100, 3_000] */
  slowSyncMs?: Span | undefined;

  /** The probability that a sync fails, of a file or of the directory. @default 0 */
  syncFailChance?: number | undefined;

  /** How many bytes all files together may have; see {@link SimDisk.capacityBytes}. @default Infinity */
  capacityBytes?: number | undefined;

  /** The unit that is written whole or not at all. @default 512 */
  sectorBytes?: number | undefined;
}

export interface DiskCounts {
  writes: number;
  bytesWritten: number;
  syncs: number;
  failedSyncs: number;
  powerCuts: number;
}

export type DiskErrorCode = 'EIO' | 'ENOSPC' | 'ENOENT' | 'EBADF';

const WHY: Record<DiskErrorCode, string> = {
  EIO: 'the device failed',
  ENOSPC: 'the disk is full',
  ENOENT: 'there is no such file',
  EBADF: 'the file is closed',
};

/** The error that Node would throw, with the same codes. After `EIO` from a sync, stop. */
export class DiskError extends SingleError {
  override readonly name = 'DiskError';
  readonly code: DiskErrorCode;
  readonly retryable: boolean;
  readonly file: string;

  constructor(code: DiskErrorCode, doing: string, file: string) {
    super(`${code}: could not ${doing} "${file}": ${WHY[code]}`);
    this.code = code;
    this.retryable = code === 'ENOSPC';
    this.file = file;
  }
}

/** Hands a completed operation to the caller. */
type Hand = (complete: () => void) => void;

export class SimDisk implements Storage {
  readonly name: string;
  readonly counts: DiskCounts = { writes: 0, bytesWritten: 0, syncs: 0, failedSyncs: 0, powerCuts: 0 };
  /** May be changed: to less than {@link usedBytes}, nothing can grow any more. */
  capacityBytes: number;
  syncFailChance: number;
  slowSyncChance: number;
  readonly #world: World;
  readonly #random: Random;
  readonly #delayMs: Span;
  readonly #syncMs: Span;
  readonly #slowSyncMs: Span;
  readonly #sectorBytes: number;
  readonly #directory: Directory;
  /** For users of the disk itself. */
  readonly #direct: Storage = this.mount((complete) => complete());
  /** An operation that begins in one power-on period never completes in another. */
  #period = 0;
  #syncsToFail = 0;

  constructor(world: World, options: DiskOptions) {
    this.name = options.name;
    this.#world = world;
    this.#random = world.random.fork(`disk ${options.name}`);
    this.#delayMs = options.delayMs ?? [0.01, 0.2];
    this.#syncMs = options.syncMs ?? [0.5, 5];
    this.#slowSyncMs = options.slowSyncMs ?? [100, 3_000];
    this.slowSyncChance = options.slowSyncChance ?? 0;
    this.syncFailChance = options.syncFailChance ?? 0;
    this.capacityBytes = options.capacityBytes ?? Number.POSITIVE_INFINITY;
    this.#sectorBytes = options.sectorBytes ?? 512;
    if (!(Number.isInteger(this.#sectorBytes) && this.#sectorBytes > 0)) {
      throw invalidOption('sectorBytes', options.sectorBytes, 'it must be a whole number above 0');
    }
    this.#directory = new Directory(this.#sectorBytes, this.#random.fork('write-back'));
  }

  /** The length of all files, as programs see them. */
  get usedBytes(): number {
    let used = 0;
    for (const content of new Set(this.#directory.seen.values())) used += content.size;
    return used;
  }

  /** The next syncs, of files or of the directory, fail with `EIO`. */
  failNextSync(times = 1): void {
    this.#syncsToFail += times;
  }

  /**
   * The power is cut. Bytes that were not durable may be lost, and a running operation never completes; crash the
   * processes as well. Programs find the rest when they open files again.
   */
  crash(): void {
    this.counts.powerCuts += 1;
    this.#period += 1;
    this.#directory.powerCut(this.#random);
    if (this.#world.tracing) this.#world.note(this.name, { what: 'power-cut', facts: {} });
  }

  /** This disk for one process: every completion is handed over in the way given. */
  mount(hand: Hand): Storage {
    return {
      open: (name) => this.#open(name, hand),
      list: () => this.#act(hand, () => [...this.#directory.seen.keys()].sort()),
      rename: (from, to) => this.#act(hand, () => this.#directory.rename(from, to)),
      remove: (name) => this.#act(hand, () => this.#directory.remove(name)),
      syncDirectory: () => this.#syncDirectory(hand),
    };
  }

  open(name: string): Promise<StorageFile> {
    return this.#direct.open(name);
  }

  list(): Promise<readonly string[]> {
    return this.#direct.list();
  }

  rename(from: string, to: string): Promise<void> {
    return this.#direct.rename(from, to);
  }

  remove(name: string): Promise<void> {
    return this.#direct.remove(name);
  }

  syncDirectory(): Promise<void> {
    return this.#direct.syncDirectory();
  }

  async #open(name: string, hand: Hand): Promise<StorageFile> {
    const period = this.#period;
    const content = await this.#act(hand, () => this.#directory.open(name));
    let closed = false;
    const act = <T>(doing: string, action: () => T): Promise<T> => {
      if (closed) return Promise.reject(new DiskError('EBADF', doing, name));
      return this.#act(hand, action, period);
    };
    return {
      size: () => act('look at', () => content.size),
      read: (offset, length) => act('read', () => content.read(offset, length)),
      write: (offset, bytes) => {
        const copy = bytes.slice(); // The caller may reuse the buffer at once.
        return act('write', () => this.#write(name, content, offset, copy));
      },
      truncate: (size) =>
        act('truncate', () => {
          if (size > content.size && this.#free() < size - content.size) {
            throw new DiskError('ENOSPC', 'lengthen', name);
          }
          content.resize(size);
        }),
      sync: () => {
        if (closed) return Promise.reject(new DiskError('EBADF', 'sync', name));
        return this.#sync(hand, name, content.beginSync(), period);
      },
      isInPlace: () => act('look at', () => this.#directory.seen.get(name) === content),
      close: () =>
        act('close', () => {
          closed = true;
        }),
    };
  }

  #write(name: string, content: Content, offset: number, bytes: Uint8Array): void {
    this.counts.writes += 1;
    const end = offset + bytes.length;
    const lacking = Math.max(0, end - content.size) - Math.max(0, this.#free());
    if (lacking <= 0) {
      this.counts.bytesWritten += bytes.length;
      content.write(offset, bytes);
      return;
    }
    // As much as fits is there all the same: a full disk tears a write like a power cut.
    const fitting = Math.max(0, bytes.length - lacking);
    this.counts.bytesWritten += fitting;
    if (fitting > 0) content.write(offset, bytes.subarray(0, fitting));
    throw new DiskError('ENOSPC', 'write', name);
  }

  #syncDirectory(hand: Hand): Promise<void> {
    return this.#sync(hand, '.', this.#directory.beginSync(), this.#period);
  }

  #sync(hand: Hand, name: string, endSync: EndSync, period: number): Promise<void> {
    const random = this.#random;
    const slow = this.slowSyncChance > 0 && random.chance(this.slowSyncChance);
    let fails = this.syncFailChance > 0 && random.chance(this.syncFailChance);
    if (this.#syncsToFail > 0) {
      this.#syncsToFail -= 1;
      fails = true;
    }
    const action = (): void => {
      this.counts.syncs += 1;
      endSync(fails ? random : undefined);
      if (!fails) return;
      this.counts.failedSyncs += 1;
      if (this.#world.tracing) this.#world.note(this.name, { what: 'sync-failed', facts: { file: name } });
      throw new DiskError('EIO', 'sync', name);
    };
    return this.#act(hand, action, period, slow ? this.#slowSyncMs : this.#syncMs);
  }

  /** Does something after a while, unless the power is cut before, and hands over the result. */
  #act<T>(hand: Hand, action: () => T, period = this.#period, span = this.#delayMs): Promise<T> {
    const { promise, resolve, reject } = deferred<T>();
    this.#world.after(this.#random.between(span[0], span[1]), () => {
      if (period !== this.#period) return;
      try {
        const result = action();
        hand(() => resolve(result));
      } catch (error) {
        hand(() => reject(error));
      }
    });
    return promise;
  }

  #free(): number {
    return this.capacityBytes - this.usedBytes;
  }
}

/**
 * Makes durable the sectors that were dirty when the sync began; with chance, a sync that failed: only some sectors,
 * and the rest is not dirty any more either.
 */
type EndSync = (failing: Random | undefined) => void;

/** The length of a file is kept among the dirty sectors under this number. */
const LENGTH = -1;

/** The bytes of one file, under all names. */
class Content {
  readonly #sectorBytes: number;
  #seen = new Uint8Array(0);
  #seenSize = 0;
  #durable = new Uint8Array(0);
  #durableSize = 0;
  /** In the order in which they became dirty. */
  readonly #dirty = new Set<number>();
  readonly #writeBack: Random;

  constructor(sectorBytes: number, writeBack: Random) {
    this.#sectorBytes = sectorBytes;
    this.#writeBack = writeBack;
  }

  get size(): number {
    return this.#seenSize;
  }

  read(offset: number, length: number): Uint8Array {
    return this.#seen.slice(offset, Math.min(offset + length, this.#seenSize));
  }

  write(offset: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const end = offset + bytes.length;
    if (end > this.#seenSize) this.resize(end);
    this.#soil(offset, end);
    this.#seen.set(bytes, offset);
  }

  resize(size: number): void {
    const [low, high] = size < this.#seenSize ? [size, this.#seenSize] : [this.#seenSize, size];
    this.#soil(low, high);
    this.#soilSector(LENGTH);
    this.#seen = fitted(this.#seen, high);
    this.#seen.fill(0, low, high);
    this.#seenSize = size;
  }

  beginSync(): EndSync {
    const dirty = [...this.#dirty];
    return (failing) => {
      for (const sector of dirty) {
        if (failing === undefined || failing.chance(0.5)) this.#settle(sector);
        this.#dirty.delete(sector);
      }
    };
  }

  powerCut(random: Random): void {
    for (const sector of survivors([...this.#dirty], random)) this.#settle(sector);
    this.#dirty.clear();
    this.#seen = this.#durable.slice();
    this.#seenSize = this.#durableSize;
    // Past the end there are zeros, also where there were bytes before.
    this.#seen = fitted(this.#seen, this.#seenSize);
    this.#seen.fill(0, this.#seenSize);
    this.#durable = this.#seen.slice();
  }

  /** Called before the bytes change, so that the old bytes may still be written back. */
  #soil(from: number, to: number): void {
    if (from >= to) return;
    const last = Math.floor((to - 1) / this.#sectorBytes);
    for (let sector = Math.floor(from / this.#sectorBytes); sector <= last; sector++) {
      this.#soilSector(sector);
    }
  }

  #soilSector(sector: number): void {
    if (!this.#dirty.has(sector)) this.#dirty.add(sector);
    else if (this.#writeBack.chance(0.25)) this.#settle(sector);
  }

  /** The seen bytes of this sector are now on the platter. */
  #settle(sector: number): void {
    if (sector === LENGTH) {
      this.#durableSize = this.#seenSize;
      return;
    }
    const from = sector * this.#sectorBytes;
    const to = Math.min(from + this.#sectorBytes, this.#seen.length);
    this.#durable = fitted(this.#durable, to);
    this.#durable.set(this.#seen.subarray(from, to), from);
  }
}

/** The names of the files. A rename is there or not, never half there. */
class Directory {
  readonly seen = new Map<string, Content>();
  readonly #sectorBytes: number;
  readonly #writeBack: Random;
  readonly #durable = new Map<string, Content>();
  /** The changes of names that are not durable yet, oldest first. */
  #pending: ((names: Map<string, Content>) => void)[] = [];

  constructor(sectorBytes: number, writeBack: Random) {
    this.#sectorBytes = sectorBytes;
    this.#writeBack = writeBack;
  }

  open(name: string): Content {
    const known = this.seen.get(name);
    if (known !== undefined) return known;
    const content = new Content(this.#sectorBytes, this.#writeBack);
    this.#change((names) => names.set(name, content));
    return content;
  }

  rename(from: string, to: string): void {
    const content = this.seen.get(from);
    if (content === undefined) throw new DiskError('ENOENT', 'rename', from);
    if (from === to) return;
    this.#change((names) => {
      names.delete(from);
      names.set(to, content);
    });
  }

  remove(name: string): void {
    if (!this.seen.has(name)) throw new DiskError('ENOENT', 'remove', name);
    this.#change((names) => names.delete(name));
  }

  beginSync(): EndSync {
    const changes = this.#pending.slice();
    return (failing) => {
      // Another sync may have settled some of them meanwhile.
      const due = changes.filter((change) => this.#pending.includes(change));
      const settled = failing === undefined ? due : due.filter(() => failing.chance(0.5));
      for (const change of settled) change(this.#durable);
      this.#pending = this.#pending.filter((change) => !due.includes(change));
    };
  }

  powerCut(random: Random): void {
    for (const change of survivors(this.#pending, random)) change(this.#durable);
    this.#pending = [];
    this.seen.clear();
    for (const [name, content] of this.#durable) this.seen.set(name, content);
    for (const content of new Set(this.seen.values())) content.powerCut(random);
  }

  #change(change: (names: Map<string, Content>) => void): void {
    change(this.seen);
    this.#pending.push(change);
  }
}

/** Which of the things that may survive a power cut do: none, all, the first few, or any. */
function survivors<T>(things: readonly T[], random: Random): readonly T[] {
  switch (random.integer(0, 3)) {
    case 0:
      return [];
    case 1:
      return things;
    case 2:
      return things.slice(0, random.integer(0, things.length));
    default: {
      const chance = random.next();
      return things.filter(() => random.chance(chance));
    }
  }
}

/** The same bytes with room for so many at least. */
function fitted(bytes: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> {
  if (size <= bytes.length) return bytes;
  const larger = new Uint8Array(Math.max(size, 2 * bytes.length, 1_024));
  larger.set(bytes);
  return larger;
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
