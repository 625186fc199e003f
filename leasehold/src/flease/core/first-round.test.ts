import { describe, expect, it } from 'vitest';
import { firstRound } from './first-round.ts';
import type { Lease } from './lease.ts';

const INTERVAL_MS = 500;
const promised = { askedMs: 1_100, round: 7, member: 'b', incarnation: 1, attempt: 1 };
const lease = (state: Lease['state']): Lease => ({
  ...{
    holder: 'b',
    incarnation: 1,
    number: 1,
    untilMs: 2_000,
    successor: state === 'left' ? 'c' : undefined,
    state,
  },
});
const begin = (state: Lease['state'] | undefined, hasJustCome: boolean, nowMs = 1_200): number => {
  const known = { promised, lease: state === undefined ? undefined : lease(state) };
  return firstRound(known, hasJustCome, nowMs, INTERVAL_MS);
};

describe('the round to begin with', () => {
  it('is the first, if nothing is known', () => {
    expect(firstRound(undefined, true, 1_200, INTERVAL_MS)).toBe(1);
  });

  it('exceeds the promised round, if no member holds the lease', () => {
    expect([begin('free', true), begin(undefined, true)]).toEqual([8, 8]);
  });

  it('exceeds the promised round for members that held the lease or waited for it', () => {
    expect([begin('held', false), begin('left', false)]).toEqual([8, 8]);
  });

  it('is the first round for a new request while another member holds the lease, or is about to', () => {
    expect([begin('held', true), begin('left', true)]).toEqual([1, 1]);
  });

  it('is the first in the next interval', () => {
    expect(begin('held', false, 1_500)).toBe(1);
  });
});
