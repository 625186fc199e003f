import { describe, expect, it } from 'vitest';
import { CLOCK_RATE_BOUND } from './clock-rates.ts';
import { holdMsOf, isLeased, rateBoundOf } from './lease-time.ts';
import { instant } from './time.ts';

describe('the hold of a grantor', () => {
  it.each([
    [9_000, 150],
    [1_500, 100],
    [17, 1],
  ])(
    'outlasts a lease of %i ms and an unnoticed suspension of %i ms by every clock in the bound',
    (leaseMs, suspensionToleranceMs) => {
      const time = { leaseMs, suspensionToleranceMs };
      const longestLeaseMs = (leaseMs + suspensionToleranceMs) * CLOCK_RATE_BOUND;
      expect(holdMsOf(time)).toBeGreaterThanOrEqual(longestLeaseMs);
      expect(holdMsOf(time) - longestLeaseMs).toBeLessThan(1);
      expect(rateBoundOf(holdMsOf(time), time)).toBeGreaterThanOrEqual(CLOCK_RATE_BOUND);
    },
  );
});

describe('a lease', () => {
  it('ends leaseMs after the question was sent, and is over at that instant', () => {
    const askedAt = instant(1_000);
    expect([2_499, 2_500].map((ms) => isLeased(askedAt, 1_500, instant(ms)))).toEqual([true, false]);
  });
});
