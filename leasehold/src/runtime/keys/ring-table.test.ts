import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionError } from '../assert.ts';
import { InvalidArgumentError } from '../errors.ts';
import { keyHash } from './hash.ts';
import { highOf, lowOf, RING_SIZE } from './position.ts';
import type { Span } from './range.ts';
import { RingTable, type ValuedSpan } from './ring-table.ts';

const TOP = RING_SIZE - 1n;
const ascending = (one: bigint, other: bigint): number => (one < other ? -1 : one > other ? 1 : 0);

/** Edges of words, crowds that share all their top bits or their whole high word, and the rest. */
const crowd = (base: bigint, width: bigint): fc.Arbitrary<bigint> =>
  fc.bigInt({ min: base, max: base + width });
const positions = fc.oneof(
  fc.constantFrom(0n, 1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 63n, TOP - 1n, TOP),
  fc.bigInt({ min: 0n, max: TOP }),
  crowd(0n, 20n),
  crowd(0x7fff_ffff_ffff_fff0n, 40n),
  crowd(0x1234_5678_0000_0000n, 2n ** 34n),
  crowd(0x1234_5678_9abc_0000n, 50n),
  crowd(TOP - 20n, 20n),
);
const startLists = (most: number): fc.Arbitrary<bigint[]> =>
  fc
    .array(positions, { maxLength: most, size: 'max' })
    .map((any) => [...new Set([0n, ...any])].sort(ascending));

/** Disjoint spans, ascending, of which some touch; drawn from the same places as the starts. */
const spanLists = (most: number, places: fc.Arbitrary<bigint>): fc.Arbitrary<Span[]> =>
  fc
    .tuple(
      fc.array(places, { maxLength: most + 1, size: 'max' }),
      fc.array(fc.boolean(), { minLength: most, maxLength: most }),
    )
    .map(([any, taken]) => {
      const edges = [...new Set(any)].sort(ascending);
      const spans: Span[] = [];
      for (const [index, start] of edges.entries()) {
        const end = edges[index + 1];
        if (end !== undefined && taken[index] === true) spans.push({ start, end });
      }
      return spans;
    });

/** The model: rows in a plain list, looked through from the front. */
type Rows = ValuedSpan<string>[];

const rowsOf = (starts: readonly bigint[]): Rows =>
  starts.map((start, row) => ({ start, end: starts[row + 1] ?? RING_SIZE, value: `row ${row}` }));

const tableOf = (rows: Rows): RingTable<string> =>
  RingTable.build(
    rows.map(({ start }) => start),
    rows.map(({ value }) => value),
  );

const rowAt = (rows: Rows, position: bigint): number =>
  rows.findIndex(({ start, end }) => start <= position && position < end);

/** The rows outside the span, whole or cut. */
const without = (rows: Rows, span: Span): Rows =>
  rows.flatMap(({ start, end, value }) =>
    [
      { start, end: end < span.start ? end : span.start, value },
      { start: start > span.end ? start : span.end, end, value },
    ].filter((row) => row.start < row.end),
  );

const overlaid = (rows: Rows, changes: Rows): Rows =>
  changes
    .reduce((result, change) => [...without(result, change), change], rows)
    .sort((one, other) => ascending(one.start, other.start));

const probesFor = (rows: readonly Span[]): bigint[] =>
  rows
    .flatMap(({ start, end }) => [start - 1n, start, start + 1n, end - 1n, (start + end) / 2n])
    .map((position) => BigInt.asUintN(64, position));

/** That the table has these rows and no others, by every way of asking. */
function checkTable(table: RingTable<string>, rows: Rows, probes: readonly bigint[] = []): void {
  expect(table.size).toBe(rows.length);
  expect([...table]).toEqual(rows);
  const wrong = [...probes, ...probesFor(rows)].filter((probe) => {
    const row = rowAt(rows, probe);
    const value = rows[row]?.value;
    return (
      table.indexOf(highOf(probe), lowOf(probe)) !== row ||
      table.find(highOf(probe), lowOf(probe)) !== value ||
      table.findAt(probe) !== value ||
      table.findKey(probe) !== value
    );
  });
  expect(wrong).toEqual([]);
}

