import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../errors.ts';
import { keyHash } from './hash.ts';
import { RING_SIZE } from './position.ts';
import { contains, type Range, wholeRing } from './range.ts';
import { RangeSet } from './range-set.ts';

const TOP = RING_SIZE - 1n;
const positions = fc.oneof(
  fc.constantFrom(0n, 1n, 2n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 63n, TOP - 1n, TOP),
  fc.bigInt({ min: 0n, max: TOP }),
);
const rangeLists = fc.array(fc.record({ start: positions, end: positions }), { maxLength: 6 });

/** The model: a list of ranges, looked through one by one. */
const isIn = (ranges: readonly Range[], position: bigint): boolean =>
  ranges.some((range) => contains(range, position));

const aroundEdges = (ranges: readonly Range[]): bigint[] =>
  [0n, ...ranges.flatMap(({ start, end }) => [start, end])]
    .flatMap((edge) => [edge - 1n, edge, edge + 1n])
    .map((position) => BigInt.asUintN(64, position));

/** That a set made of two others has exactly the positions it should, in the fewest spans. */
function checkCombination(
  combine: (one: RangeSet, other: RangeSet) => RangeSet,
  expected: (inOne: boolean, inOther: boolean) => boolean,
): void {
  fc.assert(
    fc.property(rangeLists, rangeLists, (one, other) => {
      const set = combine(RangeSet.of(one), RangeSet.of(other));
      const wrong = aroundEdges([...one, ...other]).filter(
        (probe) => set.has(probe) !== expected(isIn(one, probe), isIn(other, probe)),
      );
      expect(wrong).toEqual([]);
      expect(RangeSet.of(set.spans()).spans()).toEqual(set.spans());
    }),
    { numRuns: 500 },
  );
}

describe('a set of positions', () => {
  it('has the positions of all its ranges, in whatever order they came', () => {
    fc.assert(
      fc.property(rangeLists, positions, (ranges, position) => {
        const set = RangeSet.of(ranges);
        const probes = [position, ...aroundEdges(ranges)];
        expect(probes.filter((probe) => set.has(probe) !== isIn(ranges, probe))).toEqual([]);
        expect(set.isEmpty).toBe(ranges.length === 0);
      }),
      { numRuns: 500 },
    );
  });

  it('is the same set when made again from its ranges or from its spans', () => {
    fc.assert(
      fc.property(rangeLists, (ranges) => {
        const set = RangeSet.of(ranges);
        expect(RangeSet.of(set.ranges()).spans()).toEqual(set.spans());
        expect(RangeSet.of(set.spans()).ranges()).toEqual(set.ranges());
      }),
    );
  });

  it('gives one range where two meet across zero', () => {
    const set = RangeSet.of([
      { start: TOP, end: 0n },
      { start: 0n, end: 7n },
    ]);
    expect(set.ranges()).toEqual([{ start: TOP, end: 7n }]);
    expect(set.spans()).toEqual([
      { start: 0n, end: 7n },
      { start: TOP, end: RING_SIZE },
    ]);
  });

  it('can be asked for a key by its text', () => {
    const position = keyHash('user:1');
    const set = RangeSet.of([{ start: position, end: position + 1n }]);
    expect(set.has('user:1')).toBe(true);
    expect(set.has('{user:1}:cart')).toBe(true);
    expect(set.has('user:2')).toBe(false);
  });

  it('cannot be asked for what is no position', () => {
    expect(() => RangeSet.everything.has(RING_SIZE)).toThrow(InvalidArgumentError);
    expect(() => RangeSet.everything.has(-1n)).toThrow(InvalidArgumentError);
    expect(() => RangeSet.of([{ start: RING_SIZE, end: 0n }])).toThrow(InvalidArgumentError);
  });

  it('may be empty, or be everything', () => {
    expect(RangeSet.empty.isEmpty).toBe(true);
    expect(RangeSet.empty.ranges()).toEqual([]);
    expect(RangeSet.empty.has(0n)).toBe(false);
    expect(RangeSet.everything.isEmpty).toBe(false);
    expect(RangeSet.everything.ranges()).toEqual([wholeRing]);
    expect(RangeSet.everything.has(TOP)).toBe(true);
  });
});

describe('two sets', () => {
  it('united, have what either has', () =>
    checkCombination(
      (one, other) => one.union(other),
      (inOne, inOther) => inOne || inOther,
    ));

  it('intersected, have what both have', () =>
    checkCombination(
      (one, other) => one.intersect(other),
      (inOne, inOther) => inOne && inOther,
    ));

  it('subtracted, have what the first has and the second has not', () =>
    checkCombination(
      (one, other) => one.subtract(other),
      (inOne, inOther) => inOne && !inOther,
    ));

  it('are left as they were', () => {
    const one = RangeSet.of([{ start: 10n, end: 20n }]);
    const other = RangeSet.of([{ start: 15n, end: 30n }]);
    one.union(other);
    one.subtract(other);
    expect(one.ranges()).toEqual([{ start: 10n, end: 20n }]);
    expect(other.ranges()).toEqual([{ start: 15n, end: 30n }]);
  });

  it('make nothing or everything where they should', () => {
    fc.assert(
      fc.property(rangeLists, (ranges) => {
        const set = RangeSet.of(ranges);
        const rest = RangeSet.everything.subtract(set);
        expect(set.subtract(set).isEmpty).toBe(true);
        expect(set.intersect(rest).isEmpty).toBe(true);
        expect(set.union(rest).spans()).toEqual(RangeSet.everything.spans());
      }),
    );
  });
});
