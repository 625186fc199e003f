import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { highOf, lowOf, RING_SIZE } from '../../../runtime/keys/position.ts';
import { instant } from '../../../runtime/time.ts';
import { at, numbered } from '../script.ts';
import type { Phase, Piece } from './piece.ts';
import { LeaseIndex } from './lease-index.ts';

const piece = (text: string, phase: Phase, { until = 9_000, since = 0 } = {}): Piece => {
  const { start, end, number } = numbered(text);
  return {
    start,
    end,
    number,
    since: since === 0 ? number : since,
    phase,
    until: instant(until),
    revokeBy: undefined,
    toldIn: undefined,
    ticket: undefined,
  };
};

/** The two checks at a position. */
const numberAt = (index: LeaseIndex, position: bigint, now: number): number | undefined =>
  index.numberAt(highOf(position), lowOf(position), instant(now));
const isHeld = (index: LeaseIndex, position: bigint, number: number, now: number): boolean =>
  index.isHeld(highOf(position), lowOf(position), number, instant(now));

/** The two checks, as read off a list of pieces. */
const pieceAt = (pieces: readonly Piece[], position: bigint): Piece | undefined =>
  pieces.find(({ start, end }) => start <= position && position < end);

function plainNumberAt(pieces: readonly Piece[], position: bigint, now: number): number | undefined {
  const found = pieceAt(pieces, position);
  return found?.phase === 'serving' && now < found.until ? found.number : undefined;
}

function plainIsContinuous(pieces: readonly Piece[], position: bigint, number: number, now: number): boolean {
  const found = pieceAt(pieces, position);
  if (found?.phase !== 'serving' && found?.phase !== 'revoking') return false;
  return now < found.until && found.since <= number && number <= found.number;
}

describe('a check for new work', () => {
  it.each([
    ['loading', undefined],
    ['serving', 7],
    ['revoking', undefined],
    ['lapsed', undefined],
    ['released', undefined],
  ] as const)('of a piece that is %s gives %s', (phase, number) => {
    expect(numberAt(new LeaseIndex([piece('0-4#7', phase)]), at(2), 0)).toBe(number);
  });

  it('gives nothing from the instant at which the lease ends', () => {
    const index = new LeaseIndex([piece('0-4#7', 'serving', { until: 9_000 })]);
    expect([8_999.999, 9_000].map((now) => numberAt(index, at(2), now))).toEqual([7, undefined]);
  });

  it('gives nothing where there is no piece', () => {
    const index = new LeaseIndex([piece('2-4#7', 'serving'), piece('6-8#9', 'serving')]);
    const found = [0, 2, 3, 4, 6, 7, 8, 15].map((sixteenth) => numberAt(index, at(sixteenth), 0));
    expect(found).toEqual([undefined, 7, 7, undefined, 9, 9, undefined, undefined]);
    expect(numberAt(new LeaseIndex([]), 0n, 0)).toBe(undefined);
  });

  it('gives numbers that have more than 32 bits', () => {
    const index = new LeaseIndex([piece(`0-4#${Number.MAX_SAFE_INTEGER}`, 'serving')]);
    expect(numberAt(index, at(2), 0)).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe('a check for work under way', () => {
  it.each([
    ['loading', false],
    ['serving', true],
    ['revoking', true],
    ['lapsed', false],
    ['released', false],
  ] as const)('of a piece that is %s gives %s', (phase, continuous) => {
    expect(isHeld(new LeaseIndex([piece('0-4#7', phase)]), at(2), 7, 0)).toBe(continuous);
  });

  it('holds for the numbers of the unbroken tenure, and for no others', () => {
    const index = new LeaseIndex([piece('0-4#7', 'serving', { since: 5 })]);
    const found = [4, 5, 6, 7, 8].map((number) => isHeld(index, at(2), number, 0));
    expect(found).toEqual([false, true, true, true, false]);
  });

  it('fails from the instant at which the lease ends', () => {
    const index = new LeaseIndex([piece('0-4#7', 'revoking', { until: 9_000 })]);
    expect([8_999.999, 9_000].map((now) => isHeld(index, at(2), 7, now))).toEqual([true, false]);
  });
});

describe('the index', () => {
  const phases: readonly Phase[] = ['loading', 'serving', 'revoking', 'lapsed', 'released'];
  const edges = fc.oneof(
    fc.integer({ min: 0, max: 16 }).map(at),
    fc.bigInt({ min: 0n, max: RING_SIZE }),
    fc.bigInt({ min: at(5), max: at(5) + 40n }),
  );
  const manners = fc.record({
    phase: fc.constantFrom<Phase | undefined>(...phases, undefined),
    number: fc.integer({ min: 1, max: 5 }),
    tenure: fc.integer({ min: 0, max: 4 }),
    until: fc.integer({ min: 0, max: 5 }),
  });
  const lists = fc
    .tuple(
      fc.array(edges, { maxLength: 40, size: 'max' }),
      fc.array(manners, { minLength: 40, maxLength: 40 }),
    )
    .map(([any, manner]) => {
      const sorted = [...new Set(any)].sort((one, other) => (one < other ? -1 : 1));
      return sorted.flatMap((start, index): Piece[] => {
        const [end, how] = [sorted[index + 1], manner[index]];
        if (end === undefined || how?.phase === undefined) return [];
        const { phase, number, tenure } = how;
        const since = Math.max(0, number - tenure);
        const until = instant(how.until);
        return [
          {
            start,
            end,
            number,
            since,
            phase,
            until,
            revokeBy: undefined,
            toldIn: undefined,
            ticket: undefined,
          },
        ];
      });
    });

  /** All that can be asked at and around every edge, where it differs from what the pieces say. */
  function differences(index: LeaseIndex, pieces: readonly Piece[]): string[] {
    const places = [
      0n,
      ...pieces.flatMap(({ start, end }) => [start - 1n, start, start + 1n, end - 1n, end]),
    ];
    const wrong: string[] = [];
    for (const position of places.map((place) => BigInt.asUintN(64, place))) {
      if (index.find(highOf(position), lowOf(position)) !== pieceAt(pieces, position))
        wrong.push(`${position}`);
      for (const now of [-1, 0, 1, 2, 3, 4, 5]) {
        if (numberAt(index, position, now) !== plainNumberAt(pieces, position, now))
          wrong.push(`${position} at ${now}`);
        for (const number of [0, 1, 2, 3, 4, 5, 6]) {
          const expected = plainIsContinuous(pieces, position, number, now);
          if (isHeld(index, position, number, now) !== expected)
            wrong.push(`${position} under ${number} at ${now}`);
        }
      }
    }
    return wrong;
  }

  it('says of every position what the pieces say', () => {
    fc.assert(
      fc.property(lists, (pieces) => {
        expect(differences(new LeaseIndex(pieces), pieces)).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it('says it after their ends have moved, once they have been taken over, and too little before', () => {
    fc.assert(
      fc.property(lists, fc.infiniteStream(fc.integer({ min: 0, max: 3 })), (pieces, longer) => {
        const index = new LeaseIndex(pieces);
        const before = pieces.map((one) => ({ ...one }));
        for (const one of pieces) one.until = instant(one.until + longer.next().value);
        for (const { start } of pieces) {
          for (const now of [0, 2, 4]) {
            expect(numberAt(index, start, now)).toBe(plainNumberAt(before, start, now));
          }
        }
        index.extend();
        expect(differences(index, pieces)).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});
