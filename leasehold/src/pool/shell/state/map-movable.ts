/**
 * A leased map as state that moves.
 *
 *     source    partition ──► snapshot, changes ──► items ──►  staged entries ──► partition    target
 *               served until the freeze                         no reader        `since` is the number of the grant
 *
 * **At the source** the entries of the moved keys are read where they are, and served from there until the freeze; `touched-keys.ts` says why nothing is
 * missed. Partitions are those of the tenures in which the keys are held when the snapshot begins. If the keys are lost
 * meanwhile, the core abandons the move; should it not, a partition of another tenure is found here, and the move fails.
 *
 * **A snapshot ends**, although entries that are set or touched go to the end of their `Map`: of each partition at most as many entries are visited as it
 * had at the start. Those that were there at the start come before all that were put at the end since, so none of them is left out.
 *
 * **At the target** items go into a partition that lies nowhere in the table, so no reader finds it; the commit gives it the number and a place, at once for
 * all entries. Staged entries count in the limits of the map: keys for which there is no room stay where they are, instead of losing a part.
 *
 * **An item** has the value with its version, `number.count`: the version of an entry is the same before and after the move, and a `set` at the
 * target has a number that no owner had before. It has the time that is left, never an instant: clocks of two processes have nothing in
 * common. The time runs from the arrival, so a move lengthens it by the time on the way. An entry that ended is a deletion: what ended at
 * the source is removed there before the last changes are read, so no reader sees it again at the target.
 *
 * **Order.** A partition has its entries in the order in which they end (`leased-map.ts`). Items of one partition arrive in that order, and later changes after
 * them, because a change begins an entry's time anew. Items of a second partition do not; then the entries are sorted at the commit.
 */

import { assert } from '../../../runtime/assert.ts';
import { MalformedMessageError } from '../../../runtime/errors.ts';
import type { Key } from '../../../runtime/keys/hash.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import { snapshotIsOver } from '../errors.ts';
import type { ItemCodec, Movable, Stage } from './movable.ts';
import { type Entry, Partition } from './partition.ts';
import type { Partitions } from './partitions.ts';
import { structuredCodec } from './structured-codec.ts';
import type { KeyNotes, TouchedKeys } from './touched-keys.ts';

/** An entry on its way. `leftMs`: missing in a map without `ttlMs`. A key alone is a deletion. */
export type MapItem<T> =
  | readonly [key: Key]
  | readonly [key: Key, value: T, number: number, count: number, leftMs: number | undefined];

/** What a map lets its mover do. */
export interface MapInside<T> {
  readonly partitions: Partitions<T>;
  readonly touched: TouchedKeys<Key>;
  /** Brings the table in line with the keys that are held. */
  adopt(): void;
  partitionAt(key: Key): Partition<T> | undefined;
  /** In milliseconds, not above 0 if it has ended; undefined: it never ends. */
  leftMs(entry: Entry<T>): number | undefined;
  removeEnded(): void;
  /** These keys are another owner's, of tenures up to this number. */
  forget(keys: RangeSet, number: number): void;
  /** Counted in the limits. Returns the rank. @throws {UnavailableError} FULL */
  arrive(staged: Partition<T>, key: Key, entry: Readonly<Entry<T>>, leftMs: number | undefined): number;
  remove(staged: Partition<T>, key: Key): void;
  /** Where readers find it. `isTorn`: some of its entries are of other keys. */
  show(keys: RangeSet, partition: Partition<T>, isTorn: boolean): void;
  drop(staged: Partition<T>): void;
}

/** How many items make a batch, and at most how many entries are looked at for a batch. */
const BATCH = 512;
const LOOKS = 8 * BATCH;
/** Of a partition that lies nowhere. */
const NO_NUMBER = 0;

export class MapMovable<T> implements Movable<MapItem<T>> {
  readonly version: number;
  readonly reads: readonly number[] | undefined;
  readonly codec: ItemCodec<MapItem<T>>;
  readonly #inside: MapInside<T>;
  /** Where the keys of a snapshot were when it began. */
  readonly #partitions = new WeakMap<KeyNotes<Key>, ReadonlySet<Partition<T>>>();
  /** Keys of snapshots that are over, with the last number under which they were held then. */
  #undecided: readonly { readonly keys: RangeSet; readonly number: number }[] = [];