describe('a ring table', () => {
  it('has one value for the whole ring, to begin with', () => {
    const table = RingTable.whole('nobody');
    checkTable(table, [{ start: 0n, end: RING_SIZE, value: 'nobody' }], [0n, 1n, 2n ** 32n, TOP]);
    expect(table.findKey('user:1')).toBe('nobody');
  });

  it('finds the row of any position', () => {
    fc.assert(
      fc.property(startLists(30), fc.array(positions), (starts, probes) => {
        checkTable(tableOf(rowsOf(starts)), rowsOf(starts), probes);
      }),
      { numRuns: 500 },
    );
  });

  it('finds it among many rows too', () => {
    fc.assert(
      fc.property(startLists(1_000), fc.array(positions), (starts, probes) => {
        checkTable(tableOf(rowsOf(starts)), rowsOf(starts), probes);
      }),
      { numRuns: 20 },
    );
  });

  it.each([
    ['next to each other at zero', 0n, 1n],
    ['next to each other at the top', RING_SIZE - 5_000n, 1n],
    ['within one high word', 0x1234_5678_0000_0000n, 0x1_0001n],
    ['one in each high word', 0x1234_5678_0000_0000n, 2n ** 32n],
    ['in two neighbouring high words', 0x1234_5678_ffff_ff00n, 1n],
    ['evenly over the ring', 0n, RING_SIZE / 5_000n],
  ])('finds the row among 5000 boundaries that lie %s', (_, first, step) => {
    const places = Array.from({ length: 5_000 }, (_, index) => first + BigInt(index) * step);
    const starts = first === 0n ? places : [0n, ...places];
    const table = RingTable.build(
      starts,
      starts.map((_, row) => row),
    );
    const wrong = starts.filter((start, row) => {
      const last = (starts[row + 1] ?? RING_SIZE) - 1n;
      return table.findAt(start) !== row || table.findAt(last) !== row;
    });
    expect(wrong).toEqual([]);
  });

  it('finds the row of a key by its text', () => {
    const position = keyHash('user:1');
    const table = RingTable.build([0n, position, position + 1n], ['below', 'here', 'above']);
    expect(table.findKey('user:1')).toBe('here');
    expect(table.findKey('{user:1}:cart')).toBe('here');
  });

  it('tells start, end and value of a row', () => {
    const table = RingTable.build([0n, 5n], ['a', 'b']);
    expect([table.startAt(0), table.endAt(0), table.valueAt(0)]).toEqual([0n, 5n, 'a']);
    expect([table.startAt(1), table.endAt(1), table.valueAt(1)]).toEqual([5n, RING_SIZE, 'b']);
    for (const row of [-1, 2]) {
      expect(() => table.startAt(row)).toThrow(AssertionError);
      expect(() => table.endAt(row)).toThrow(AssertionError);
      expect(() => table.valueAt(row)).toThrow(AssertionError);
    }
  });

  it('does not change when the lists it was built from do', () => {
    const values = ['a', 'b'];
    const table = RingTable.build([0n, 5n], values);
    values[0] = 'changed';
    expect(table.findAt(0n)).toBe('a');
  });

  it('must start at zero, ascend, and have a value for every row', () => {
    expect(() => RingTable.build([], [])).toThrow(AssertionError);
    expect(() => RingTable.build([1n], ['a'])).toThrow(AssertionError);
    expect(() => RingTable.build([0n, 5n], ['a'])).toThrow(AssertionError);
    expect(() => RingTable.build([0n, 5n, 5n], ['a', 'b', 'c'])).toThrow(AssertionError);
    expect(() => RingTable.build([0n, 5n, 4n], ['a', 'b', 'c'])).toThrow(AssertionError);
    expect(() => RingTable.build([0n, RING_SIZE], ['a', 'b'])).toThrow(AssertionError);
  });

  it('cannot be asked for what is no position', () => {
    expect(() => RingTable.whole('a').findKey(RING_SIZE)).toThrow(InvalidArgumentError);
    expect(() => RingTable.whole('a').findKey(-1n)).toThrow(InvalidArgumentError);
  });
});

