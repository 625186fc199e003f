/**
 * The entries of the keys that were granted together, and the first number of that unbroken tenure.
 *
 * All entries of a partition stand and fall with one number, so an entry need not be compared with a lease of its own: if the key is
 * still held since `since`, no other owner can have had the key, and every entry is current.
 *
 * A partition can lie on several stretches of the ring: when a part of its keys is lost, what remains shares the `Map`, and the entries of
 * the lost keys stay in it until they are swept (`leased-map.ts`). No reader reaches them, because no reader of those keys reaches
 * this partition (`partitions.ts`).
 *
 * **The oldest entry.** If an entry that is set or touched is put at the end, a `Map` has its entries in the order of their `rank`. To begin at the
 * front each time would be slow: a `Map` keeps the places of deleted entries for a while, and the search would pass all of them. So one
 * iterator goes along, which never passes a place twice; where it stands is the oldest entry that is left. There is none before the oldest entry
 * is first asked for, because an iterator keeps tables in memory that the `Map` has outgrown.
 */

import type { Key } from '../../../runtime/keys/hash.ts';

/** `bench map` counts the bytes, so what a map does not need is not there. */
export interface Entry<T> {
  value: T;
  /** The lease number of the last `set`, and a count of the process: together unlike those of any other `set`. */
  number: number;
  count: number;
  /**
   * Grows with each `set` and `touch`. With a TTL: when the entry ends, in milliseconds since the map was made; with eviction alone, a
   * count; otherwise missing.
   */
  rank?: number;
  /** Only in a map with `sizeOf`. */
  bytes?: number;
}

export class Partition<T> {
  readonly since: number;
  readonly entries: Map<Key, Entry<T>>;
  bytes = 0;
  /** {@link OldestFirst} knows of this partition. */
  isQueued = false;
  #walk: MapIterator<[Key, Entry<T>]> | undefined;
  #first: readonly [Key, Entry<T>] | undefined;
  #firstRank: number | undefined;

  /** @param entries in the order of their rank */
  constructor(since: number, entries: Map<Key, Entry<T>> = new Map()) {
    this.since = since;
    this.entries = entries;
  }

  /** The entry of the lowest rank; undefined if there is none. */
  oldest(): readonly [Key, Entry<T>] | undefined {
    while (this.entries.size > 0) {
      const first = this.#first;
      const isThere = first !== undefined && this.entries.get(first[0]) === first[1];
      if (isThere && first[1].rank === this.#firstRank) return first;
      this.#walk ??= this.entries.entries();
      const { done, value } = this.#walk.next();
      if (done) this.#walk = undefined;
      this.#first = value;
      this.#firstRank = value?.[1].rank;
    }
    this.#walk = undefined;
    this.#first = undefined;
    return undefined;
  }
}
