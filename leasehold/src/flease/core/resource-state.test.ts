import { describe, expect, it } from 'vitest';
import { Attempt, type Operation } from './attempt.ts';
import { ResourceState, type Request } from './resource-state.ts';
import { Entry } from './table.ts';
import { HeldLease } from './held-lease.ts';
import type { Lease } from './lease.ts';
import { Quorums } from './view.ts';

const AT_ONCE = Number.NEGATIVE_INFINITY;

const LEASE: Lease = {
  holder: 'b',
  incarnation: 1,
  number: 7,
  untilMs: 1_800,
  state: 'held',
  successor: undefined,
};

/** What a wants, in this order: its requests are numbered from 1. */
function wanting(...kinds: readonly Request['kind'][]): ResourceState {
  const state = new ResourceState(new Entry('job'), 'a');
  kinds.forEach((kind, place) => state.add({ kind, id: place + 1 }, 1_000));
  return state;
}

function attempt(operation: Operation): Attempt {
  const quorums = new Quorums({ members: ['a', 'b', 'c'], before: undefined });
  const ballot = { askedMs: 1_000, round: 1, member: 'a', incarnation: 1, attempt: 1 };
  const recipients = quorums.everybody;
  return new Attempt('job', ballot, { operation, quorums, intervalMs: 500, recipients, isQuery: false });
}

/** It has come to its end, and somebody else has it until then. */
function concluded(state: ResourceState, operation: Operation, takeAtMs?: number): ResourceState {
  state.begun(attempt(operation));
  state.concluded(takeAtMs);
  return state;
}

describe('requests for one resource in one process', () => {
  it('are granted in the order in which they came, whether they would wait or not', () => {
    const state = wanting('try', 'acquire', 'try');
    expect([state.shift()?.id, state.shift()?.id, state.shift()?.id]).toEqual([1, 2, 3]);
    expect(state.isIdle).toBe(true);
  });

  it('are granted before requests that only ask, which are never granted', () => {
    const state = wanting('ask', 'acquire');
    expect(state.shift()?.id).toBe(2);
    expect(state.shift()).toBeUndefined();
    expect(state.wants('ask')).toBe(true);
  });

  it('wait from when the clock could be trusted, each of them', () => {
    const state = wanting('ask', 'try');
    state.waitFrom(9_000);
    expect(state.withdraw(({ sinceMs }) => sinceMs === 9_000)).toHaveLength(2);
  });
});

describe('the line of waiting members', () => {
  it('has us in it once, where the first of ours came who waits, for as long as one does', () => {
    const state = wanting('try', 'ask');
    state.enqueue('b');
    expect(state.waiters).toEqual(['b']);
    state.add({ kind: 'acquire', id: 3 }, 1_000);
    state.add({ kind: 'acquire', id: 4 }, 1_000);
    state.enqueue('c');
    state.enqueue('b');
    expect(state.waiters).toEqual(['b', 'a', 'c']);
    state.withdraw(({ kind }) => kind === 'acquire');
    expect(state.waiters).toEqual(['b', 'c']);
  });

  it('has us at its end when we have had our turn, if others of ours wait', () => {
    const state = wanting('acquire', 'acquire');
    state.enqueue('b');
    state.shift();
    state.granted(new HeldLease('job', { number: 8, untilMs: 2_000 }));
    expect(state.waiters).toEqual(['b', 'a']);
  });

  it('is that of the holder: of ours only this member is left, until it holds the lease', () => {
    const state = wanting('acquire');
    state.enqueue('b');
    state.saw(LEASE);
    expect(state).toMatchObject({ waiters: ['a'], seen: LEASE });
    state.granted(new HeldLease('job', { number: 8, untilMs: 2_000 }));
    expect(state.seen).toBeUndefined();
  });
});

