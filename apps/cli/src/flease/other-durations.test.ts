import { describe, expect, it } from 'vitest';
import { isCertain, isLikely, otherDurations } from './other-durations.ts';

const MEMBERS = ['a', 'b', 'c', 'd', 'e'];
const OTHER = { leaseMs: 10_000, clockSkewMs: 500 };

/**
 * The state as `a` finds it: the peers that `a` hears, the peers with other durations, and the rest, which are away.
 */
const found = (fine: string, others: string) => ({
  ...{ leaseMs: 1_500, clockSkewMs: 100 },
  peers: ['b', 'c', 'd', 'e'].map((name) => ({
    name,
    connected: fine.includes(name) || others.includes(name),
    otherDurations: others.includes(name) ? OTHER : undefined,
  })),
});

describe('members with other durations', () => {
  it.each([
    ['', 'bcd', true],
    ['e', 'bcd', true],
    ['', 'bc', false],
    ['de', 'bc', false],
  ])('make a majority impossible, with "%s" fine and "%s" not: %s', (fine, others, certain) => {
    expect(isCertain(found(fine, others), MEMBERS)).toBe(certain);
  });

  it.each([
    ['', 'b', true],
    ['e', 'b', false],
    ['', '', false],
  ])('are the likely reason in the end, with "%s" fine and "%s" not: %s', (fine, others, likely) => {
    expect(isLikely(found(fine, others))).toBe(likely);
  });

  it('do not count while they are away, for they may come back with ours', () => {
    const { peers, ...own } = found('', 'bcd');
    const status = { ...own, peers: peers.map((peer) => ({ ...peer, connected: false })) };
    expect([isCertain(status, MEMBERS), isLikely(status)]).toEqual([false, false]);
  });

  it('do not count if they are only in the view before', () => {
    expect(isCertain(found('', 'de'), ['a', 'b', 'c'])).toBe(false);
  });

  it('are named, with what each has', () => {
    const error = otherDurations(found('e', 'b'));
    expect(error.message).toBe(
      'no majority can agree with this member, which has --lease 1500ms --clock-skew 100ms: b has --lease 10000ms --clock-skew 500ms; both must be the same everywhere',
    );
    expect(error).toMatchObject({
      code: 'CONFIG_MISMATCH',
      details: { leaseMs: 1_500, clockSkewMs: 100, others: { b: OTHER } },
    });
  });
});
