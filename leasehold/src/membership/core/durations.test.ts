import { describe, expect, it } from 'vitest';
import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import { fateSharingMs, resolveDurations } from './durations.ts';

describe('the durations of a group', () => {
  it('make a promise longer than a lease by the clock-rate bound, with a suspension that goes unnoticed', () => {
    const { leaseMs, suspensionToleranceMs, promiseMs } = resolveDurations();
    expect(promiseMs).toBeGreaterThanOrEqual((leaseMs + suspensionToleranceMs) * CLOCK_RATE_BOUND);
  });

  it('say within which time a message is settled', () => {
    expect(fateSharingMs(resolveDurations())).toBe(10_750);
  });

  it.each([
    [{ heartbeatMs: 0 }, 'heartbeatMs'],
    [{ leaseMs: Number.NaN }, 'leaseMs'],
    [{ downMs: 400 }, 'downMs'],
    [{ leaseMs: 900 }, 'leaseMs'],
    [{ upMaxMs: 100 }, 'upMaxMs'],
    [{ doubtMs: 1_400 }, 'doubtMs'],
    [{ forgetMs: 1_000 }, 'forgetMs'],
  ])('are refused if they do not go together: %j', (options, option) => {
    expect(() => resolveDurations(options)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', details: expect.objectContaining({ option }) }),
    );
  });
});
