import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../../runtime/errors.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { consistentHashing } from './consistent-hashing.ts';
import type { Placement, Policy, PolicyMember } from './policy.ts';

const member = (name: string, run = 1): PolicyMember => ({
  name,
  incarnation: `${name}.${run}`,
  load: undefined,
});
const place = (names: readonly string[], policy: Policy = consistentHashing()): readonly Placement[] =>
  policy.place({ rows: [], members: names.map((name) => member(name)) });

const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 12 });

/** The owner of each position, at every edge that any of the placements has. */
function compare(
  before: readonly Placement[],
  after: readonly Placement[],
  each: (was: string | undefined, is: string | undefined) => void,
): void {
  const ownerAt = (placements: readonly Placement[], position: bigint): string | undefined =>
    placements.find(({ start, end }) => start <= position && position < end)?.incarnation;
  for (const { start } of [...before, ...after]) each(ownerAt(before, start), ownerAt(after, start));
}

function shares(placements: readonly Placement[]): Map<string, number> {
  const result = new Map<string, number>();
  for (const { start, end, incarnation } of placements) {
    result.set(incarnation, (result.get(incarnation) ?? 0) + Number(end - start) / Number(RING_SIZE));
  }
  return result;
}

describe('consistent hashing', () => {
  it('covers the ring, in order, with as few spans as there are changes of owner', () => {
    fc.assert(
      fc.property(names, fc.integer({ min: 1, max: 64 }), (some, virtualNodes) => {
        const placements = place(some, consistentHashing({ virtualNodes }));
        expect(placements[0]?.start).toBe(0n);
        expect(placements.at(-1)?.end).toBe(RING_SIZE);
        for (const [index, { start, end, incarnation }] of placements.entries()) {
          expect(end > start).toBe(true);
          const next = placements[index + 1];
          if (next === undefined) continue;
          expect(next.start).toBe(end);
          expect(next.incarnation).not.toBe(incarnation);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('gives everything to the only owner, and nothing if there is none', () => {
    expect(place(['a'])).toEqual([{ start: 0n, end: RING_SIZE, incarnation: 'a.1' }]);
    expect(place([])).toEqual([]);
  });

  it('takes keys only for the one that joins, and gives back exactly those when it leaves', () => {
    fc.assert(
      fc.property(names, (some) => {
        const policy = consistentHashing({ virtualNodes: 16 });
        const without = place(some, policy);
        const joined = place([...some, 'the newcomer'], policy);
        compare(without, joined, (was, is) => {
          if (was !== is) expect(is).toBe('the newcomer.1');
        });
        expect(joined.some(({ incarnation }) => incarnation === 'the newcomer.1')).toBe(true);
        expect(place(some, policy)).toEqual(without);
      }),
      { numRuns: 40 },
    );
  });

  it('gives an owner that restarts under its name the same keys', () => {
    const policy = consistentHashing();
    const before = policy.place({ rows: [], members: [member('a'), member('b', 1)] });
    const after = policy.place({ rows: [], members: [member('a'), member('b', 2)] });
    expect(after).toEqual(
      before.map((placed) => (placed.incarnation === 'b.1' ? { ...placed, incarnation: 'b.2' } : placed)),
    );
  });

  it('does not depend on the order of owners, nor on who was there before', () => {
    const policy = consistentHashing();
    place(['x', 'y', 'z'], policy);
    expect(place(['c', 'a', 'b'], policy)).toEqual(place(['a', 'b', 'c']));
  });

  it('spreads fifty owners at 64 points each by an eighth of the mean, the farthest by less than half', () => {
    const deviations = [
      ...shares(place([...Array(50).keys()].map((index) => `server-${index}`))).values(),
    ].map((share) => share * 50 - 1);
    expect(deviations).toHaveLength(50);
    const deviation = Math.sqrt(deviations.reduce((sum, value) => sum + value ** 2, 0) / 50);
    expect(deviation).toBeLessThan(0.16);
    expect(deviation).toBeGreaterThan(0.08);
    expect(Math.max(...deviations.map(Math.abs))).toBeLessThan(0.5);
  });

  it('spreads an owner whose name has braces, though keys with the same braces lie together', () => {
    const placements = place(['{zone}-1', '{zone}-2']);
    expect(placements.length).toBeGreaterThan(32);
    for (const share of shares(placements).values()) expect(share).toBeGreaterThan(0.3);
  });

  it('is the same after any comings and goings as if it were asked for the first time', () => {
    fc.assert(
      fc.property(fc.array(names, { minLength: 1, maxLength: 6 }), (crowds) => {
        const policy = consistentHashing({ virtualNodes: 8 });
        for (const crowd of crowds) {
          expect(place(crowd, policy)).toEqual(place(crowd, consistentHashing({ virtualNodes: 8 })));
        }
      }),
      { numRuns: 60 },
    );
  });

  it('looks at nothing but names, and says so', () => {
    const policy = consistentHashing();
    expect([policy.name, policy.adaptive]).toEqual(['consistent-hashing', false]);
  });

  it.each([0, -1, 1.5, 4_097, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses %s virtual nodes',
    (virtualNodes) => {
      expect(() => consistentHashing({ virtualNodes })).toThrow(InvalidArgumentError);
      expect(() => consistentHashing({ virtualNodes })).toThrow(
        `option virtualNodes is ${virtualNodes}, but it must be a whole number from 1 to 4096`,
      );
    },
  );

  it('has 64 points an owner when nothing is said', () => {
    expect(place(['a', 'b'], consistentHashing({ virtualNodes: undefined }))).toEqual(
      place(['a', 'b'], consistentHashing({ virtualNodes: 64 })),
    );
    const [most, all] = [63, 64].map((virtualNodes) =>
      place(['a', 'b', 'c', 'd'], consistentHashing({ virtualNodes })),
    );
    expect(most).not.toEqual(all);
  });
});
