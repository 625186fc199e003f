/**
 * The whole ring, cut into rows, with a value for each: the owner, and the lease number.
 *
 *     0            a        b                 c         2^64
 *     ├──── v0 ────┼── v1 ──┼─────── v2 ──────┼── v3 ────┤
 *
 * Every position has exactly one value, so {@link RingTable.find} cannot fail; "nobody" is a
 * value like any other. Rows lie on the line: the first starts at 0, and a range across zero is
 * two rows.
 *
 * A table never changes. {@link RingTable.overlay} makes the next table, and readers of the old table go on reading a
 * consistent state. Most changes give an existing row another value and move no boundary; the two tables then share
 * their {@link Boundaries}, and of the values they share all the pages without a change.
 */

import { AssertionError, assert } from '../assert.ts';
import { Boundaries } from './boundaries.ts';
import { checkKeyHash, hashKey, type Key } from './hash.ts';
import { PagedList, PagedListDraft } from './paged-list.ts';
import { highOf, lowOf, type Hash, RING_SIZE } from './position.ts';
import type { Span } from './range.ts';

export interface ValuedSpan<V> extends Span {
  readonly value: V;
}

/** The position of the wanted key, as two words; in use only during a call. */
const hashed = new Uint32Array(2);

export class RingTable<V> {
  /** @internal */
  readonly boundaries: Boundaries;
  readonly #values: PagedList<V>;

  private constructor(boundaries: Boundaries, values: PagedList<V>) {
    this.boundaries = boundaries;
    this.#values = values;
  }

  /** One value for the whole ring. */
  static whole<V>(value: V): RingTable<V> {
    return new RingTable(Boundaries.none, PagedList.of([value]));
  }

  /** Row i goes from `starts[i]` to the next start. Starts must ascend strictly, from 0. */
  static build<V>(starts: readonly Hash[], values: readonly V[]): RingTable<V> {
    assert(starts.length === values.length, `${starts.length} starts, ${values.length} values`);
    return new RingTable(Boundaries.of(starts), PagedList.of(values));
  }

  /** How many rows, at least one. */
  get size(): number {
    return this.boundaries.size;
  }

  /** The value at a position given as two words, as {@link hashKey} writes them. */
  find(high: number, low: number): V {
    return this.#values.at(this.boundaries.rowOf(high, low));
  }

  /** @throws {InvalidArgumentError} if the key is neither a string that is not too long nor a position */
  findKey(key: Key): V {
    if (typeof key === 'bigint') return this.findAt(checkKeyHash(key));
    hashKey(key, hashed);
    return this.find(hashed[0] as number, hashed[1] as number);
  }

  findAt(position: Hash): V {
    return this.#values.at(this.boundaries.rowAt(position));
  }

  /** The row that a position, given as two words, falls into. */
  indexOf(high: number, low: number): number {
    return this.boundaries.rowOf(high, low);
  }

  startAt(row: number): Hash {
    return this.boundaries.startOf(row);
  }

  /** Where the next row starts, or 2^64. */
  endAt(row: number): bigint {
    return this.boundaries.endOf(row);
  }

  valueAt(row: number): V {
    this.boundaries.checkRow(row);
    return this.#values.at(row);
  }

  [Symbol.iterator](): Generator<ValuedSpan<V>, void, undefined> {
    return this.overlapping(0n, RING_SIZE);
  }

  /** The rows that share positions with [start, end), cut to that range. */
  *overlapping(start: bigint, end: bigint): Generator<ValuedSpan<V>, void, undefined> {
    assert(0n <= start && start < end && end <= RING_SIZE, `no span: ${start} to ${end}`);
    let row = this.boundaries.rowAt(start);
    let from = start;
    while (from < end) {
      const rowEnd = this.endAt(row);
      const to = rowEnd < end ? rowEnd : end;
      yield { start: from, end: to, value: this.valueAt(row) };
      from = to;
      row += 1;
    }
  }

