import { type LeaseEnd, LeaseEndedError, type PeerStatus } from 'leasehold/flease';
import { describe, expect, it } from 'vitest';
import { CommandEndedError, unheardOf } from './command-ended-error.ts';

const messageOf = (how: LeaseEnd, wasHeldToTheEnd: boolean, unheard: readonly string[] = []): string => {
  const reason = new LeaseEndedError('backup', 7, how);
  const loss = { resource: 'backup', number: 7, reason, wasHeldToTheEnd, unheard };
  return new CommandEndedError('sh', loss).message;
};

describe('the last word of a command whose lease was lost', () => {
  it('says whether it can have overlapped with the next holder’s', () => {
    const lease = 'the lease on "backup" (number 7) was not renewed in time';
    expect(messageOf('ending', true)).toBe(`${lease}, and "sh" ended while it still had it`);
    expect(messageOf('lapsed', false)).toBe(`${lease}, and "sh" may have run past it`);
  });

  it('names those who were not heard from, if that can be why', () => {
    const unheard = ['ben for 4 s', 'cyd at all'];
    expect(messageOf('ending', true, unheard)).toMatch(/; not heard from: ben for 4 s, cyd at all$/);
    expect(messageOf('clock', false, unheard)).not.toContain('ben');
    expect(messageOf('lost', false, unheard)).not.toContain('ben');
  });
});

describe('members that were not heard from', () => {
  const peer = (id: string, connected: boolean, heardAgoMs: number | undefined): PeerStatus => ({
    ...{ id, connected, heardAgoMs, address: undefined, clockAheadMs: undefined, trouble: undefined },
    otherDurations: undefined,
  });

  it('are those without a connection, and those that were silent for longer than one that lives is', () => {
    const peers = [
      peer('ada', true, 2_500),
      peer('ben', true, 4_000),
      peer('cyd', false, 200),
      peer('dan', false, undefined),
    ];
    expect(unheardOf({ peers, leaseMs: 10_000 })).toEqual(['ben for 4 s', 'cyd for 200 ms', 'dan at all']);
  });
});
