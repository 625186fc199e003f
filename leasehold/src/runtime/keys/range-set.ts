/**
 * A set of positions, given by ranges: the keys of a member, the free keys, the changed keys.
 *
 * Inside, the set is the fewest spans on the line that have these positions, in ascending order. Two sets are
 * therefore equal exactly when their spans are. All three ways of combining two sets are one walk along both, from
 * edge to edge; between two edges nothing changes, so a single question ("in this one? in that one?") decides the
 * whole stretch.
 *
 * A set never changes. Asking {@link RangeSet.has} for the first time builds a look-up table,
 * which sets that only take part in arithmetic never need.
 */

import type { Key } from './hash.ts';
import { type Hash, RING_SIZE } from './position.ts';
import { merge, type Range, roll, type Span, unroll } from './range.ts';
import { RingTable } from './ring-table.ts';

/** Ranges of the ring of keys. A set never changes; every operation makes another set. */
export class RangeSet {
  static readonly empty: RangeSet = new RangeSet([]);
  static readonly everything: RangeSet = new RangeSet([{ start: 0n, end: RING_SIZE }]);

  readonly #spans: readonly Span[];
  #table: RingTable<boolean> | undefined;

  /** The spans must be merged already. */
  private constructor(spans: readonly Span[]) {
    this.#spans = spans;
  }

  /** The positions of all of these together; they may overlap and come in any order. */
  static of(ranges: Iterable<Range | Span>): RangeSet {
    const spans: Span[] = [];
    for (const range of ranges) spans.push(...unroll(range));
    return new RangeSet(merge(spans));
  }

  get isEmpty(): boolean {
    return this.#spans.length === 0;
  }

  /** @throws {InvalidArgumentError} if the key is neither a string that is not too long nor a position */
  has(key: Key): boolean {
    this.#table ??= tableOf(this.#spans);
    return this.#table.findKey(key);
  }

  /** As few as possible, by ascending start; one across zero comes last. */
  ranges(): Range[] {
    return roll(this.#spans);
  }

  /** As few as possible, ascending. */
  spans(): readonly Span[] {
    return this.#spans;
  }

  /** The positions in either set. */
  union(other: RangeSet): RangeSet {
    return new RangeSet(combined(this.#spans, other.#spans, (here, there) => here || there));
  }

  /** The positions in both sets. */
  intersect(other: RangeSet): RangeSet {
    return new RangeSet(combined(this.#spans, other.#spans, (here, there) => here && there));
  }

  /** The positions in this set and not in the other. */
  subtract(other: RangeSet): RangeSet {
    return new RangeSet(combined(this.#spans, other.#spans, (here, there) => here && !there));
  }
}

/**
 * Not a private method: a private method that names the class makes TypeScript compile `static empty` to a use of the
 * class before the class is there (microsoft/TypeScript#58244).
 */
function combined(
  these: readonly Span[],
  those: readonly Span[],
  keep: (here: boolean, there: boolean) => boolean,
): readonly Span[] {
  const spans: Span[] = [];
  let mine = 0;
  let theirs = 0;
  let at: Hash = 0n;
  let keptFrom: Hash | undefined;

  while (at < RING_SIZE) {
    if (edge(these, mine) === at) mine += 1;
    if (edge(those, theirs) === at) theirs += 1;

    const kept = keep(isInside(mine), isInside(theirs));
    if (kept) {
      keptFrom ??= at;
    } else if (keptFrom !== undefined) {
      spans.push({ start: keptFrom, end: at });
      keptFrom = undefined;
    }
    at = smaller(edge(these, mine), edge(those, theirs));
  }
  if (keptFrom !== undefined) spans.push({ start: keptFrom, end: RING_SIZE });
  return spans;
}

/**
 * The edges of the spans in order, start, end, start, end; after the last comes the end of the
 * line. Merged spans never touch, so no two edges coincide.
 */
function edge(spans: readonly Span[], index: number): bigint {
  const span = spans[index >> 1];
  if (span === undefined) return RING_SIZE;
  return isInside(index) ? span.end : span.start;
}

/** Having passed an odd number of edges, one is inside a span. */
const isInside = (edgesPassed: number): boolean => (edgesPassed & 1) === 1;

const smaller = (one: bigint, other: bigint): bigint => (one < other ? one : other);

const tableOf = (spans: readonly Span[]): RingTable<boolean> =>
  RingTable.whole(false).overlay(spans.map(({ start, end }) => ({ start, end, value: true })));
