/**
 * State in memory that is only as good as the lease at the time of writing.
 *
 *     number 5 ├── held ──┤          number 9 ├── held ──┤
 *               set(held, a)                    get(held)   undefined: another owner may have changed the state since
 *
 * Entries lie in partitions, one for the keys of each unbroken tenure; `partitions.ts` says why an entry that is found is current. Memory
 * is freed when the keys are another's; no correctness depends on that.
 *
 * Entries are read and written with the handle of the work that does so, not with the bare key. Otherwise work that has lost the lease
 * without knowing so could write a result under the number of the *next* lease, and state that another owner has changed since
 * would pass for current.
 *
 * **Memory.** What nobody can read any more is removed in slices, a few thousand entries a turn of the event loop, so that no request waits
 * long: entries that have ended, and entries of lost keys in a partition of which other keys are left. A full map does the rest at once.
 *
 * **Moves.** The entries of a map with a name move with their keys (`map-movable.ts`).
 *
 * **Order.** All entries of a map have one TTL, and an entry that is set or touched is put at the end of its partition. So the order of insertion
 * is the order of expiry, and the next entry to end, or to be evicted, is the first one of some partition (`oldest-first.ts`).
 */

import { assert } from '../../../runtime/assert.ts';
import { type Alarm, alarmOn } from '../../../runtime/driver.ts';
import { invalidOption, type LeaseLostError } from '../../../runtime/errors.ts';
import { checkKeyHash, hashKey, type Key } from '../../../runtime/keys/hash.ts';
import { highOf, lowOf } from '../../../runtime/keys/position.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { earliest, type Instant, instant, later } from '../../../runtime/time.ts';
import type { NumberedSpan } from '../../core/messages.ts';
import { leaseLost, mapIsFull, notHeld, valueTooLarge } from '../errors.ts';
import type { HeldKey } from '../owner/held-keys.ts';
import { freezeDeep } from './freeze-deep.ts';
import type { LeasedMapSettings } from './leased-map-options.ts';
import { OldestFirst } from './oldest-first.ts';
import type { Entry, Partition } from './partition.ts';
import { MapMovable } from './map-movable.ts';
import { type Cut, Partitions, type Tenure } from './partitions.ts';
import { TouchedKeys } from './touched-keys.ts';

/** What a map asks the owner. @internal */
export interface Leases {
  /** The first number of the tenure, if the position is held now and no other owner can have held it since `number`. */
  heldSince(high: number, low: number, number: number, now: Instant): number | undefined;
  /** True if the key is held now and no other owner can have held it since `number`. */
  isHeld(key: Key, number: number): boolean;
  /** The first number of the tenure, if new work on the key may begin. */
  tenure(key: Key): number | undefined;
  /** The tenures of all keys that are held, in order. */
  all(): readonly Tenure[];
}

/** @internal */
export interface LeasedMapAround<T> {
  /** In errors. */
  readonly name: string | undefined;
  readonly leases: Leases;
  readonly runtime: Runtime;
  readonly settings: LeasedMapSettings<T>;
  /** So that a value that is changed in place, and not set again, is found before production. */
  readonly freezes: boolean;
}

/** The condition of {@link LeasedMap.replace}. */
export interface ReplaceCondition {
  /** What `versionOf` said; undefined: if there is no entry. */
  readonly ifVersion: string | undefined;
}

/** How far the entries that a partition had when it was torn have been swept: those that were set since are not out of reach. */
interface Sweep {
  readonly keys: Iterator<Key>;
  left: number;
}

/** How many entries are swept at a time, and how long the pause is until the next. */
const SLICE = 2_000;
const SLICE_EVERY_MS = 1;
/** An entry that has ended stays in memory for at most this part of the TTL longer, unless it is asked for. */
const LATE_SHARE = 16;
const NEVER: Instant = instant(Number.POSITIVE_INFINITY);

/** The position of the key of a call, as two words; in use only during the call. */
const words = new Uint32Array(2);

function locate(key: Key): void {
  if (typeof key === 'bigint') {
    words[0] = highOf(key);
    words[1] = lowOf(key);
  } else hashKey(key, words);
}

/** A bare key is told apart from a key that is none only after hashing has failed: guarded work pays nothing for it. */
function locateHeld(held: HeldKey): void {
  try {
    locate(held.key);
  } catch (error) {
    throw (held as Partial<HeldKey> | null | undefined)?.key === undefined ? notHeld(held) : error;
  }
}

