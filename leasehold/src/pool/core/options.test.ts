import { describe, expect, it } from 'vitest';
import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import { brokenRule } from '../../runtime/errors.ts';
import {
  clockRateBound,
  lossBoundMs,
  PAPER_DURATIONS,
  type PoolDurations,
  resolveDurations,
  takeoverHoldMs,
} from './options.ts';

/** What is refused, as `option = value: rule`. */
function refusal(options: PoolDurations): string {
  try {
    resolveDurations(options);
    return 'accepted';
  } catch (error) {
    const broken = brokenRule(error);
    if (broken === undefined) throw error;
    return `${broken.option} = ${String(broken.value)}: ${broken.rule}`;
  }
}

const NAMES = Object.keys(resolveDurations()) as (keyof PoolDurations)[];

describe('the durations of a pool, left out', () => {
  it('follow from a lease of nine seconds', () => {
    expect(resolveDurations()).toEqual({
      leaseMs: 9_000,
      holdMs: 10_980,
      renewEveryMs: 1_500,
      retryMs: 500,
      leaderLeaseMs: 2_000,
      leaderChangeMs: 5_000,
      revokeTimeoutMs: 3_000,
      syncEveryMs: 10_000,
      staleAfterMs: 30_000,
      suspensionToleranceMs: 150,
    });
  });

  it('follow from the lease that is given', () => {
    expect(resolveDurations({ leaseMs: 18_000 })).toMatchObject({
      holdMs: 21_960,
      renewEveryMs: 3_000,
      retryMs: 1_000,
      leaderLeaseMs: 4_000,
      leaderChangeMs: 10_000,
      revokeTimeoutMs: 6_000,
      suspensionToleranceMs: 300,
    });
  });

  it('follow from one another: retries from renewals, staleness from syncs, tolerance and hold from each other', () => {
    expect(resolveDurations({ renewEveryMs: 900 }).retryMs).toBe(300);
    expect(resolveDurations({ syncEveryMs: 4_000 }).staleAfterMs).toBe(12_000);
    expect(resolveDurations({ holdMs: 10_000 }).suspensionToleranceMs).toBe(100);
    expect(resolveDurations({ suspensionToleranceMs: 1_000 }).holdMs).toBe(12_000);
  });

  it.each([20, 999, 1_500, 9_000, 10_000, 60_000])(
    'a lease of %d ms has a hold that covers the clock-rate bound',
    (leaseMs) => {
      expect(clockRateBound(resolveDurations({ leaseMs }))).toBeGreaterThan(CLOCK_RATE_BOUND - 1e-12);
    },
  );

  it('cover two machines that a time daemon slews in opposite directions, by its default at the most', () => {
    const slewing = { ntpd: 0.128 / 16, timesyncd: 0.4 / 8, chrony: 0.083_333, 'leap smear': 1 / 86_400 };
    const quartz = 0.000_1;
    for (const rate of Object.values(slewing)) {
      const apart = (1 + rate + quartz) / (1 - rate - quartz);
      expect(apart).toBeLessThan(clockRateBound(resolveDurations()));
    }
  });

  it('count as left out when they are undefined', () => {
    const nothing = Object.fromEntries(NAMES.map((name) => [name, undefined])) as PoolDurations;
    expect(NAMES).toHaveLength(10);
    expect(resolveDurations(nothing)).toEqual(resolveDurations());
  });
});

describe('the durations of the papers', () => {
  it('are accepted as they are', () => {
    expect(resolveDurations(PAPER_DURATIONS)).toMatchObject({
      leaseMs: 60_000,
      holdMs: 65_000,
      renewEveryMs: 15_000,
      syncEveryMs: 30_000,
    });
  });
});

