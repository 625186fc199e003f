import { describe, expect, it } from 'vitest';
import { type Lease, nextNumber, takeableAtMs } from './lease.ts';

const SKEW_MS = 50;
const lease = (changes: Partial<Lease> = {}): Lease => ({
  ...{ holder: 'a', incarnation: 1, number: 1, untilMs: 2_000, state: 'held', successor: undefined },
  ...changes,
});

describe('the number of a lease', () => {
  it('is the microsecond at which it was asked for', () => {
    expect(nextNumber(1_750_000_000_000.5, undefined, SKEW_MS)).toBe(1_750_000_000_000_500);
  });

  it('exceeds the one that was found, if that was counted by a clock ahead of ours', () => {
    expect(nextNumber(1_000, lease({ number: 1_000_020 }), SKEW_MS)).toBe(1_000_021);
  });

  it('is not drawn while it would be further ahead of our clock than the skew', () => {
    expect(nextNumber(1_000, lease({ number: 1_049_999 }), SKEW_MS)).toBe(1_050_000);
    expect(nextNumber(1_000, lease({ number: 1_050_000 }), SKEW_MS)).toBeUndefined();
  });
});

describe('a lease can be taken', () => {
  it('at once, if there is none or it is free', () => {
    expect(takeableAtMs(undefined, 'b', SKEW_MS)).toBe(Number.NEGATIVE_INFINITY);
    expect(takeableAtMs(lease({ state: 'free' }), 'b', SKEW_MS)).toBe(Number.NEGATIVE_INFINITY);
  });

  it('the skew after its end, if somebody holds it', () => {
    expect(takeableAtMs(lease(), 'b', SKEW_MS)).toBe(2_050);
  });

  it('at once by its successor, and by others as if it were held', () => {
    const left = lease({ state: 'left', successor: 'b' });
    expect(takeableAtMs(left, 'b', SKEW_MS)).toBe(Number.NEGATIVE_INFINITY);
    expect(takeableAtMs(left, 'c', SKEW_MS)).toBe(2_050);
  });
});