/**
 * State in memory by key. An entry is gone when another owner can have held its key since. A `HeldKey` says for which work an entry is
 * read or written: all methods with `held` throw LEASE_LOST if that work has lost the lease.
 */
export class LeasedMap<T> {
  readonly #around: LeasedMapAround<T>;
  readonly #settings: LeasedMapSettings<T>;
  /** Ranks count from here, so that they are small numbers. */
  readonly #madeAt: Instant;
  readonly #partitions = new Partitions<T>();
  /** Each change of an entry is told here: what moves is read while it is served. */
  readonly #touched = new TouchedKeys<Key>();
  #movable: MapMovable<T> | undefined;
  /** Undefined if the order of the entries is of no interest. */
  readonly #queue: OldestFirst<T> | undefined;
  /** Partitions with entries out of reach, and how far they have been swept. */
  readonly #torn = new Map<Partition<T>, Sweep>();
  readonly #alarm: Alarm;
  #sweepAt: Instant = NEVER;
  #size = 0;
  #bytes = 0;
  /** Of all values that were set. */
  #count = 0;
  #ranks = 0;

  /** @internal */
  constructor(around: LeasedMapAround<T>) {
    this.#around = around;
    this.#settings = around.settings;
    const { ttlMs, whenFull } = around.settings;
    this.#madeAt = around.runtime.now();
    this.#queue = ttlMs !== undefined || whenFull === 'evict' ? new OldestFirst() : undefined;
    this.#alarm = alarmOn(around.runtime, () => this.#sweep());
  }

  /** @internal */
  get name(): string | undefined {
    return this.#around.name;
  }

  /** How many entries are in memory, those included that nobody can read any more and that are about to be removed, and those that are arriving. */
  get size(): number {
    return this.#size;
  }

  /**
   * The value of this key, if no other owner can have held the key since it was set, and it has not ended; otherwise undefined.
   *
   * @throws {LeaseLostError} if the asking work has itself lost the lease
   */
  get(held: HeldKey): T | undefined {
    return this.#entry(held)?.value;
  }

  /**
   * Keeps the value, and returns it. A value that is changed in place must be set again, or its version and its time stay as they are. In
   * development (`NODE_ENV=development`) the values of a map with a name are frozen, so that such a change throws.
   *
   * @throws {LeaseLostError} if the setting work has lost the lease: nothing was set
   * @throws {UnavailableError} FULL: nothing was set
   */
  set(held: HeldKey, value: T): T {
    const now = this.#around.runtime.now();
    this.#put(this.#partitionToWrite(held, now), held, value, now);
    return value;
  }

  /** True if there was a value. @throws {LeaseLostError} if the asking work has lost the lease */
  delete(held: HeldKey): boolean {
    const now = this.#around.runtime.now();
    const partition = this.#partition(held, now);
    const entry = partition?.entries.get(held.key);
    if (partition === undefined || entry === undefined) return false;
    this.#remove(partition, held.key, entry);
    return !this.#hasEnded(entry, now);
  }