describe('a duration', () => {
  it.each(NAMES)('%s is refused if it is not a positive number of milliseconds', (name) => {
    for (const value of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      // A bad lease makes bad what follows from it; it is named first.
      expect(refusal({ [name]: value })).toBe(
        `${name} = ${value}: it must be a positive number of milliseconds`,
      );
    }
  });

  it('is refused with a sentence for people', () => {
    expect(() => resolveDurations({ retryMs: -2 })).toThrow(
      'option retryMs is -2, but it must be a positive number of milliseconds',
    );
  });
});

describe('durations that do not go together', () => {
  it('refuses a tolerance that leaves nothing of the margin for clocks', () => {
    expect(refusal({ holdMs: 9_750, suspensionToleranceMs: 750 })).toBe(
      'suspensionToleranceMs = 750: it must be below holdMs - leaseMs = 750, or nothing is left for clocks of different rates',
    );
    expect(refusal({ holdMs: 9_750, suspensionToleranceMs: 749.9 })).toBe('accepted');
  });

  it('refuses a hold that is not longer than the lease, and names the hold', () => {
    expect(refusal({ holdMs: 9_000 })).toMatch(/^holdMs = 9000: it must be longer than leaseMs = 9000/);
    expect(refusal({ holdMs: 8_000, suspensionToleranceMs: 1 })).toMatch(/^holdMs = 8000:/);
  });

  it('refuses retries that are rarer than renewals', () => {
    expect(refusal({ retryMs: 1_501 })).toBe('retryMs = 1501: it must be at most renewEveryMs = 1500');
    expect(refusal({ retryMs: 1_200 })).toBe('accepted');
  });

  it('refuses a lease that ends while the leader is being replaced', () => {
    expect(refusal({ leaderChangeMs: 6_501 })).toBe(
      'leaseMs = 9000: a lease must outlast a renewal, a leader change and two retries: renewEveryMs + leaderChangeMs + 2 * retryMs = 9001',
    );
    expect(refusal({ leaderChangeMs: 6_500 })).toBe('accepted');
  });

  it('refuses a leader lease that is not over when the leader must have been replaced', () => {
    expect(refusal({ leaderLeaseMs: 5_001 })).toBe(
      'leaderLeaseMs = 5001: a leader that died is waited out within leaderChangeMs = 5000',
    );
    expect(refusal({ leaderLeaseMs: 5_000 })).toBe('accepted');
  });

  it('refuses to let a range be given back for longer than it is held', () => {
    expect(refusal({ revokeTimeoutMs: 9_000 })).toBe(
      'revokeTimeoutMs = 9000: it must be below leaseMs = 9000, for a lease can end while it is being given back',
    );
    expect(refusal({ revokeTimeoutMs: 8_999 })).toBe('accepted');
  });

  it('refuses to call a look-up cut off between two syncs', () => {
    expect(refusal({ staleAfterMs: 10_999 })).toBe(
      'staleAfterMs = 10999: a look-up must not call itself cut off between two syncs: syncEveryMs + 2 * retryMs = 11000',
    );
    expect(refusal({ staleAfterMs: 11_000 })).toBe('accepted');
  });
});

describe('a bound that follows from the durations', () => {
  const durations = resolveDurations({
    leaseMs: 10_000,
    holdMs: 11_110,
    suspensionToleranceMs: 100,
    leaderLeaseMs: 2_000,
    staleAfterMs: 30_000,
  });

  it('is how much faster one clock may run: the hold, by a lease and a suspension too short to notice', () => {
    expect(clockRateBound(durations)).toBeCloseTo(1.1, 12);
  });

  it('is how long a new leader keeps what it finds: a hold and a leader lease by a slow clock', () => {
    expect(takeoverHoldMs(durations)).toBeCloseTo(11_110 + (2_000 + 100) * 1.1, 9);
  });

  it('is within what time a loss is heard: staleness and a leader lease, both by a slow clock', () => {
    expect(lossBoundMs(durations)).toBeCloseTo((30_000 + 2_000 + 2 * 100) * 1.1, 9);
  });
});