  /**
   * The table in which each of these spans is a row of its own, with the new value. Rows they cover are gone, rows
   * they cut keep their values in what remains of them. The changes must ascend and must not overlap.
   */
  overlay(changes: readonly ValuedSpan<V>[]): RingTable<V> {
    if (changes.length === 0) return this;
    checkAscending(changes);
    return this.#replaceValues(changes) ?? this.#moveBoundaries(changes);
  }

  /** The table with the changes, if every one of them is exactly a row of this one. */
  #replaceValues(changes: readonly ValuedSpan<V>[]): RingTable<V> | undefined {
    const rows: number[] = [];
    const values: V[] = [];
    for (const { start, end, value } of changes) {
      const row = this.boundaries.rowAt(start);
      if (!this.boundaries.startsAt(row, start) || !this.boundaries.endsAt(row, end)) return undefined;
      rows.push(row);
      values.push(value);
    }
    return new RingTable(this.boundaries, this.#values.with(rows, values));
  }

  /**
   * Walks along the changes with a finger, `copied`, on the first old row not yet dealt with.
   *
   *     old       ├──── 0 ────┼──── 1 ────┼──── 2 ────┼──── 3 ────┤
   *     change                      ├──── new ────┤
   *     next      ├──── 0 ────┼─ 1 ─┼──── new ────┼ 2 ┼──── 3 ────┤
   *
   * Before a change, old rows are copied up to the one in which the change starts; that one too, unless both start at
   * the same place. After the change, a row starts at the change's end, with the value of the old row found there;
   * unless an old row or the next change starts there.
   */
  #moveBoundaries(changes: readonly ValuedSpan<V>[]): RingTable<V> {
    const draft = new Draft(this.boundaries, this.#values, changes.length);
    let copied = 0;
    for (const [index, { start, end, value }] of changes.entries()) {
      const startRow = this.boundaries.rowAt(start);
      draft.copy(copied, this.boundaries.startsAt(startRow, start) ? startRow : startRow + 1);
      draft.add(start, value);

      if (end === RING_SIZE) {
        copied = this.size;
        break;
      }
      const endRow = this.boundaries.rowAt(end);
      const cutsEndRow = !this.boundaries.startsAt(endRow, end);
      copied = cutsEndRow ? endRow + 1 : endRow;
      if (cutsEndRow && changes[index + 1]?.start !== end) draft.add(end, this.valueAt(endRow));
    }
    draft.copy(copied, this.size);
    return new RingTable(draft.boundaries(), draft.values.finish());
  }
}

/** The next table's rows, as far as they are known. */
class Draft<V> {
  readonly values: PagedListDraft<V>;
  readonly #old: Boundaries;
  readonly #oldValues: PagedList<V>;
  readonly #highs: Uint32Array;
  readonly #lows: Uint32Array;

  constructor(old: Boundaries, oldValues: PagedList<V>, changes: number) {
    this.#old = old;
    this.#oldValues = oldValues;
    const most = old.size + 2 * changes;
    this.values = new PagedListDraft(most);
    this.#highs = new Uint32Array(most);
    this.#lows = new Uint32Array(most);
  }

  /** Old rows from `from` up to `to`, left out; none if `to` is not the greater. */
  copy(from: number, to: number): void {
    this.#old.copyRows(from, to, this.#highs, this.#lows, this.values.size);
    this.values.copy(this.#oldValues, from, to);
  }

  add(start: Hash, value: V): void {
    const row = this.values.size;
    this.#highs[row] = highOf(start);
    this.#lows[row] = lowOf(start);
    this.values.add(value);
  }

  boundaries(): Boundaries {
    const size = this.values.size;
    return new Boundaries(this.#highs.slice(0, size), this.#lows.slice(0, size));
  }
}

function checkAscending(spans: readonly Span[]): void {
  let free = 0n;
  for (const { start, end } of spans) {
    if (start < free || end <= start || end > RING_SIZE) {
      throw new AssertionError(`a change from ${start} to ${end} does not fit after ${free}`);
    }
    free = end;
  }
}