describe('the part of a ring table within a span', () => {
  it('is its rows there, cut to the span', () => {
    fc.assert(
      fc.property(startLists(20), positions, positions, (starts, one, other) => {
        const rows = rowsOf(starts);
        const span = one <= other ? { start: one, end: other + 1n } : { start: other, end: one + 1n };
        const expected = rows
          .map(({ start, end, value }) => ({
            start: start > span.start ? start : span.start,
            end: end < span.end ? end : span.end,
            value,
          }))
          .filter(({ start, end }) => start < end);
        expect([...tableOf(rows).overlapping(span.start, span.end)]).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('must be asked for with a span', () => {
    const table = RingTable.whole('a');
    expect(() => [...table.overlapping(5n, 5n)]).toThrow(AssertionError);
    expect(() => [...table.overlapping(-1n, 5n)]).toThrow(AssertionError);
    expect(() => [...table.overlapping(5n, RING_SIZE + 1n)]).toThrow(AssertionError);
  });
});

describe('a ring table overlaid with changes', () => {
  const changed = (spans: readonly Span[]): Rows =>
    spans.map((span, index) => ({ ...span, value: `change ${index}` }));

  it('keeps what remains of the rows they cut', () => {
    const table = RingTable.build([0n, 10n, 20n, 30n], ['a', 'b', 'c', 'd']);
    expect([...table.overlay([{ start: 15n, end: 25n, value: 'new' }])]).toEqual([
      { start: 0n, end: 10n, value: 'a' },
      { start: 10n, end: 15n, value: 'b' },
      { start: 15n, end: 25n, value: 'new' },
      { start: 25n, end: 30n, value: 'c' },
      { start: 30n, end: RING_SIZE, value: 'd' },
    ]);
  });

  it('has every change as a row of its own, even beside an equal value', () => {
    const table = RingTable.whole('a').overlay([
      { start: 0n, end: 10n, value: 'a' },
      { start: 10n, end: 20n, value: 'a' },
    ]);
    expect([...table]).toEqual([
      { start: 0n, end: 10n, value: 'a' },
      { start: 10n, end: 20n, value: 'a' },
      { start: 20n, end: RING_SIZE, value: 'a' },
    ]);
  });

  it('joins the rows that one change covers', () => {
    const table = RingTable.build([0n, 10n, 20n], ['a', 'b', 'c']);
    expect([...table.overlay([{ start: 0n, end: RING_SIZE, value: 'all' }])]).toEqual([
      { start: 0n, end: RING_SIZE, value: 'all' },
    ]);
  });

  it('has the new values in them and the old ones elsewhere', () => {
    const anywhere = fc.oneof(positions, fc.constant(RING_SIZE));
    fc.assert(
      fc.property(startLists(20), spanLists(12, anywhere), (starts, spans) => {
        const rows = rowsOf(starts);
        const table = tableOf(rows);
        checkTable(table.overlay(changed(spans)), overlaid(rows, changed(spans)), probesFor(rows));
        checkTable(table, rows);
      }),
      { numRuns: 1_000 },
    );
  });

  it('has them also when changes begin and end where rows do', () => {
    const startsAndSpans = startLists(20).chain((starts) =>
      fc.tuple(
        fc.constant(starts),
        spanLists(12, fc.oneof(fc.constantFrom(...starts, RING_SIZE), positions)),
      ),
    );
    fc.assert(
      fc.property(startsAndSpans, ([starts, spans]) => {
        const rows = rowsOf(starts);
        checkTable(tableOf(rows).overlay(changed(spans)), overlaid(rows, changed(spans)));
      }),
      { numRuns: 1_000 },
    );
  });

  it('has them among many rows, one overlay upon another', () => {
    const anywhere = fc.oneof(positions, fc.constant(RING_SIZE));
    const overlays = fc.array(spanLists(20, anywhere), { maxLength: 4 });
    fc.assert(
      fc.property(startLists(700), overlays, (starts, lists) => {
        let rows = rowsOf(starts);
        let table = tableOf(rows);
        for (const spans of lists) {
          rows = overlaid(rows, changed(spans));
          table = table.overlay(changed(spans));
        }
        checkTable(table, rows);
      }),
      { numRuns: 20 },
    );
  });

  it('shares its boundaries with the old table when the changes are exactly rows', () => {
    fc.assert(
      fc.property(startLists(30), fc.infiniteStream(fc.boolean()), (starts, coins) => {
        const rows = rowsOf(starts);
        const table = tableOf(rows);
        const next = rows.map((row) => (coins.next().value === true ? { ...row, value: 'new' } : row));
        const after = table.overlay(next.filter(({ value }) => value === 'new'));
        expect(after.boundaries).toBe(table.boundaries);
        expect([...after]).toEqual(next);
        expect([...table]).toEqual(rows);
      }),
    );
  });

  it('is the old table when there are none', () => {
    const table = RingTable.whole('a');
    expect(table.overlay([])).toBe(table);
  });

  it('must be given spans that ascend and do not overlap', () => {
    const table = RingTable.whole('a');
    const refused = (...spans: [bigint, bigint][]): void => {
      const changes = spans.map(([start, end]) => ({ start, end, value: 'b' }));
      expect(() => table.overlay(changes)).toThrow(AssertionError);
    };
    refused([5n, 5n]);
    refused([5n, 4n]);
    refused([-1n, 5n]);
    refused([0n, RING_SIZE + 1n]);
    refused([0n, 10n], [9n, 20n]);
    refused([10n, 20n], [0n, 5n]);
  });
});