describe('when to try again', () => {
  it('is at once, when an attempt has come to its end and nobody has it', () => {
    expect(concluded(wanting('acquire'), 'take').tryAtMs).toBe(AT_ONCE);
  });

  it('is when somebody else no longer has it, unless somebody asks who that is', () => {
    expect(concluded(wanting('acquire'), 'take', 1_850).tryAtMs).toBe(1_850);
    expect(concluded(wanting('acquire', 'ask'), 'take', 1_850).tryAtMs).toBe(AT_ONCE);
  });

  it('is at once, when it is said to be free', () => {
    const state = concluded(wanting('acquire'), 'take', 1_850);
    state.notified('b', 1_000, 25);
    expect(state.tryAtMs).toBe(1_000);
  });

  it('is after a pause, when it is said to be free again and again, and is not', () => {
    const state = concluded(wanting('acquire'), 'take', 1_850);
    const received = (nowMs: number): number => {
      state.notified('b', nowMs, 25);
      const { tryAtMs } = state;
      concluded(state, 'take', 1_850);
      return tryAtMs;
    };
    expect([1_000, 1_001, 1_030, 1_076, 1_180, 1_400].map(received)).toEqual([
      1_000, 1_025, 1_075, 1_175, 1_375, 1_775,
    ]);
  });

  it('is when it was said to be, however often that is said before it is looked into', () => {
    const state = concluded(wanting('acquire'), 'take', 1_850);
    state.notified('b', 1_000, 25);
    concluded(state, 'take', 1_850);
    for (const nowMs of [1_001, 1_002, 1_003]) state.notified('b', nowMs, 25);
    expect(state.tryAtMs).toBe(1_025);
  });

  it('is at once when the holder says so, whatever others have said; and after a pause when it says so again', () => {
    const state = wanting('acquire');
    state.begun(attempt('take'));
    state.saw({
      holder: 'c',
      incarnation: 1,
      number: 8,
      untilMs: 1_800,
      state: 'held',
      successor: undefined,
    });
    state.concluded(1_850);
    const received = (by: string, nowMs: number): number => {
      state.notified(by, nowMs, 25);
      const { tryAtMs } = state;
      concluded(state, 'take', 1_850);
      return tryAtMs;
    };
    expect([received('b', 1_000), received('d', 1_001), received('c', 1_030), received('c', 1_031)]).toEqual([
      1_000, 1_025, 1_030, 1_055,
    ]);
  });

  it('is at once again, when something else was found meanwhile', () => {
    const state = concluded(wanting('acquire'), 'take', 1_850);
    state.notified('b', 1_000, 25);
    state.begun(attempt('take'));
    state.saw({
      holder: 'c',
      incarnation: 1,
      number: 8,
      untilMs: 1_900,
      state: 'held',
      successor: undefined,
    });
    state.concluded(1_950);
    state.notified('b', 1_001, 25);
    expect(state.tryAtMs).toBe(1_001);
  });

  it('is at once, if it was said to be free while an attempt was under way that has found otherwise', () => {
    const state = wanting('acquire');
    state.begun(attempt('take'));
    state.notified('b', 1_000, 25);
    state.saw({
      holder: 'c',
      incarnation: 1,
      number: 8,
      untilMs: 1_900,
      state: 'held',
      successor: undefined,
    });
    state.concluded(1_950);
    expect(state.tryAtMs).toBe(1_000);
  });

  it('is at once again, when it was held meanwhile', () => {
    const state = wanting('acquire');
    state.notified('b', 1_000, 25);
    state.granted(new HeldLease('job', { number: 7, untilMs: 2_000 }));
    state.ended('released');
    concluded(state, 'free', 1_850);
    state.notified('b', 1_001, 25);
    expect(state.tryAtMs).toBe(1_001);
  });

  it('is after a pause, when an attempt has failed or a query was in doubt', () => {
    const state = wanting('ask');
    expect(state.isBackingOff).toBe(false);
    state.doubted();
    state.pauseUntil(1_003);
    expect(state).toMatchObject({ isBackingOff: true, tryAtMs: 1_003 });
    state.failed(attempt('ask'), 500);
    expect(state.isBackingOff).toBe(true);
    concluded(state, 'ask');
    expect(state.isBackingOff).toBe(false);
  });

  it('is at once, when something else is to be done; what failed before does not count any more', () => {
    const state = wanting('acquire');
    state.failed(attempt('renew'), 500);
    state.pauseUntil(1_003);
    state.startAfresh();
    expect(state).toMatchObject({ isBackingOff: false, tryAtMs: AT_ONCE });
  });

  it('is not what a clock said that may have been far ahead', () => {
    const state = concluded(wanting('acquire'), 'take', 9_000_000);
    state.recoveryStarted();
    expect(state.tryAtMs).toBe(AT_ONCE);
  });

  it('is at once, when it is said to be free, also if that was said before by such a clock', () => {
    const state = concluded(wanting('acquire'), 'take', 9_001_850);
    state.notified('b', 9_000_000, 25);
    concluded(state, 'take', 9_001_850);
    state.recoveryStarted();
    concluded(state, 'take', 1_850);
    state.notified('b', 1_000, 25);
    expect(state.tryAtMs).toBe(1_000);
  });
});