  /** Begins the entry's time anew; false if there is none. @throws {LeaseLostError} if the asking work has lost the lease */
  touch(held: HeldKey): boolean {
    const now = this.#around.runtime.now();
    const partition = this.#partition(held, now);
    const entry = partition?.entries.get(held.key);
    if (partition === undefined || entry === undefined || this.#hasEnded(entry, now)) return false;
    this.#putLast(partition, held.key, entry, this.#rank(now));
    this.#touched.touched(held.key);
    return true;
  }

  /**
   * Changes with each `set`, and never returns, also not after a loss or a move; undefined if there is no entry.
   *
   * @throws {LeaseLostError} if the asking work has lost the lease
   */
  versionOf(held: HeldKey): string | undefined {
    const entry = this.#entry(held);
    return entry && `${entry.number}.${entry.count}`;
  }

  /**
   * Sets the value if the entry still has this version (undefined: if there is no entry); true if so.
   *
   * @throws {LeaseLostError} if the setting work has lost the lease: nothing was set
   * @throws {UnavailableError} FULL: nothing was set
   */
  replace(held: HeldKey, value: T, { ifVersion }: ReplaceCondition): boolean {
    if (this.versionOf(held) !== ifVersion) return false;
    this.set(held, value);
    return true;
  }

  /** The current entries of keys that are served here, in no order; all, or those in `keys`. */
  *entries(keys?: RangeSet): Generator<readonly [Key, T], void, undefined> {
    const { leases, runtime } = this.#around;
    // Not the live iterator: an entry that is set meanwhile goes to the end, and the iterator would come upon it again.
    for (const partition of this.#partitions.all())
      for (const key of [...partition.entries.keys()]) {
        const entry = partition.entries.get(key);
        if (entry === undefined || this.#hasEnded(entry, runtime.now())) continue;
        if (keys?.has(key) === false || leases.tenure(key) !== partition.since) continue;
        yield [key, entry.value];
      }
  }

  /**
   * Weak consistency: what is in memory, also if the lease is over. `isCurrent` says whether no other owner can have changed it.
   *
   * @throws {InvalidArgumentError} if the key is neither a string that is not too long nor a position
   */
  peek(key: Key): { readonly value: T; readonly isCurrent: boolean } | undefined {
    locate(typeof key === 'bigint' ? checkKeyHash(key) : key);
    const partition = this.#partitions.at(words[0] as number, words[1] as number);
    const entry = partition?.entries.get(key);
    if (partition === undefined || entry === undefined) return undefined;
    if (this.#hasEnded(entry, this.#around.runtime.now())) return undefined;
    return { value: entry.value, isCurrent: this.#around.leases.isHeld(key, partition.since) };
  }

  /** @internal These keys are another's. */
  forget(spans: readonly NumberedSpan[]): void {
    this.#free(this.#partitions.forget(spans));
  }

  /** @internal The entries as state that moves. */
  get movable(): MapMovable<T> {
    this.#movable ??= new MapMovable<T>(
      {
        ...{ partitions: this.#partitions, touched: this.#touched },
        adopt: () => this.#adopt(),
        partitionAt: (key) => {
          locate(key);
          return this.#partitions.at(words[0] as number, words[1] as number);
        },
        leftMs: ({ rank = 0 }) =>
          this.#settings.ttlMs === undefined ? undefined : rank - (this.#around.runtime.now() - this.#madeAt),
        removeEnded: () => {
          const now = this.#around.runtime.now();
          while (this.#removeOldest(now));
        },
        forget: (keys, number) => this.forget(keys.spans().map((span) => ({ ...span, number }))),
        arrive: (staged, key, entry, leftMs) => this.#arrive(staged, key, entry, leftMs),
        remove: (staged, key) => {
          const entry = staged.entries.get(key);
          if (entry !== undefined) this.#remove(staged, key, entry);
        },
        show: (keys, partition, isTorn) => this.#show(keys, partition, isTorn),
        drop: (staged) => this.#drop(staged),
      },
      this.#settings,
    );
    return this.#movable;
  }

  /** @internal The owner is gone, and all keys too. */
  close(): void {
    this.#alarm.set(undefined);
    this.#touched.end(RangeSet.everything);
    for (const partition of this.#partitions.all()) this.#drop(partition);
  }

  #entry(held: HeldKey): Entry<T> | undefined {
    const now = this.#around.runtime.now();
    const partition = this.#partition(held, now);
    const entry = partition?.entries.get(held.key);
    if (partition === undefined || entry === undefined || !this.#hasEnded(entry, now)) return entry;
    this.#remove(partition, held.key, entry);
    return undefined;
  }

  /** The partition of the tenure in which the key is held; undefined if nothing was set in that tenure yet. */
  #partition(held: HeldKey, now: Instant): Partition<T> | undefined {
    locateHeld(held);
    const [high, low] = [words[0] as number, words[1] as number];
    const since = this.#around.leases.heldSince(high, low, held.number, now);
    if (since === undefined) throw lost(held);
    const found = this.#partitions.at(high, low);
    return found?.since === since ? found : undefined;
  }

  #partitionToWrite(held: HeldKey, now: Instant): Partition<T> {
    const found = this.#partition(held, now);
    if (found !== undefined) return found;
    this.#adopt();
    const adopted = this.#partition(held, now);
    assert(adopted !== undefined, 'a held key lies in a tenure');
    return adopted;
  }

  #adopt(): void {
    this.#free(this.#partitions.adopt(this.#around.leases.all()));
  }

  #put(partition: Partition<T>, held: HeldKey, value: T, now: Instant): void {
    const { key } = held;
    const bytes = this.#sizeOf(value, key);
    this.#makeRoom(partition, key, bytes, now, this.#settings.whenFull === 'evict');
    if (this.#around.freezes) freezeDeep(value);
    this.#touched.touched(key);
    this.#count += 1;
    const [number, count] = [small(held.number), this.#count];
    const rank = this.#rank(now);
    const entry = partition.entries.get(key);
    if (entry === undefined) {
      const added = this.#entryOf({ value, number, count }, rank);
      this.#add(partition, key, added, bytes);
      this.#enqueue(partition, rank);
      return;
    }
    entry.value = value;
    entry.number = number;
    entry.count = count;
    this.#weigh(partition, entry, bytes);
    this.#putLast(partition, key, entry, rank);
  }

  /** Of one literal each, without a rank if the order is of no interest: an entry to which fields are added later is larger. */
  #entryOf({ value, number, count }: Readonly<Entry<T>>, rank: number): Entry<T> {
    return this.#queue === undefined ? { value, number, count } : { value, number, count, rank };
  }

  #add(partition: Partition<T>, key: Key, entry: Entry<T>, bytes: number | undefined): void {
    partition.entries.set(key, entry);
    this.#size += 1;
    this.#weigh(partition, entry, bytes);
  }

  /** An entry of this rank was added. */
  #enqueue(partition: Partition<T>, rank: number): void {
    if (this.#queue === undefined) return;
    this.#queue.add(partition, rank);
    const { ttlMs } = this.#settings;
    if (ttlMs !== undefined && this.#sweepAt === NEVER) this.#sweepIn(ttlMs);
  }

  /** Into a partition that no reader finds. Returns the rank. @throws {UnavailableError} FULL */
  #arrive(staged: Partition<T>, key: Key, entry: Readonly<Entry<T>>, leftMs: number | undefined): number {
    const now = this.#around.runtime.now();
    const present = staged.entries.get(key);
    if (present !== undefined) this.#remove(staged, key, present);
    const bytes = this.#sizeOf(entry.value, key);
    this.#makeRoom(staged, key, bytes, now, false);
    if (this.#around.freezes) freezeDeep(entry.value);
    const rank = this.#rank(now, leftMs);
    this.#add(staged, key, this.#entryOf(entry, rank), bytes);
    return rank;
  }

  #show(keys: RangeSet, partition: Partition<T>, isTorn: boolean): void {
    this.#free(this.#partitions.put(keys, partition));
    if (isTorn) this.#free({ dropped: [], torn: [partition] });
    const [, oldest] = this.#queue === undefined ? [] : (partition.oldest() ?? []);
    if (oldest?.rank === undefined) return;
    this.#queue?.add(partition, oldest.rank);
    // The others may have longer to live than these.
    if (this.#settings.ttlMs !== undefined) this.#sweepIn(this.#settings.ttlMs / LATE_SHARE);
  }

  /** Of an entry that is set or touched now; or one that arrives, and has so much time left. */
  #rank(now: Instant, leftMs = Number.POSITIVE_INFINITY): number {
    const { ttlMs } = this.#settings;
    if (ttlMs !== undefined) return small(Math.ceil(now - this.#madeAt + Math.min(ttlMs, leftMs)));
    this.#ranks += 1;
    return this.#ranks;
  }

  /** Where the order is of interest, puts the entry at the end of it. */
  #putLast(partition: Partition<T>, key: Key, entry: Entry<T>, rank: number): void {
    if (this.#queue === undefined) return;
    entry.rank = rank;
    partition.entries.delete(key);
    partition.entries.set(key, entry);
  }

  #sizeOf(value: T, key: Key): number | undefined {
    const { sizeOf, maxBytes } = this.#settings;
    if (sizeOf === undefined || maxBytes === undefined) return undefined;
    const bytes = sizeOf(value, key);
    if (!(bytes >= 0))
      throw invalidOption('leasedMap.sizeOf', bytes, 'it must return a number of at least 0');
    if (bytes > maxBytes) throw valueTooLarge(this.#around.name, key, bytes, maxBytes);
    return bytes;
  }

  /**
   * @param isForced what is staged is not dropped, so a value that is set may stand beside a map full of arrivals: one above the limit, and no more, because the next value drops it
   * @throws {UnavailableError} FULL
   */
  #makeRoom(
    partition: Partition<T>,
    key: Key,
    bytes: number | undefined,
    now: Instant,
    isForced: boolean,
  ): void {
    const {
      maxEntries = Number.POSITIVE_INFINITY,
      maxBytes = Number.POSITIVE_INFINITY,
      whenFull,
    } = this.#settings;
    for (;;) {
      const present = partition.entries.get(key);
      const entries = this.#size + (present === undefined ? 1 : 0);
      const inAll = this.#bytes - (present?.bytes ?? 0) + (bytes ?? 0);
      if (entries <= maxEntries && inAll <= maxBytes) return;
      if (this.#torn.size > 0) this.#sweepTorn(Number.POSITIVE_INFINITY);
      else if (!this.#removeOldest(whenFull === 'evict' ? undefined : now)) {
        if (isForced) return;
        const limit = entries > maxEntries ? `${maxEntries} entries` : `${maxBytes} bytes`;
        throw mapIsFull(this.#around.name, key, limit);
      }
    }
  }

  /** @param endedBy only if it has ended by then */
  #removeOldest(endedBy: Instant | undefined): boolean {
    const partition = this.#queue?.first();
    const [key, entry] = partition?.oldest() ?? [];
    if (partition === undefined || key === undefined || entry === undefined) return false;
    if (endedBy !== undefined && !this.#hasEnded(entry, endedBy)) return false;
    this.#remove(partition, key, entry);
    return true;
  }

  #hasEnded({ rank = 0 }: Entry<T>, now: Instant): boolean {
    return this.#settings.ttlMs !== undefined && rank <= now - this.#madeAt;
  }

  #remove(partition: Partition<T>, key: Key, entry: Entry<T>): void {
    this.#touched.touched(key);
    this.#weigh(partition, entry, entry.bytes === undefined ? undefined : 0);
    partition.entries.delete(key);
    this.#size -= 1;
  }

  #weigh(partition: Partition<T>, entry: Entry<T>, bytes: number | undefined): void {
    if (bytes === undefined) return;
    const more = bytes - (entry.bytes ?? 0);
    entry.bytes = bytes;
    partition.bytes += more;
    this.#bytes += more;
  }

  #free({ dropped, torn }: Cut<T>): void {
    for (const partition of dropped) this.#drop(partition);
    if (dropped.length > 0) this.#queue?.tidy();
    for (const partition of torn)
      this.#torn.set(partition, { keys: partition.entries.keys(), left: partition.entries.size });
    if (torn.length > 0) this.#sweepIn(0);
  }

  #drop(partition: Partition<T>): void {
    this.#torn.delete(partition);
    this.#size -= partition.entries.size;
    this.#bytes -= partition.bytes;
    partition.entries.clear();
    partition.bytes = 0;
  }

  #sweepIn(ms: number): void {
    this.#sweepAt = earliest(this.#sweepAt, later(this.#around.runtime.now(), ms));
    this.#alarm.set(this.#sweepAt);
  }

