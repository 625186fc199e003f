/**
 * The partitions of a map, side by side on the ring:
 *
 *     owner      ├── held since 5 ──┤        ├──── held since 9 ────┤
 *     table      ├──── since 5 ─────┼─ none ─┼─ since 7 ─┼─ since 9 ┤
 *                                             stale: reads as empty, replaced at the next `set`
 *
 * **Why what is read is current.** A reader compares the tenure in which it holds the key with `since` of the partition that lies at the key.
 * Both are first numbers of a tenure, and each tenure of a key has a first number of its own, so if they are equal the entry was written in
 * the reader's own tenure. A partition of another tenure is never given a new number, and never lends its `Map` to another one: keys that return
 * get a new partition. Keys that arrive with their state get a partition in the turn in which they are taken, under the first number of the tenure
 * that begins then; before, no reader reaches the entries.
 *
 * So nothing depends on being told of a loss in time. The owner tells of it nevertheless ({@link Partitions.forget}), to free memory, and because
 * a log that replaces another counts anew.
 *
 * The table is brought in line with the held keys only when a `set` finds no partition of its tenure, for all keys at once: keys come and go
 * a thousand at a time, and a table costs as much as it has rows.
 */

import { assert } from '../../../runtime/assert.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import { RingTable, type ValuedSpan } from '../../../runtime/keys/ring-table.ts';
import type { NumberedSpan } from '../../core/messages.ts';
import { Partition } from './partition.ts';

/** Keys that are held, or remembered, and the first number of their unbroken tenure. */
export interface Tenure extends Span {
  readonly since: number;
}

/** What a change of the table means for memory. */
export interface Cut<T> {
  /** No key is left in these. */
  readonly dropped: readonly Partition<T>[];
  /** In these some entries are out of reach. */
  readonly torn: readonly Partition<T>[];
}

export class Partitions<T> {
  #table: RingTable<Partition<T> | undefined> = RingTable.whole<Partition<T> | undefined>(undefined);

  /** The partition at a position, of whatever tenure. */
  at(high: number, low: number): Partition<T> | undefined {
    return this.#table.find(high, low);
  }

  /** All partitions, each once. */
  all(): ReadonlySet<Partition<T>> {
    return new Set([...this.#table].flatMap(({ value }) => (value === undefined ? [] : [value])));
  }

  /** Gives each tenure without a partition a new one. */
  adopt(tenures: readonly Tenure[]): Cut<T> {
    const changes: ValuedSpan<Partition<T>>[] = [];
    for (const { start, end, since } of tenures) {
      let fresh: Partition<T> | undefined;
      for (const row of this.#table.overlapping(start, end)) {
        if (row.value?.since === since) continue;
        fresh ??= new Partition(since);
        changes.push({ start: row.start, end: row.end, value: fresh });
      }
    }
    return this.#change(changes);
  }

  /** Puts a partition that has come with its entries where its keys are. */
  put(keys: RangeSet, partition: Partition<T>): Cut<T> {
    return this.#change(keys.spans().map(({ start, end }) => ({ start, end, value: partition })));
  }

  /** The partitions at these keys, each once, of whatever tenure. */
  within(keys: RangeSet): ReadonlySet<Partition<T>> {
    return new Set(keys.spans().flatMap(({ start, end }) => this.#within(start, end)));
  }

  /** Drops the partitions of these tenures; of a later tenure of the same keys, none. */
  forget(spans: readonly NumberedSpan[]): Cut<T> {
    const changes: ValuedSpan<undefined>[] = [];
    for (const { start, end, number } of spans)
      for (const row of this.#table.overlapping(start, end))
        if (row.value !== undefined && row.value.since <= number) changes.push({ ...row, value: undefined });
    return this.#change(changes);
  }

  #change(changes: readonly ValuedSpan<Partition<T> | undefined>[]): Cut<T> {
    const touched = new Set(changes.flatMap(({ start, end }) => this.#within(start, end)));
    this.#table = joined(this.#table.overlay(changes));
    const left = this.all();
    return {
      dropped: [...touched].filter((partition) => !left.has(partition)),
      torn: [...touched].filter((partition) => left.has(partition)),
    };
  }

  #within(start: bigint, end: bigint): Partition<T>[] {
    return [...this.#table.overlapping(start, end)].flatMap(({ value }) =>
      value === undefined ? [] : [value],
    );
  }
}

/** Rows of one value that touch become one row, or the cuts of years would add up. */
function joined<V>(table: RingTable<V>): RingTable<V> {
  const starts: bigint[] = [];
  const values: V[] = [];
  for (const { start, value } of table) {
    if (starts.length > 0 && values.at(-1) === value) continue;
    starts.push(start);
    values.push(value);
  }
  assert(starts.length > 0, 'a table has a row');
  return starts.length === table.size ? table : RingTable.build(starts, values);
}
