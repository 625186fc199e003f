/**
 * The buckets of all keys that are not full, in bounded memory.
 *
 * A full bucket is the same as none (`bucket.ts`), so the table only has to hold keys that were used within the last
 * `refillMs`. Nothing waits for a timer to find the others: every new key first looks at the next two places of the
 * table and frees those whose bucket is full, as the hand of a clock goes round.
 *
 *     keys      │ ann │  ·  │ bob │ cyd │  ·  │
 *     fullAts   │ 12  │     │  7  │ 31  │     │      now = 9: the hand frees bob's place
 *                       hand ──►
 *
 * Two places a new key are enough. With P places the hand goes round while P/2 new keys come, so at most P/2 places hold
 * a bucket that has become full since the hand was there, and the table is at most twice as large as the number of keys
 * whose buckets are not full. At `maxKeys` the hand looks at more places. If none of those is free either, {@link KeyTable.place}
 * says so: a key that is in use never loses its bucket to a new key.
 *
 * The text of all keys together is bounded by 128 characters for each key that may be there, because the keys come from requests.
 *
 * Numbers are in a typed array, because a number in a `Map` is an object of its own that every decision would make anew.
 */

/** Of a key, on average, at the greatest number of keys: the text of all keys is bounded, too. */
const CHARACTERS_A_KEY = 128;

/** What {@link KeyTable.find} and {@link KeyTable.place} return instead of a place. */
export const NOWHERE = -1;

const PLACES_AT_FIRST = 1_024;
const LOOK_AT = 2;
const LOOK_AT_WHEN_FULL = 64;

export class KeyTable {
  maxKeys: number;
  readonly #places = new Map<string, number>();
  readonly #free: number[] = [];
  #keys: (string | undefined)[] = [];
  #fullAts = new Float64Array(PLACES_AT_FIRST);
  #hand = 0;
  #characters = 0;

  constructor(maxKeys: number) {
    this.maxKeys = maxKeys;
  }

  get size(): number {
    return this.#places.size;
  }

  /** Where the key's bucket is, or {@link NOWHERE}. */
  find(key: string): number {
    return this.#places.get(key) ?? NOWHERE;
  }

  fullAt(place: number): number {
    return this.#fullAts[place] ?? 0;
  }

  set(place: number, fullAt: number): void {
    this.#fullAts[place] = fullAt;
  }

  /**
   * Makes a place for a key that has none; {@link NOWHERE} when all places hold buckets that are not full.
   *
   * @param spareMs when the table is full, a bucket that would be full in so long gives its place up
   */
  place(key: string, now: number, spareMs: number = 0): number {
    this.#sweep(LOOK_AT, now);
    if (this.#isFull) this.#sweep(LOOK_AT_WHEN_FULL, now);
    if (this.#isFull && spareMs > 0) this.#sweep(LOOK_AT_WHEN_FULL, now + spareMs, true);
    if (this.#isFull) return NOWHERE;
    this.#characters += key.length;
    const place = this.#free.pop() ?? this.#append();
    this.#keys[place] = key;
    this.#places.set(key, place);
    return place;
  }

  /** All keys that are remembered. */
  keys(): Iterable<string> {
    return this.#places.keys();
  }

  forget(key: string): void {
    const place = this.#places.get(key);
    if (place !== undefined) this.#release(place, key);
  }

  get #isFull(): boolean {
    return this.#places.size >= this.maxKeys || this.#characters >= this.maxKeys * CHARACTERS_A_KEY;
  }

  #append(): number {
    const place = this.#keys.length;
    if (place === this.#fullAts.length) {
      const larger = new Float64Array(place * 2);
      larger.set(this.#fullAts);
      this.#fullAts = larger;
    }
    this.#keys.push(undefined);
    return place;
  }

  /** @param untilRoom no more places than one key needs */
  #sweep(count: number, now: number, untilRoom: boolean = false): void {
    for (let looked = 0; looked < count && looked < this.#keys.length; looked += 1) {
      if (untilRoom && !this.#isFull) return;
      this.#hand = this.#hand + 1 < this.#keys.length ? this.#hand + 1 : 0;
      const key = this.#keys[this.#hand];
      if (key !== undefined && this.fullAt(this.#hand) <= now) this.#release(this.#hand, key);
    }
  }

  #release(place: number, key: string): void {
    this.#keys[place] = undefined;
    this.#places.delete(key);
    this.#characters -= key.length;
    this.#free.push(place);
  }
}
