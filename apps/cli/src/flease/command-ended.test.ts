import type { LeaseEnd, LeaseLostError, PeerStatus } from 'leasehold/flease';
import { leaseLost } from 'leasehold/internal';
import { describe, expect, it } from 'vitest';
import { commandEnded, type LostLease, suspectsOf } from './command-ended.ts';

const LEASE = { resource: 'backup', number: 7 };
const AWAKE = { stoodStillMs: 0, hasOverslept: false };

const endedBy = (
  how: LeaseEnd,
  wasHeldToTheEnd: boolean,
  unheard: readonly string[] = [],
  problems: readonly string[] = [],
  wakefulness: Pick<LostLease, 'stoodStillMs' | 'hasOverslept'> = AWAKE,
): LeaseLostError => {
  const reason = leaseLost('backup', 7, how);
  const suspects = { unheard, problems };
  return commandEnded('sh', { ...LEASE, reason, wasHeldToTheEnd, ...wakefulness, suspects });
};

/** Killed by whoever watches, although the lease is held. */
const overdue = (wakefulness: Pick<LostLease, 'stoodStillMs' | 'hasOverslept'>): LeaseLostError => {
  const suspects = { unheard: ['ben for 4 s'], problems: [] };
  const kept = { ...LEASE, reason: undefined, wasHeldToTheEnd: true, suspects };
  return commandEnded('sh', { ...kept, ...wakefulness });
};

describe('the last word of a command whose lease was lost', () => {
  it('says whether it can have overlapped with the next holder’s', () => {
    const lease = 'the lease on "backup" (number 7) was not renewed in time';
    expect(endedBy('ending', true).message).toMatch(`${lease}, and "sh" ended while it still had it; `);
    expect(endedBy('lapsed', false).message).toMatch(`${lease}, and "sh" may have run past it; `);
  });

  it('names those who were not heard from, if that can be why', () => {
    const unheard = ['ben for 4 s', 'cyd at all'];
    expect(endedBy('ending', true, unheard).message).toMatch(/; not heard from: ben for 4 s, cyd at all$/);
    const problems = ['ada, eve: they acknowledge nothing'];
    expect(endedBy('ending', true, ['ben for 4 s'], problems).message).toMatch(
      /still had it; not heard from: ben for 4 s; ada, eve: they acknowledge nothing$/,
    );
    expect(endedBy('lapsed', false, [], problems).message).toMatch(
      /past it; too few members confirmed the renewal in time; ada, eve: they acknowledge nothing$/,
    );
    expect(endedBy('clock', false, unheard).message).not.toContain('ben');
    expect(endedBy('lost', false, unheard).message).not.toContain('ben');
  });

  it('says no more than that too few confirmed it, if nobody can be named', () => {
    expect(endedBy('ending', true).message).toMatch(/; too few members confirmed the renewal in time$/);
    expect(endedBy('lost', false).message).not.toContain('too few');
  });

  it('blames nobody else, if the lease was renewed and only we stood still', () => {
    const ended = overdue({ stoodStillMs: 5_200, hasOverslept: false });
    expect(ended.details['how']).toBe('stood-still');
    expect(ended.message).toBe(
      'the lease on "backup" (number 7) was held, but this process stood still until the end that it had known of last, and "sh" ended while it still had it',
    );
  });

  it('does not say that we stood still, if nobody noticed that', () => {
    const ended = overdue(AWAKE);
    expect([ended.details['how'], ended.details['unheard']]).toEqual(['overdue', []]);
    expect(ended.message).toBe(
      'the lease on "backup" (number 7) was held, but the process that watches was told of no renewal until the end that it knew of, and "sh" ended while it still had it',
    );
  });

  it('blames nobody else, if it was not renewed because we stood still for too long', () => {
    const overslept = { stoodStillMs: 5_200, hasOverslept: true };
    for (const how of ['ending', 'lapsed'] as const) {
      const ended = endedBy(
        how,
        false,
        ['ben for 5 s', 'eve at all'],
        ['ada: acknowledges nothing'],
        overslept,
      );
      expect([ended.details['how'], ended.details['unheard']]).toEqual(['stood-still', []]);
      expect(ended.message).toBe(
        'the lease on "backup" (number 7) was not renewed in time, because this process stood still for about 5.2 s, and "sh" may have run past it',
      );
    }
    expect(endedBy('clock', false, [], [], overslept).details['how']).toBe('clock');
  });

  it('says nothing of a standstill that would have left the time to renew it', () => {
    const late = { stoodStillMs: 5_200, hasOverslept: false };
    expect(endedBy('lapsed', false, ['ben for 9 s'], [], late).message).toMatch(
      /was not renewed in time, and "sh" may have run past it; not heard from: ben for 9 s$/,
    );
  });

  it('has all of that for programs, too', () => {
    expect(endedBy('lapsed', false, ['ben for 4 s'])).toMatchObject({
      code: 'LEASE_LOST',
      details: {
        ...{ command: 'sh', resource: 'backup', number: 7 },
        ...{ how: 'lapsed', wasHeldToTheEnd: false, unheard: ['ben for 4 s'] },
      },
    });
    expect(endedBy('clock', false, ['ben for 4 s']).details['unheard']).toEqual([]);
  });
});

describe('members that were not heard from', () => {
  const peer = (name: string, connected: boolean, heardAgoMs: number | undefined): PeerStatus => ({
    ...{ name, connected, heardAgoMs, address: undefined, clockAheadMs: undefined, trouble: undefined },
    ...{ problem: undefined, otherDurations: undefined },
  });

  it('are those without a connection, and those that were silent for longer than one that lives is', () => {
    const peers = [
      peer('ada', true, 2_500),
      peer('ben', true, 4_000),
      peer('cyd', false, 200),
      peer('dan', false, undefined),
    ];
    expect(suspectsOf({ peers, leaseMs: 10_000 })).toEqual({
      unheard: ['ben for 4 s', 'cyd for 200 ms', 'dan at all'],
      problems: [],
    });
  });

  it('are not those that were never there, if nobody else has fallen silent: without them it was acquired', () => {
    const peers = [peer('ada', true, 200), peer('eve', false, undefined)];
    expect(suspectsOf({ peers, leaseMs: 10_000 })).toEqual({ unheard: [], problems: [] });
  });

  it('are not those that were heard right before we stood still', () => {
    const peers = [peer('ada', true, 5_100), peer('ben', true, 9_000), peer('cyd', true, undefined)];
    expect(suspectsOf({ peers, leaseMs: 10_000 }, 5_000).unheard).toEqual(['ben for 9 s', 'cyd at all']);
  });

  it('are not those that speak, of which it is said once what else is the matter', () => {
    const problem = 'another process may have our id';
    const there = ['ada', 'ben', 'cyd'].map((name) => ({ ...peer(name, true, 200), problem }));
    const peers = [...there, peer('eve', false, undefined)];
    expect(suspectsOf({ peers, leaseMs: 10_000 })).toEqual({
      unheard: [],
      problems: ['ada, ben, cyd: another process may have our id'],
    });
  });
});
