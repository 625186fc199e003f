import { describe, expect, it } from 'vitest';
import { Attempt, type Purpose } from './attempt.ts';
import { Claim, type Request } from './claim.ts';
import { Entry } from './table.ts';
import { Tenure } from './tenure.ts';
import type { Lease } from './lease.ts';
import { Quorums } from './view.ts';

const AT_ONCE = Number.NEGATIVE_INFINITY;

const LEASE: Lease = { holder: 'b', life: 1, number: 7, untilMs: 1_800, state: 'held', heir: undefined };

/** What a wants, in this order: its requests are numbered from 1. */
function wanting(...kinds: readonly Request['kind'][]): Claim {
  const claim = new Claim(new Entry('job'), 'a');
  kinds.forEach((kind, place) => claim.add({ kind, id: place + 1 }, 1_000));
  return claim;
}

function attempt(purpose: Purpose): Attempt {
  const quorums = new Quorums({ members: ['a', 'b', 'c'], before: undefined });
  const ballot = { askedMs: 1_000, round: 1, member: 'a', life: 1, attempt: 1 };
  const audience = quorums.everybody;
  return new Attempt('job', ballot, { purpose, quorums, intervalMs: 500, audience, isQuery: false });
}

/** It has come to its end, and somebody else has it until then. */
function concluded(claim: Claim, purpose: Purpose, takeAtMs?: number): Claim {
  claim.begun(attempt(purpose));
  claim.concluded(takeAtMs);
  return claim;
}

describe('those who want it in one process', () => {
  it('are given it in the order in which they came, whether they would wait or not', () => {
    const claim = wanting('try', 'acquire', 'try');
    expect([claim.shift()?.id, claim.shift()?.id, claim.shift()?.id]).toEqual([1, 2, 3]);
    expect(claim.isIdle).toBe(true);
  });

  it('are given it before those who only ask, who are not given it at all', () => {
    const claim = wanting('ask', 'acquire');
    expect(claim.shift()?.id).toBe(2);
    expect(claim.shift()).toBeUndefined();
    expect(claim.wants('ask')).toBe(true);
  });

  it('wait from when the clock could be trusted, each of them', () => {
    const claim = wanting('ask', 'try');
    claim.waitFrom(9_000);
    expect(claim.withdraw(({ sinceMs }) => sinceMs === 9_000)).toHaveLength(2);
  });
});

describe('the line', () => {
  it('has us in it once, where the first of ours came who waits, for as long as one does', () => {
    const claim = wanting('try', 'ask');
    claim.standInLine('b');
    expect(claim.line).toEqual(['b']);
    claim.add({ kind: 'acquire', id: 3 }, 1_000);
    claim.add({ kind: 'acquire', id: 4 }, 1_000);
    claim.standInLine('c');
    claim.standInLine('b');
    expect(claim.line).toEqual(['b', 'a', 'c']);
    claim.withdraw(({ kind }) => kind === 'acquire');
    expect(claim.line).toEqual(['b', 'c']);
  });

  it('has us at its end when we have had our turn, if others of ours wait', () => {
    const claim = wanting('acquire', 'acquire');
    claim.standInLine('b');
    claim.shift();
    claim.granted(new Tenure('job', { number: 8, untilMs: 2_000 }));
    expect(claim.line).toEqual(['b', 'a']);
  });

  it('is that of whoever has it: of ours only we are left, until we have it', () => {
    const claim = wanting('acquire');
    claim.standInLine('b');
    claim.saw(LEASE);
    expect(claim).toMatchObject({ line: ['a'], seen: LEASE });
    claim.granted(new Tenure('job', { number: 8, untilMs: 2_000 }));
    expect(claim.seen).toBeUndefined();
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
    const claim = concluded(wanting('acquire'), 'take', 1_850);
    claim.freed('b', 1_000, 25);
    expect(claim.tryAtMs).toBe(1_000);
  });

  it('is after a pause, when it is said to be free again and again, and is not', () => {
    const claim = concluded(wanting('acquire'), 'take', 1_850);
    const said = (nowMs: number): number => {
      claim.freed('b', nowMs, 25);
      const { tryAtMs } = claim;
      concluded(claim, 'take', 1_850);
      return tryAtMs;
    };
    expect([1_000, 1_001, 1_030, 1_076, 1_180, 1_400].map(said)).toEqual([
      1_000, 1_025, 1_075, 1_175, 1_375, 1_775,
    ]);
  });

  it('is when it was said to be, however often that is said before it is looked into', () => {
    const claim = concluded(wanting('acquire'), 'take', 1_850);
    claim.freed('b', 1_000, 25);
    concluded(claim, 'take', 1_850);
    for (const nowMs of [1_001, 1_002, 1_003]) claim.freed('b', nowMs, 25);
    expect(claim.tryAtMs).toBe(1_025);
  });

  it('is at once, when who has it says so, whatever others have said; and after a pause, when it says so again', () => {
    const claim = wanting('acquire');
    claim.begun(attempt('take'));
    claim.saw({ holder: 'c', life: 1, number: 8, untilMs: 1_800, state: 'held', heir: undefined });
    claim.concluded(1_850);
    const said = (by: string, nowMs: number): number => {
      claim.freed(by, nowMs, 25);
      const { tryAtMs } = claim;
      concluded(claim, 'take', 1_850);
      return tryAtMs;
    };
    expect([said('b', 1_000), said('d', 1_001), said('c', 1_030), said('c', 1_031)]).toEqual([
      1_000, 1_025, 1_030, 1_055,
    ]);
  });

  it('is at once again, when something else was found meanwhile', () => {
    const claim = concluded(wanting('acquire'), 'take', 1_850);
    claim.freed('b', 1_000, 25);
    claim.begun(attempt('take'));
    claim.saw({ holder: 'c', life: 1, number: 8, untilMs: 1_900, state: 'held', heir: undefined });
    claim.concluded(1_950);
    claim.freed('b', 1_001, 25);
    expect(claim.tryAtMs).toBe(1_001);
  });

  it('is at once, if it was said to be free while an attempt was under way that has found otherwise', () => {
    const claim = wanting('acquire');
    claim.begun(attempt('take'));
    claim.freed('b', 1_000, 25);
    claim.saw({ holder: 'c', life: 1, number: 8, untilMs: 1_900, state: 'held', heir: undefined });
    claim.concluded(1_950);
    expect(claim.tryAtMs).toBe(1_000);
  });

  it('is at once again, when it was held meanwhile', () => {
    const claim = wanting('acquire');
    claim.freed('b', 1_000, 25);
    claim.granted(new Tenure('job', { number: 7, untilMs: 2_000 }));
    claim.ended('released');
    concluded(claim, 'free', 1_850);
    claim.freed('b', 1_001, 25);
    expect(claim.tryAtMs).toBe(1_001);
  });

  it('is after a pause, when an attempt has failed or a query was in doubt', () => {
    const claim = wanting('ask');
    expect(claim.isSetBack).toBe(false);
    claim.doubted();
    claim.pauseUntil(1_003);
    expect(claim).toMatchObject({ isSetBack: true, tryAtMs: 1_003 });
    claim.failed(attempt('ask'), 500);
    expect(claim.isSetBack).toBe(true);
    concluded(claim, 'ask');
    expect(claim.isSetBack).toBe(false);
  });

  it('is at once, when something else is to be done; what failed before does not count any more', () => {
    const claim = wanting('acquire');
    claim.failed(attempt('renew'), 500);
    claim.pauseUntil(1_003);
    claim.startAfresh();
    expect(claim).toMatchObject({ isSetBack: false, tryAtMs: AT_ONCE });
  });

  it('is not what a clock said that may have been far ahead', () => {
    const claim = concluded(wanting('acquire'), 'take', 9_000_000);
    claim.silenced();
    expect(claim.tryAtMs).toBe(AT_ONCE);
  });

  it('is at once, when it is said to be free, also if that was said before by such a clock', () => {
    const claim = concluded(wanting('acquire'), 'take', 9_001_850);
    claim.freed('b', 9_000_000, 25);
    concluded(claim, 'take', 9_001_850);
    claim.silenced();
    concluded(claim, 'take', 1_850);
    claim.freed('b', 1_000, 25);
    expect(claim.tryAtMs).toBe(1_000);
  });
});