  constructor(
    inside: MapInside<T>,
    { version, reads, codec }: Pick<Movable<T>, 'reads' | 'codec'> & { readonly version: number },
  ) {
    this.#inside = inside;
    this.version = version;
    this.reads = reads;
    this.codec = itemCodec(codec);
  }

  snapshot(keys: RangeSet, signal: AbortSignal): AsyncIterable<readonly MapItem<T>[]> {
    const notes = this.#inside.touched.begin(keys);
    this.#inside.adopt();
    const partitions = this.#inside.partitions.within(keys);
    this.#partitions.set(notes, partitions);
    const atStart = [...partitions].map((partition) => ({ partition, size: partition.entries.size }));
    return this.#read(notes, atStart, signal);
  }

  changes(keys: RangeSet): readonly MapItem<T>[] {
    const notes = this.#inside.touched.of(keys);
    this.#inside.removeEnded();
    return notes.take().map((key) => {
      const partition = this.#inside.partitionAt(key);
      if (partition === undefined || this.#partitions.get(notes)?.has(partition) !== true)
        throw snapshotIsOver();
      const entry = partition.entries.get(key);
      return entry === undefined ? [key] : this.#item(key, entry);
    });
  }

  /** The table can decide otherwise about parts of the keys, so what is not decided yet is remembered. */
  done(keys: RangeSet, moved: boolean): void {
    for (const notes of this.#inside.touched.end(keys)) {
      const numbers = [...(this.#partitions.get(notes) ?? [])].map(({ since }) => since);
      this.#undecided = [...this.#undecided, { keys: notes.keys, number: Math.max(...numbers) }];
    }
    for (const { keys: undecided, number } of moved ? this.#undecided : [])
      this.#inside.forget(keys.intersect(undecided), number);
    this.#undecided = this.#undecided.flatMap(({ keys: undecided, number }) => {
      const rest = undecided.subtract(keys);
      return rest.isEmpty ? [] : [{ keys: rest, number }];
    });
  }

  stage(keys: RangeSet): MapStage<T> {
    return new MapStage(this.#inside, keys);
  }

  /** Begins when the first batch is asked for; notes have begun before. */
  async *#read(
    notes: KeyNotes<Key>,
    atStart: readonly { readonly partition: Partition<T>; readonly size: number }[],
    signal: AbortSignal,
  ): AsyncGenerator<readonly MapItem<T>[], void, undefined> {
    for (const { partition, size } of atStart) {
      const entries = partition.entries.entries();
      for (let left = size; left > 0; ) {
        signal.throwIfAborted();
        notes.check();
        const batch: MapItem<T>[] = [];
        for (let looks = LOOKS; looks > 0 && left > 0 && batch.length < BATCH; looks -= 1, left -= 1) {
          const { done, value } = entries.next();
          if (done) left = 1;
          else if (this.#isToBeRead(notes, partition, value[0])) batch.push(this.#item(...value));
        }
        yield batch;
      }
    }
    notes.check();
    notes.endSnapshot();
  }

  #isToBeRead(notes: KeyNotes<Key>, partition: Partition<T>, key: Key): boolean {
    return !notes.isTouched(key) && notes.keys.has(key) && this.#inside.partitionAt(key) === partition;
  }

  /** An entry that has ended is a deletion. */
  #item(key: Key, entry: Entry<T>): MapItem<T> {
    const leftMs = this.#inside.leftMs(entry);
    if (leftMs !== undefined && leftMs <= 0) return [key];
    return [key, entry.value, entry.number, entry.count, leftMs];
  }
}

export class MapStage<T> implements Stage<MapItem<T>> {
  readonly #inside: MapInside<T>;
  readonly #keys: RangeSet;
  readonly #staged = new Partition<T>(NO_NUMBER);
  #isOpen = true;
  #lastRank = 0;
  #isInOrder = true;
  /** Has the `Map` of all entries, once a commit has taken it. */
  #committed: Partition<T> | undefined;

