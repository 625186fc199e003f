import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionError } from '../assert.ts';
import { InvalidArgumentError } from '../errors.ts';
import { RING_SIZE } from './position.ts';
import {
  contains,
  formatRange,
  intersects,
  merge,
  type Range,
  roll,
  type Span,
  sizeOf,
  unroll,
  wholeRing,
} from './range.ts';

const TOP = RING_SIZE - 1n;

/** Few enough different positions that ranges often touch, overlap or coincide. */
const positions = fc.oneof(
  fc.constantFrom(0n, 1n, 2n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 63n, TOP - 1n, TOP),
  fc.bigInt({ min: 0n, max: TOP }),
);
const ranges: fc.Arbitrary<Range> = fc.record({ start: positions, end: positions });
const spans: fc.Arbitrary<Span> = fc
  .tuple(positions, fc.oneof(positions, fc.constant(RING_SIZE)))
  .filter(([one, other]) => one !== other)
  .map(([one, other]) => (one < other ? { start: one, end: other } : { start: other, end: one }));

const covers = (pieces: readonly Span[], position: bigint): boolean =>
  pieces.some(({ start, end }) => start <= position && position < end);

/** Every place where membership could change, and its neighbours. */
const aroundEdges = (pieces: readonly (Range | Span)[]): bigint[] =>
  [0n, ...pieces.flatMap(({ start, end }) => [start, end])]
    .flatMap((edge) => [edge - 1n, edge, edge + 1n])
    .map((position) => BigInt.asUintN(64, position));

describe('a range', () => {
  it('contains its start and not its end', () => {
    expect(contains({ start: 10n, end: 20n }, 10n)).toBe(true);
    expect(contains({ start: 10n, end: 20n }, 19n)).toBe(true);
    expect(contains({ start: 10n, end: 20n }, 20n)).toBe(false);
    expect(contains({ start: 10n, end: 20n }, 9n)).toBe(false);
  });

  it('goes on past zero when it ends before it starts', () => {
    const range = { start: TOP, end: 1n };
    expect([TOP - 1n, TOP, 0n, 1n].map((position) => contains(range, position))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(sizeOf(range)).toBe(2n);
  });

  it('is the whole ring when it ends where it starts, wherever that is', () => {
    fc.assert(
      fc.property(positions, positions, (start, position) => {
        expect(contains({ start, end: start }, position)).toBe(true);
        expect(sizeOf({ start, end: start })).toBe(RING_SIZE);
      }),
    );
    expect(sizeOf(wholeRing)).toBe(RING_SIZE);
  });

  it('meets another exactly when some position is in both', () => {
    fc.assert(
      fc.property(ranges, ranges, (one, other) => {
        const meet = unroll(one).some((a) => unroll(other).some((b) => a.start < b.end && b.start < a.end));
        expect(intersects(one, other)).toBe(meet);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is written with both ends in full', () => {
    expect(formatRange({ start: 0x3fn << 56n, end: 0x8an << 56n })).toBe(
      '[3f00000000000000, 8a00000000000000)',
    );
    expect(formatRange({ start: TOP, end: RING_SIZE })).toBe('[ffffffffffffffff, 0000000000000000)');
  });
});

describe('a range unrolled', () => {
  it('is one span, or two if it goes past zero', () => {
    expect(unroll({ start: 1n, end: 2n })).toEqual([{ start: 1n, end: 2n }]);
    expect(unroll({ start: 2n, end: 1n })).toEqual([
      { start: 0n, end: 1n },
      { start: 2n, end: RING_SIZE },
    ]);
    expect(unroll({ start: 2n, end: 0n })).toEqual([{ start: 2n, end: RING_SIZE }]);
    expect(unroll({ start: 2n, end: RING_SIZE })).toEqual([{ start: 2n, end: RING_SIZE }]);
    expect(unroll(wholeRing)).toEqual([{ start: 0n, end: RING_SIZE }]);
  });

  it('has the same positions, each once', () => {
    fc.assert(
      fc.property(ranges, positions, (range, position) => {
        const pieces = unroll(range);
        for (const probe of [position, ...aroundEdges([range])]) {
          expect(contains(range, probe)).toBe(covers(pieces, probe));
        }
        expect(pieces.reduce((sum, { start, end }) => sum + end - start, 0n)).toBe(sizeOf(range));
        for (const { start, end } of pieces)
          expect(0n <= start && start < end && end <= RING_SIZE).toBe(true);
      }),
    );
  });

  it('rolls up to itself again; the whole ring then starts at zero', () => {
    fc.assert(
      fc.property(ranges, (range) => {
        expect(roll(unroll(range))).toEqual([range.start === range.end ? wholeRing : range]);
      }),
    );
  });

  it('is refused if an end is not on the ring', () => {
    expect(() => unroll({ start: -1n, end: 1n })).toThrow(InvalidArgumentError);
    expect(() => unroll({ start: RING_SIZE, end: 1n })).toThrow(InvalidArgumentError);
    expect(() => unroll({ start: 1n, end: -1n })).toThrow(InvalidArgumentError);
    expect(() => unroll({ start: 1n, end: RING_SIZE + 1n })).toThrow(InvalidArgumentError);
  });
});

describe('spans rolled up', () => {
  it('are joined where they touch or overlap', () => {
    expect(
      roll([
        { start: 30n, end: 40n },
        { start: 10n, end: 20n },
        { start: 20n, end: 25n },
        { start: 31n, end: 35n },
      ]),
    ).toEqual([
      { start: 10n, end: 25n },
      { start: 30n, end: 40n },
    ]);
  });

  it('are joined across zero, into a range that comes last', () => {
    expect(
      roll([
        { start: TOP, end: RING_SIZE },
        { start: 0n, end: 5n },
        { start: 10n, end: 20n },
      ]),
    ).toEqual([
      { start: 10n, end: 20n },
      { start: TOP, end: 5n },
    ]);
  });

  it('are no ranges if there are none, and one if they cover the ring', () => {
    expect(roll([])).toEqual([]);
    expect(
      roll([
        { start: 0n, end: 5n },
        { start: 5n, end: RING_SIZE },
      ]),
    ).toEqual([wholeRing]);
  });

  it('keep their positions, in the fewest ranges, by ascending start', () => {
    fc.assert(
      fc.property(fc.array(spans, { maxLength: 8 }), (pieces) => {
        const rolled = roll(pieces);
        const isRolled = (probe: bigint): boolean => rolled.some((range) => contains(range, probe));
        expect(aroundEdges(pieces).filter((probe) => isRolled(probe) !== covers(pieces, probe))).toEqual([]);
        const starts = rolled.map(({ start }) => start);
        expect(starts).toEqual([...new Set(starts)].sort((one, other) => (one < other ? -1 : 1)));
        for (const one of rolled) {
          for (const other of rolled) {
            if (one === other) continue;
            expect(one.end).not.toBe(other.start);
            expect(intersects(one, other)).toBe(false);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('must be spans', () => {
    expect(() => merge([{ start: 5n, end: 5n }])).toThrow(AssertionError);
    expect(() => merge([{ start: 5n, end: 4n }])).toThrow(AssertionError);
    expect(() => merge([{ start: -1n, end: 4n }])).toThrow(AssertionError);
    expect(() => merge([{ start: 5n, end: RING_SIZE + 1n }])).toThrow(AssertionError);
  });
});