  #sweep(): void {
    this.#sweepAt = NEVER;
    const now = this.#around.runtime.now();
    let left = this.#sweepTorn(SLICE);
    while (left > 0 && this.#removeOldest(now)) left -= 1;
    if (left === 0) this.#sweepIn(SLICE_EVERY_MS);
    const { ttlMs } = this.#settings;
    const rank = this.#queue?.first()?.oldest()?.[1].rank;
    if (ttlMs === undefined || rank === undefined) return;
    this.#sweepIn(Math.max(rank - (now - this.#madeAt), ttlMs / LATE_SHARE));
  }

  /** Looks at so many entries at most, and returns how many it need not have looked at. */
  #sweepTorn(most: number): number {
    let left = most;
    for (const [partition, sweep] of this.#torn) {
      for (; left > 0 && sweep.left > 0; left -= 1, sweep.left -= 1) {
        const { done, value: key } = sweep.keys.next();
        if (done) sweep.left = 1;
        else this.#removeIfTorn(partition, key);
      }
      if (sweep.left <= 0) this.#torn.delete(partition);
    }
    return left;
  }

  #removeIfTorn(partition: Partition<T>, key: Key): void {
    locate(key);
    if (this.#partitions.at(words[0] as number, words[1] as number) === partition) return;
    const entry = partition.entries.get(key);
    if (entry !== undefined) this.#remove(partition, key, entry);
  }
}

/** The engine keeps a number of 32 bits in its place, and any other in 16 more bytes; unless told, also one that it has read as a fraction. */
const small = (number: number): number => (number === (number | 0) ? number | 0 : number);

/** The handle's signal aborts, as after every check that fails. */
function lost(held: HeldKey): LeaseLostError {
  held.isHeld();
  return leaseLost(held.key, held.number);
}
