import { describe, expect, it } from 'vitest';
import { Attempt, type Operation } from './attempt.ts';
import { ResourceState, type Request } from './resource-state.ts';
import { Entry } from './table.ts';
import { HeldLease } from './held-lease.ts';
import { resolveFleaseDurations } from './options.ts';
import { queriesFirst, nextOperation } from './next-operation.ts';
import { Quorums } from './view.ts';

/** Renewed six seconds before its end. */
const DURATIONS = resolveFleaseDurations({ leaseMs: 10_000 });
const SELF = { id: 'a', durations: DURATIONS };
const UNTIL_MS = 20_000;

/** What a wants, in this order. */
function wanting(...kinds: readonly Request['kind'][]): ResourceState {
  const state = new ResourceState(new Entry('job'), 'a');
  kinds.forEach((kind, place) => state.add({ kind, id: place + 1 }, 1_000));
  return state;
}

function holding(...kinds: readonly Request['kind'][]): ResourceState {
  const state = wanting(...kinds);
  state.granted(new HeldLease('job', { number: 7, untilMs: UNTIL_MS }));
  return state;
}

/** It was let go of, and the others are yet to be told. */
function leaving(state: ResourceState, successor?: string): ResourceState {
  state.leave({ number: 7, untilMs: UNTIL_MS, successor });
  return state;
}

function attempt(operation: Operation): Attempt {
  const quorums = new Quorums({ members: ['a', 'b', 'c'], before: undefined });
  const ballot = { askedMs: 1_000, round: 1, member: 'a', incarnation: 1, attempt: 1 };
  const recipients = quorums.everybody;
  return new Attempt('job', ballot, { operation, quorums, intervalMs: 500, recipients, isQuery: false });
}

/** Two of three had promised somebody else. */
function outbid(state: ResourceState, operation: Operation): ResourceState {
  const failed = attempt(operation);
  for (const member of ['b', 'c'])
    failed.answer(member, { kind: 'refused', attempt: 1, of: 'read', why: 'outbid', detail: 3 });
  state.failed(failed, 500);
  return state;
}

const operation = (state: ResourceState, nowMs = 1_000): Operation | undefined =>
  nextOperation(state, SELF, nowMs);

describe('the next operation on a resource', () => {
  it('is nothing, if nobody wants it', () => {
    expect(operation(wanting())).toBeUndefined();
  });

  it('is to take the lease for requests that want it, and to ask for requests that ask, which come first', () => {
    expect(operation(wanting('acquire'))).toBe('take');
    expect(operation(wanting('try'))).toBe('take');
    expect(operation(wanting('acquire', 'ask'))).toBe('ask');
  });

  it('is to take it after somebody was told, however many ask: if it may be had', () => {
    const state = wanting('acquire', 'ask');
    state.begun(attempt('ask'));
    state.concluded();
    expect(operation(state)).toBe('take');
    state.begun(attempt('ask'));
    state.concluded(2_000);
    expect([operation(state, 1_999), operation(state, 2_000)]).toEqual(['ask', 'take']);
  });

  it('is to renew a held lease, from when that is due, also if other requests wait here', () => {
    const state = holding('acquire', 'ask');
    expect(operation(state, UNTIL_MS - 6_001)).toBe('ask');
    expect(operation(state, UNTIL_MS - 6_000)).toBe('renew');
    expect(operation(holding('acquire'), UNTIL_MS - 6_001)).toBeUndefined();
  });
});

describe('a released lease', () => {
  it('is said to be free, if nobody waits', () => {
    expect(operation(leaving(wanting()))).toBe('free');
    expect(operation(leaving(wanting('ask')))).toBe('free');
  });

  it('is taken again for the next one here, if no other member has waited longer', () => {
    expect(operation(leaving(wanting('acquire')))).toBe('take');
    const state = new ResourceState(new Entry('job'), 'a');
    state.enqueue('b');
    state.add({ kind: 'acquire', id: 1 }, 1_000);
    expect(operation(leaving(state))).toBe('free');
  });

  it('is taken again for a try only if no request waits', () => {
    expect(operation(leaving(wanting('try')))).toBe('take');
    const state = wanting('try');
    state.enqueue('b');
    expect(operation(leaving(state))).toBe('free');
  });

  it('goes to the named successor, also if requests wait here', () => {
    expect(operation(leaving(wanting('acquire'), 'b'))).toBe('free');
  });
});

describe('a query before the first read', () => {
  it('is for those who ask, until the answers have differed three times', () => {
    const state = wanting('ask');
    for (const isLook of [true, true, true, false]) {
      expect(queriesFirst(state, 'ask')).toBe(isLook);
      state.doubted();
    }
  });

  it('is for those who do not wait, as long as there is nothing of ours to give back', () => {
    expect(queriesFirst(wanting('try'), 'take')).toBe(true);
    expect(queriesFirst(leaving(wanting('try')), 'take')).toBe(false);
  });

  it('is for those who wait, or give back, only once they were outbid', () => {
    expect(queriesFirst(wanting('acquire'), 'take')).toBe(false);
    expect(queriesFirst(leaving(wanting()), 'free')).toBe(false);
    expect(queriesFirst(outbid(wanting('acquire'), 'take'), 'take')).toBe(true);
    expect(queriesFirst(outbid(leaving(wanting()), 'free'), 'free')).toBe(true);
  });

  it('is never for those who renew: they have no time to lose', () => {
    expect(queriesFirst(outbid(holding(), 'renew'), 'renew')).toBe(false);
  });
});
