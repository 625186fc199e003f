import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Ballot, compareBallots } from './ballot.ts';

const INTERVAL_MS = 100;

const ballot = (changes: Partial<Ballot>): Ballot => ({
  ...{ askedMs: 250, round: 1, member: 'a', incarnation: 5, attempt: 1 },
  ...changes,
});
const isHigher = (a: Partial<Ballot>, b: Partial<Ballot>): boolean =>
  compareBallots(ballot(a), ballot(b), INTERVAL_MS) > 0;

describe('of two ballots the higher one', () => {
  it('began in a later interval, whatever its round', () => {
    expect(isHigher({ askedMs: 300, round: 1 }, { askedMs: 299, round: 90 })).toBe(true);
  });

  it('has the higher round, in one interval, whichever began first', () => {
    expect(isHigher({ askedMs: 200, round: 2 }, { askedMs: 299, round: 1, member: 'z' })).toBe(true);
  });

  it('is of the member with the later name, in one round', () => {
    expect(isHigher({ member: 'b', incarnation: 1 }, { member: 'a', incarnation: 9 })).toBe(true);
  });

  it('is of the greater incarnation, and then of the later attempt', () => {
    expect(isHigher({ incarnation: 6, attempt: 1 }, { incarnation: 5, attempt: 7 })).toBe(true);
    expect(isHigher({ attempt: 2 }, { attempt: 1 })).toBe(true);
  });

  it('began at least an interval later, if any did', () => {
    const asked = fc.double({ min: 0, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(asked, fc.nat(), fc.nat(), (askedMs, round, other) => {
        expect(isHigher({ askedMs: askedMs + INTERVAL_MS, round }, { askedMs, round: other })).toBe(true);
      }),
    );
  });

  it('is the same, whichever is compared with whichever', () => {
    const ballots = fc.record({
      askedMs: fc.integer({ min: 0, max: 400 }),
      round: fc.integer({ min: 1, max: 3 }),
      member: fc.constantFrom('a', 'b'),
      incarnation: fc.integer({ min: 1, max: 2 }),
      attempt: fc.integer({ min: 1, max: 2 }),
    });
    fc.assert(
      fc.property(ballots, ballots, ballots, (a, b, c) => {
        const order = (one: Ballot, other: Ballot): number =>
          Math.sign(compareBallots(one, other, INTERVAL_MS));
        expect(order(a, b)).toBe(0 - order(b, a));
        if (order(a, b) > 0 && order(b, c) > 0) expect(order(a, c)).toBe(1);
      }),
    );
  });
});
