import { describe, expect, it } from 'vitest';
import { Attempt } from './attempt.ts';
import { ResourceState } from './resource-state.ts';
import { Entry } from './table.ts';
import { HeldLease } from './held-lease.ts';
import { AdmissionQueue } from './admission-queue.ts';
import { resolveFleaseDurations } from './options.ts';
import { nextMs, pauseMs } from './timing.ts';
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
  const next = (state: ResourceState, admissionQueue = new AdmissionQueue()): number =>
    nextMs(state, admissionQueue, DURATIONS);
  const wanted = (): ResourceState => {
    const state = new ResourceState(new Entry('job'), 'a');
    state.add({ kind: 'acquire', id: 1 }, 1_000);
    return state;
  };
  const held = (): ResourceState => {
    const state = new ResourceState(new Entry('job'), 'a');
    state.granted(new HeldLease('job', { number: 7, untilMs: 2_000 }));
    return state;
  };
  const begin = (recipients: readonly string[]): Attempt => {
    const quorums = new Quorums({ members: ['a', 'b', 'c'], before: undefined });
    const ballot = { askedMs: 1_500, round: 1, member: 'a', incarnation: 1, attempt: 1 };
    return new Attempt('job', ballot, {
      ...{ operation: 'renew', quorums, intervalMs: 500, recipients, isQuery: false },
    });
  };

  it('when a pause is over, or what somebody has', () => {
    const state = wanted();
    state.pauseUntil(1_850);
    expect(next(state)).toBe(1_850);
  });

  it('when it is to be renewed, and later if that has just failed', () => {
    const state = held();
    expect(next(state)).toBe(1_400);
    state.pauseUntil(1_450);
    expect(next(state)).toBe(1_450);
  });

  it('when somebody asks who has it, though it need not be renewed yet', () => {
    const state = held();
    state.add({ kind: 'ask', id: 1 }, 1_000);
    state.pauseUntil(1_020);
    expect(next(state)).toBe(1_020);
  });

  it('when its holder is to be told that it ends, and when it has ended, whatever else is under way', () => {
    const state = held();
    state.pauseUntil(1_990);
    expect(next(state)).toBe(1_900);
    state.held?.noticed();
    state.pauseUntil(2_010);
    expect(next(state)).toBe(2_000);
  });

  it('when those who are asked first have had their time, and then when all have', () => {
    const state = held();
    const attempt = begin(['a', 'b']);
    state.begun(attempt);
    expect(next(state)).toBe(1_512.5);
    attempt.askTheRest();
    expect(next(state)).toBe(1_600);
  });

  it('does not begin before the admission queue has room', () => {
    const admissionQueue = new AdmissionQueue();
    const state = wanted();
    admissionQueue.enter(state, 'take', FULL);
    expect(next(state, admissionQueue)).toBe(Number.POSITIVE_INFINITY);
    const renewed = held();
    admissionQueue.enter(renewed, 'renew', FULL);
    expect(next(renewed, admissionQueue)).toBe(1_900);
  });

  it('when what it stands in a crowd to say is over by itself', () => {
    const admissionQueue = new AdmissionQueue();
    const state = new ResourceState(new Entry('job'), 'a');
    state.leave({ number: 7, untilMs: 2_000, successor: undefined });
    admissionQueue.enter(state, 'free', FULL);
    expect(next(state, admissionQueue)).toBe(2_000);
  });

  it('when it is to be renewed, though it stands in a crowd for something else', () => {
    const admissionQueue = new AdmissionQueue();
    const state = held();
    admissionQueue.enter(state, 'ask', FULL);
    expect(next(state, admissionQueue)).toBe(1_400);
  });
});
