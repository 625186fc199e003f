import { describe, expect, it } from 'vitest';
import { Attempt, type Purpose } from './attempt.ts';
import { Claim, type Request } from './claim.ts';
import { Entry } from './table.ts';
import { Tenure } from './tenure.ts';
import { resolveFleaseDurations } from './options.ts';
import { looksFirst, purposeOf } from './purpose.ts';
import { Quorums } from './view.ts';

/** Renewed six seconds before its end. */
const DURATIONS = resolveFleaseDurations({ leaseMs: 10_000 });
const SELF = { id: 'a', durations: DURATIONS };
const UNTIL_MS = 20_000;

/** What a wants, in this order. */
function wanting(...kinds: readonly Request['kind'][]): Claim {
  const claim = new Claim(new Entry('job'), 'a');
  kinds.forEach((kind, place) => claim.add({ kind, id: place + 1 }, 1_000));
  return claim;
}

function holding(...kinds: readonly Request['kind'][]): Claim {
  const claim = wanting(...kinds);
  claim.granted(new Tenure('job', { number: 7, untilMs: UNTIL_MS }));
  return claim;
}

/** It was let go of, and the others are yet to be told. */
function leaving(claim: Claim, heir?: string): Claim {
  claim.leave({ number: 7, untilMs: UNTIL_MS, heir });
  return claim;
}

function attempt(purpose: Purpose): Attempt {
  const quorums = new Quorums({ members: ['a', 'b', 'c'], before: undefined });
  const ballot = { askedMs: 1_000, round: 1, member: 'a', life: 1, attempt: 1 };
  const audience = quorums.everybody;
  return new Attempt('job', ballot, { purpose, quorums, intervalMs: 500, audience, isQuery: false });
}

/** Two of three had promised somebody else. */
function outbid(claim: Claim, purpose: Purpose): Claim {
  const failed = attempt(purpose);
  for (const member of ['b', 'c'])
    failed.answer(member, { kind: 'refused', attempt: 1, of: 'read', why: 'outbid', detail: 3 });
  claim.failed(failed, 500);
  return claim;
}

const purpose = (claim: Claim, nowMs = 1_000): Purpose | undefined => purposeOf(claim, SELF, nowMs);

describe('what to do about a claim', () => {
  it('is nothing, if nobody wants it', () => {
    expect(purpose(wanting())).toBeUndefined();
  });

  it('is to take it for those who want it, and to ask for those who ask, who come first', () => {
    expect(purpose(wanting('acquire'))).toBe('take');
    expect(purpose(wanting('try'))).toBe('take');
    expect(purpose(wanting('acquire', 'ask'))).toBe('ask');
  });

  it('is to take it after somebody was told, however many ask: if it may be had', () => {
    const claim = wanting('acquire', 'ask');
    claim.begun(attempt('ask'));
    claim.concluded();
    expect(purpose(claim)).toBe('take');
    claim.begun(attempt('ask'));
    claim.concluded(2_000);
    expect([purpose(claim, 1_999), purpose(claim, 2_000)]).toEqual(['ask', 'take']);
  });

  it('is to renew what is held, from when that is due, whoever else waits here', () => {
    const claim = holding('acquire', 'ask');
    expect(purpose(claim, UNTIL_MS - 6_001)).toBe('ask');
    expect(purpose(claim, UNTIL_MS - 6_000)).toBe('renew');
    expect(purpose(holding('acquire'), UNTIL_MS - 6_001)).toBeUndefined();
  });
});

describe('what was let go of', () => {
  it('is said to be free, if nobody waits', () => {
    expect(purpose(leaving(wanting()))).toBe('free');
    expect(purpose(leaving(wanting('ask')))).toBe('free');
  });

  it('is taken again for the next one here, if no other member has waited longer', () => {
    expect(purpose(leaving(wanting('acquire')))).toBe('take');
    const claim = new Claim(new Entry('job'), 'a');
    claim.standInLine('b');
    claim.add({ kind: 'acquire', id: 1 }, 1_000);
    expect(purpose(leaving(claim))).toBe('free');
  });

  it('is taken again for those who do not wait only if nobody waits', () => {
    expect(purpose(leaving(wanting('try')))).toBe('take');
    const claim = wanting('try');
    claim.standInLine('b');
    expect(purpose(leaving(claim))).toBe('free');
  });

  it('goes to whom it was handed over to, whoever waits here', () => {
    expect(purpose(leaving(wanting('acquire'), 'b'))).toBe('free');
  });
});

describe('looking before anybody has to promise anything', () => {
  it('is for those who ask, until the answers have differed three times', () => {
    const claim = wanting('ask');
    for (const isLook of [true, true, true, false]) {
      expect(looksFirst(claim, 'ask')).toBe(isLook);
      claim.doubted();
    }
  });

  it('is for those who do not wait, as long as there is nothing of ours to give back', () => {
    expect(looksFirst(wanting('try'), 'take')).toBe(true);
    expect(looksFirst(leaving(wanting('try')), 'take')).toBe(false);
  });

  it('is for those who wait, or give back, only once they were outbid', () => {
    expect(looksFirst(wanting('acquire'), 'take')).toBe(false);
    expect(looksFirst(leaving(wanting()), 'free')).toBe(false);
    expect(looksFirst(outbid(wanting('acquire'), 'take'), 'take')).toBe(true);
    expect(looksFirst(outbid(leaving(wanting()), 'free'), 'free')).toBe(true);
  });

  it('is never for those who renew: they have no time to lose', () => {
    expect(looksFirst(outbid(holding(), 'renew'), 'renew')).toBe(false);
  });
});
