import { type LeaseEnd, LeaseEndedError, type PeerStatus } from 'leasehold/flease';
import { describe, expect, it } from 'vitest';
import { CommandEndedError, suspectsOf } from './command-ended-error.ts';

const endedBy = (
  how: LeaseEnd,
  wasHeldToTheEnd: boolean,
  unheard: readonly string[] = [],
  problems: readonly string[] = [],
): CommandEndedError => {
  const reason = new LeaseEndedError('backup', 7, how);
  const lost = { resource: 'backup', number: 7, reason, wasHeldToTheEnd };
  return new CommandEndedError('sh', { ...lost, suspects: { unheard, problems } });
};

describe('the last word of a command whose lease was lost', () => {
  it('says whether it can have overlapped with the next holder’s', () => {
    const lease = 'the lease on "backup" (number 7) was not renewed in time';
    expect(endedBy('ending', true).message).toBe(`${lease}, and "sh" ended while it still had it`);
    expect(endedBy('lapsed', false).message).toBe(`${lease}, and "sh" may have run past it`);
  });

  it('names those who were not heard from, if that can be why', () => {
    const unheard = ['ben for 4 s', 'cyd at all'];
    expect(endedBy('ending', true, unheard).message).toMatch(/; not heard from: ben for 4 s, cyd at all$/);
    const problems = ['ada, eve: they do not heed us'];
    expect(endedBy('ending', true, ['ben for 4 s'], problems).message).toMatch(
      /still had it; not heard from: ben for 4 s; ada, eve: they do not heed us$/,
    );
    expect(endedBy('lapsed', false, [], problems).message).toMatch(/past it; ada, eve: they do not heed us$/);
    expect(endedBy('clock', false, unheard).message).not.toContain('ben');
    expect(endedBy('lost', false, unheard).message).not.toContain('ben');
  });

  it('blames nobody else, if the lease was renewed and only we stood still', () => {
    const kept = { resource: 'backup', number: 7, reason: undefined, wasHeldToTheEnd: true };
    const ended = new CommandEndedError('sh', {
      ...kept,
      suspects: { unheard: ['ben for 4 s'], problems: [] },
    });
    expect(ended.how).toBe('stood-still');
    expect(ended.message).toBe(
      'the lease on "backup" (number 7) was held, but this process stood still until the end that it had known of last, and "sh" ended while it still had it',
    );
  });

  it('has all of that for programs, too', () => {
    expect(endedBy('lapsed', false, ['ben for 4 s'])).toMatchObject({
      ...{ code: 'COMMAND_ENDED', command: 'sh', resource: 'backup', number: 7 },
      ...{ how: 'lapsed', wasHeldToTheEnd: false, unheard: ['ben for 4 s'] },
    });
    expect(endedBy('clock', false, ['ben for 4 s']).unheard).toEqual([]);
  });
});

describe('members that were not heard from', () => {
  const peer = (id: string, connected: boolean, heardAgoMs: number | undefined): PeerStatus => ({
    ...{ id, connected, heardAgoMs, address: undefined, clockAheadMs: undefined, trouble: undefined },
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

  it('are not those that speak, of which it is said once what else is the matter', () => {
    const problem = 'another process may have our id';
    const peers = ['ada', 'ben', 'cyd'].map((id) => ({ ...peer(id, true, 200), problem }));
    expect(suspectsOf({ peers, leaseMs: 10_000 })).toEqual({
      unheard: [],
      problems: ['ada, ben, cyd: another process may have our id'],
    });
  });
});