describe('the turn of a request', () => {
  it('comes for requests that want the lease after those that asked, when the lease may be had', () => {
    expect(concluded(wanting('ask', 'try'), 'ask').isTurnOfTakers(1_000)).toBe(true);
    expect(concluded(wanting('ask', 'acquire'), 'ask', 1_850).isTurnOfTakers(1_849)).toBe(false);
    expect(concluded(wanting('ask', 'acquire'), 'ask', 1_850).isTurnOfTakers(1_850)).toBe(true);
  });

  it('comes for requests that ask after others, or if no request wants the lease', () => {
    expect(concluded(wanting('ask', 'try'), 'take').isTurnOfTakers(1_000)).toBe(false);
    expect(concluded(wanting('ask'), 'ask').isTurnOfTakers(1_000)).toBe(false);
  });

  it('comes for requests that want the lease when it is said to be free', () => {
    const state = concluded(wanting('ask', 'acquire'), 'ask', 1_850);
    state.notified('b', 1_000, 25);
    expect(state.isTurnOfTakers(1_000)).toBe(true);
  });
});

describe('a held lease', () => {
  const granted = () => {
    const state = new ResourceState(new Entry('job'), 'a');
    const held = new HeldLease('job', { number: 7, untilMs: 2_000 });
    state.granted(held);
    return { state, held };
  };

  it('is held until its end and not an instant longer, and never again once it has ended', () => {
    const { state, held } = granted();
    expect([held.isHeldAt(2_000), held.isHeldAt(2_000.1)]).toEqual([true, false]);
    expect(state.ended('released')).toBe(held);
    expect(held.isHeldAt(1_000)).toBe(false);
    expect(state.ended('lapsed')).toBeUndefined();
    expect(held.ended).toBe('released');
  });

  it('is leaving until the others know that it was let go of, or something else is to be said', () => {
    const { state, held } = granted();
    state.ended('released');
    expect(state.leave({ number: 7, untilMs: 2_000, successor: undefined, held })).toBeUndefined();
    expect(held.state).toBe('leaving');
    expect(state.isIdle).toBe(false);
    state.givenBack();
    expect(state.leave(undefined)).toBe(held);
    expect(held.state).toBe('given-back');
    expect(state.isIdle).toBe(true);
  });
});

describe('a look at a claim', () => {
  it('is put down once, and again only if it is sooner', () => {
    const state = wanting('acquire');
    expect([state.reschedule(1_100), state.reschedule(1_200), state.reschedule(1_050)]).toEqual([
      true,
      false,
      true,
    ]);
    expect(state.timerFired(1_050)).toBe(true);
  });

  it('that was put down for later comes to nothing if a sooner one has put it down anew', () => {
    const state = wanting('acquire');
    state.reschedule(1_100);
    state.reschedule(1_050);
    state.timerFired(1_050);
    state.reschedule(1_400);
    expect(state.timerFired(1_100)).toBe(false);
    expect(state.timerFired(1_400)).toBe(true);
  });
});