  constructor(inside: MapInside<T>, keys: RangeSet) {
    this.#inside = inside;
    this.#keys = keys;
  }

  add(items: readonly MapItem<T>[]): void {
    assert(this.#isOpen, 'items arrive before a stage is committed or discarded');
    for (const item of items) this.#add(item);
  }

  #add(item: MapItem<T>): void {
    check(item, this.#keys);
    if (item.length === 1) {
      this.#inside.remove(this.#staged, item[0]);
      return;
    }
    const [key, value, number, count, leftMs] = item;
    const rank = this.#inside.arrive(this.#staged, key, { value, number, count }, leftMs);
    if (rank < this.#lastRank) this.#isInOrder = false;
    this.#lastRank = rank;
  }

  commit(keys: RangeSet, number: number): void {
    const isFirst = this.#isOpen;
    assert(isFirst || this.#committed !== undefined, 'a stage that was discarded is not committed');
    this.#isOpen = false;
    const partition = isFirst ? this.#takeAll(number) : this.#takeFrom(this.#committed, keys, number);
    this.#committed ??= partition;
    this.#inside.show(keys, partition, isFirst && !this.#keys.subtract(keys).isEmpty);
  }

  /** The entries of other keys too, in the first commit: those that no other one takes are swept, as those of keys that were lost. */
  #takeAll(number: number): Partition<T> {
    const { entries, bytes } = this.#staged;
    const partition = new Partition<T>(number, this.#isInOrder ? entries : sorted(entries));
    partition.bytes = bytes;
    return partition;
  }

  #takeFrom(from: Partition<T> | undefined, keys: RangeSet, number: number): Partition<T> {
    const partition = new Partition<T>(number);
    for (const [key, entry] of from?.entries ?? []) {
      if (!keys.has(key)) continue;
      from?.entries.delete(key);
      partition.entries.set(key, entry);
      partition.bytes += entry.bytes ?? 0;
    }
    if (from !== undefined) from.bytes -= partition.bytes;
    return partition;
  }

  discard(): void {
    if (this.#isOpen) this.#inside.drop(this.#staged);
    this.#isOpen = false;
  }
}

const sorted = <T>(entries: ReadonlyMap<Key, Entry<T>>): Map<Key, Entry<T>> =>
  new Map([...entries].sort(([, { rank: one = 0 }], [, { rank: other = 0 }]) => one - other));

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** Another process sent it. @throws {MalformedMessageError} if it cannot be an item of these keys */
function check(item: unknown, keys: RangeSet): void {
  if (!Array.isArray(item)) throw new MalformedMessageError('item', 'is no item of a leased map');
  const [key, , number, count, leftMs] = item as readonly unknown[];
  if (typeof key !== 'string' && typeof key !== 'bigint')
    throw new MalformedMessageError('item.key', 'is no key');
  if (!keys.has(key)) throw new MalformedMessageError('item.key', 'is not among the keys that move');
  if (item.length === 1) return;
  if (!isCount(number) || !isCount(count)) throw new MalformedMessageError('item.number', 'is no version');
  if (leftMs !== undefined && !Number.isFinite(leftMs))
    throw new MalformedMessageError('item.leftMs', 'is no time');
}

/** Items by structured clone; the values in them by the codec of the map, if it has one. */
function itemCodec<T>(codec: ItemCodec<T> | undefined): ItemCodec<MapItem<T>> {
  if (codec === undefined) return structuredCodec as ItemCodec<MapItem<T>>;
  return {
    encode: ([key, ...rest]) => {
      if (rest.length === 0) return structuredCodec.encode([key]);
      const [value, ...others] = rest;
      return structuredCodec.encode([key, codec.encode(value), ...others]);
    },
    decode: (bytes) => {
      const [key, value, ...others] = structuredCodec.decode(bytes) as MapItem<Uint8Array>;
      if (others.length === 0) return [key];
      return [key, codec.decode(value as Uint8Array), ...others] as unknown as MapItem<T>;
    },
  };
}
