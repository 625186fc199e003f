import { describe, expect, it } from 'vitest';
import { Attempt } from './attempt.ts';
import { Claim } from './claim.ts';
import { Entry } from './table.ts';
import { Tenure } from './tenure.ts';
import { Crowd } from './crowd.ts';
import { resolveFleaseDurations } from './options.ts';
import { nextMs, pauseMs } from './pace.ts';
import { Quorums } from './view.ts';

// A lease is 1000 ms and renewed after 400, its end announced 100 before, and an answer awaited for 100.
const DURATIONS = resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 });
const FULL = 4_096;

describe('a pause', () => {
  it('is twice as long each time, up to the time to answer', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7].map((failures) => pauseMs(failures, DURATIONS));
    expect(pauses).toEqual([3.125, 6.25, 12.5, 25, 50, 100, 100]);
  });
});

describe('there is something to do about a claim', () => {
  const next = (claim: Claim, crowd = new Crowd()): number => nextMs(claim, crowd, DURATIONS);
  const wanted = (): Claim => {
    const claim = new Claim(new Entry('job'), 'a');
    claim.add({ kind: 'acquire', id: 1 }, 1_000);
    return claim;
  };
  const held = (): Claim => {
    const claim = new Claim(new Entry('job'), 'a');
    claim.granted(new Tenure('job', { number: 7, untilMs: 2_000 }));
    return claim;
  };
  const begin = (audience: readonly string[]): Attempt => {
    const quorums = new Quorums({ members: ['a', 'b', 'c'], before: undefined });
    const ballot = { askedMs: 1_500, round: 1, member: 'a', life: 1, attempt: 1 };
    return new Attempt('job', ballot, {
      ...{ purpose: 'renew', quorums, intervalMs: 500, audience, isQuery: false },
    });
  };

  it('when a pause is over, or what somebody has', () => {
    const claim = wanted();
    claim.pauseUntil(1_850);
    expect(next(claim)).toBe(1_850);
  });

  it('when it is to be renewed, and later if that has just failed', () => {
    const claim = held();
    expect(next(claim)).toBe(1_400);
    claim.pauseUntil(1_450);
    expect(next(claim)).toBe(1_450);
  });

  it('when somebody asks who has it, though it need not be renewed yet', () => {
    const claim = held();
    claim.add({ kind: 'ask', id: 1 }, 1_000);
    claim.pauseUntil(1_020);
    expect(next(claim)).toBe(1_020);
  });

  it('when its holder is to be told that it ends, and when it has ended, whatever else is under way', () => {
    const claim = held();
    claim.pauseUntil(1_990);
    expect(next(claim)).toBe(1_900);
    claim.tenure?.noticed();
    claim.pauseUntil(2_010);
    expect(next(claim)).toBe(2_000);
  });

  it('when those who are asked first have had their time, and then when all have', () => {
    const claim = held();
    const attempt = begin(['a', 'b']);
    claim.begun(attempt);
    expect(next(claim)).toBe(1_512.5);
    attempt.askTheRest();
    expect(next(claim)).toBe(1_600);
  });

  it('not before there is room for it, if it stands in a crowd', () => {
    const crowd = new Crowd();
    const claim = wanted();
    crowd.enter(claim, 'take', FULL);
    expect(next(claim, crowd)).toBe(Number.POSITIVE_INFINITY);
    const renewed = held();
    crowd.enter(renewed, 'renew', FULL);
    expect(next(renewed, crowd)).toBe(1_900);
  });

  it('when what it stands in a crowd to say is over by itself', () => {
    const crowd = new Crowd();
    const claim = new Claim(new Entry('job'), 'a');
    claim.leave({ number: 7, untilMs: 2_000, heir: undefined });
    crowd.enter(claim, 'free', FULL);
    expect(next(claim, crowd)).toBe(2_000);
  });

  it('when it is to be renewed, though it stands in a crowd for something else', () => {
    const crowd = new Crowd();
    const claim = held();
    crowd.enter(claim, 'ask', FULL);
    expect(next(claim, crowd)).toBe(1_400);
  });
});