describe('whose turn it is', () => {
  it('is that of those who want it, after those who asked and when it may be had', () => {
    expect(concluded(wanting('ask', 'try'), 'ask').isTurnOfTakers(1_000)).toBe(true);
    expect(concluded(wanting('ask', 'acquire'), 'ask', 1_850).isTurnOfTakers(1_849)).toBe(false);
    expect(concluded(wanting('ask', 'acquire'), 'ask', 1_850).isTurnOfTakers(1_850)).toBe(true);
  });

  it('is that of those who ask, after others, or if nobody wants it', () => {
    expect(concluded(wanting('ask', 'try'), 'take').isTurnOfTakers(1_000)).toBe(false);
    expect(concluded(wanting('ask'), 'ask').isTurnOfTakers(1_000)).toBe(false);
  });

  it('is that of those who want it, when it is said to be free', () => {
    const claim = concluded(wanting('ask', 'acquire'), 'ask', 1_850);
    claim.freed('b', 1_000, 25);
    expect(claim.isTurnOfTakers(1_000)).toBe(true);
  });
});

describe('a tenure', () => {
  const held = () => {
    const claim = new Claim(new Entry('job'), 'a');
    const tenure = new Tenure('job', { number: 7, untilMs: 2_000 });
    claim.granted(tenure);
    return { claim, tenure };
  };

  it('is held until its end and not an instant longer, and never again once it has ended', () => {
    const { claim, tenure } = held();
    expect([tenure.isHeldAt(2_000), tenure.isHeldAt(2_000.1)]).toEqual([true, false]);
    expect(claim.ended('released')).toBe(tenure);
    expect(tenure.isHeldAt(1_000)).toBe(false);
    expect(claim.ended('lapsed')).toBeUndefined();
    expect(tenure.ended).toBe('released');
  });

  it('is leaving until the others know that it was let go of, or something else is to be said', () => {
    const { claim, tenure } = held();
    claim.ended('released');
    expect(claim.leave({ number: 7, untilMs: 2_000, heir: undefined, tenure })).toBeUndefined();
    expect(tenure.state).toBe('leaving');
    expect(claim.isIdle).toBe(false);
    claim.givenBack();
    expect(claim.leave(undefined)).toBe(tenure);
    expect(tenure.state).toBe('given-back');
    expect(claim.isIdle).toBe(true);
  });
});

describe('a look at a claim', () => {
  it('is put down once, and again only if it is sooner', () => {
    const claim = wanting('acquire');
    expect([claim.lookAgain(1_100), claim.lookAgain(1_200), claim.lookAgain(1_050)]).toEqual([
      true,
      false,
      true,
    ]);
    expect(claim.looked(1_050)).toBe(true);
  });

  it('that was put down for later comes to nothing if a sooner one has put it down anew', () => {
    const claim = wanting('acquire');
    claim.lookAgain(1_100);
    claim.lookAgain(1_050);
    claim.looked(1_050);
    claim.lookAgain(1_400);
    expect(claim.looked(1_100)).toBe(false);
    expect(claim.looked(1_400)).toBe(true);
  });
});
