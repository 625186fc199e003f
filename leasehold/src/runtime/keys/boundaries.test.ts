import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Boundaries } from './boundaries.ts';
import { highOf, lowOf, RING_SIZE } from './position.ts';

const wordsOf = (starts: readonly bigint[]): [Uint32Array, Uint32Array] => [
  Uint32Array.from(starts, highOf),
  Uint32Array.from(starts, lowOf),
];

/** Rows that are found wrongly just before, at and just behind where they start. */
function wrongRows(starts: readonly bigint[]): number[] {
  const boundaries = new Boundaries(...wordsOf(starts));
  const found = (position: bigint): number => boundaries.rowOf(highOf(position), lowOf(position));
  return [...starts.keys()].filter((row) => {
    const start = starts[row] as bigint;
    const last = (starts[row + 1] ?? RING_SIZE) - 1n;
    return found(start) !== row || found(last) !== row || (row > 0 && found(start - 1n) !== row - 1);
  });
}

describe('the row of a position', () => {
  it.each([1, 2, 3, 4, 5, 7, 8, 9, 127, 128, 129, 1_023, 1_024, 1_025])('is found among %i', (count) => {
    const rows = Array.from({ length: count }, (_, row) => BigInt(row));
    expect(wrongRows(rows.map((row) => (row * RING_SIZE) / BigInt(count)))).toEqual([]); // Far apart.
    expect(wrongRows(rows)).toEqual([]); // All in one slot.
    expect(wrongRows(rows.map((row) => row << 32n))).toEqual([]); // The first of every high word.
    expect(wrongRows(rows.map((row) => (row === 0n ? row : RING_SIZE - BigInt(count) + row)))).toEqual([]);
  });

  it('is found where rows start at the edges of slots, and next to them', () => {
    const near = fc
      .tuple(fc.integer({ min: 0, max: 63 }), fc.constantFrom(-1n, 0n, 1n, 2n ** 32n, -(2n ** 32n)))
      .map(([slot, off]) => BigInt.asUintN(64, BigInt(slot) * (RING_SIZE / 64n) + off));
    fc.assert(
      fc.property(fc.array(near, { maxLength: 60, size: 'max' }), (any) => {
        const starts = [...new Set([0n, ...any])].sort((one, other) => (one < other ? -1 : 1));
        expect(wrongRows(starts)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it.each([2 ** 19 + 1, 2 ** 20 - 1, 2 ** 20, 2 ** 20 + 1, 2 ** 21 + 1])(
    'is found among %i, of which there may be one for every slot',
    (count) => {
      // Of high words that are divided evenly; their low words are the row's number.
      const step = Math.floor(2 ** 32 / count);
      const highs = Uint32Array.from({ length: count }, (_, row) => row * step);
      const lows = Uint32Array.from({ length: count }, (_, row) => row);
      const boundaries = new Boundaries(highs, lows);
      let wrong = 0;
      for (let row = 1; row < count; row += 1) {
        const high = row * step;
        if (boundaries.rowOf(high, row) !== row || boundaries.rowOf(high, row - 1) !== row - 1) wrong += 1;
        if (boundaries.rowOf(high - 1, 0xffff_ffff) !== row - 1) wrong += 1;
        if (boundaries.rowOf(high + 1, 0) !== row) wrong += 1;
      }
      expect(wrong).toBe(0);
    },
  );
});
