/**
 * A map by keys that never stands still to grow.
 *
 * A `Map` that is full moves all entries into a table of twice the size, in one step. By processor time that step takes 27 ms at 262,144
 * entries and 241 ms at a million (Node 20), and calls wait meanwhile. So from {@link SPLIT_AT} keys on, the keys are spread over {@link SHARDS} maps,
 * which grow one at a time: a million keys are steps of 16,384. A small map stays one: a look-up by shards takes longer.
 *
 * The shard follows from up to 16 characters of a key, evenly spaced from the end, so that a look-up costs the same for a long key. Keys that
 * differ in no such character are in one shard, and a step is then as long as without shards.
 */

const SHARDS = 64;
/** To spread so many is one step, too. */
const SPLIT_AT = 65_536;
const CHARACTERS = 8;

export class KeyMap<Value> {
  #shards: readonly Map<string, Value>[] = [new Map()];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    return this.#shardOf(key).get(key);
  }

  set(key: string, value: Value): void {
    const shard = this.#shardOf(key);
    const before = shard.size;
    shard.set(key, value);
    this.#size += shard.size - before;
    if (this.#size >= SPLIT_AT && this.#shards.length === 1) this.#split(shard);
  }

  delete(key: string): void {
    if (this.#shardOf(key).delete(key)) this.#size -= 1;
  }

  /** How many keys the fullest shard has. */
  get largestShard(): number {
    return Math.max(...this.#shards.map(({ size }) => size));
  }

  /** All keys. As with a `Map`, keys may come and go between two steps: those that stay are given once. */
  *keys(): Generator<string, undefined> {
    for (const shard of this.#shards) yield* shard.keys();
    return undefined;
  }

  /** The map of before stays as it is, for those that are going through the keys. */
  #split(before: ReadonlyMap<string, Value>): void {
    this.#shards = Array.from({ length: SHARDS }, () => new Map());
    for (const [key, value] of before) this.#shardOf(key).set(key, value);
  }

  #shardOf(key: string): Map<string, Value> {
    const shards = this.#shards;
    if (shards.length === 1) return shards[0] as Map<string, Value>;
    const { length } = key;
    const step = length <= CHARACTERS ? 1 : Math.floor(length / CHARACTERS);
    let hash = length;
    for (let at = length - 1; at >= 0; at -= step) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
    return shards[(hash ^ (hash >>> 15)) & (SHARDS - 1)] as Map<string, Value>;
  }
}
