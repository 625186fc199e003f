import type { MemberStatusAnswer, PeerAnswer } from 'leasehold/internal';
import { describe, expect, it } from 'vitest';
import { statusLines } from './flease-status.ts';

const PEER: PeerAnswer = {
  ...{ name: 'b', connected: true, address: '10.0.0.2:7500', heardAgoMs: 200, clockAheadMs: null },
  ...{ problem: null, trouble: null, otherDurations: null },
};

const status = (changes: Partial<MemberStatusAnswer>): MemberStatusAnswer => ({
  ...{ module: 'flease' as const, role: 'member' as const, instance: 'default', name: 'a', isReady: true },
  ...{ waitsFor: null, problems: [], peersVersion: 1, isSettled: true, leaseMs: 10_000, clockSkewMs: 500 },
  ...{ closed: null, recovery: null, peers: [], held: 0, waiting: 0, registers: 0, attempts: 0 },
  ...changes,
});

describe('how a member is, in words', () => {
  const clockOf = (clockAheadMs: PeerAnswer['clockAheadMs']): string => {
    const lines = statusLines(status({ peers: [{ ...PEER, clockAheadMs }] }));
    return lines.at(-1)?.split('200 ms ago')[1]?.trim() ?? '';
  };

  it('says only what is certain of the clock of a peer', () => {
    expect(clockOf(null)).toBe('not known');
    expect(clockOf({ atLeast: -3.2, atMost: null })).toBe('at least -3 ms');
    expect(clockOf({ atLeast: -3.2, atMost: 0.4 })).toBe('-3 to 0 ms');
  });

  it('says in a sentence what is the matter with a peer, and first why it cannot be reached', () => {
    const trouble = { why: 'same-name', words: 'two processes speak in its name' } as const;
    const lastOf = (peer: Partial<PeerAnswer>): string | undefined =>
      statusLines(status({ peers: [{ ...PEER, ...peer }] })).at(-1);
    expect(lastOf({ trouble })).toMatch(/ two processes speak in its name$/);
    expect(lastOf({ trouble, problem: 'no process listens there' })).toMatch(
      /ms ago +not known +no process listens there$/,
    );
    expect(lastOf({})).toMatch(/ not known$/);
  });

  it('says in the words of the member why it recovers', () => {
    const [first] = statusLines(
      status({ recovery: { why: 'began', words: 'recovers for 2.5 s: it was started', forMs: 2_500 } }),
    );
    expect(first).toBe('Member a of cell default recovers for 2.5 s: it was started');
  });

  it('says of one that is in the group no more that it is not, whatever else there is to say', () => {
    const recovery = { why: 'began', words: 'recovers', forMs: 2_500 } as const;
    const [first] = statusLines(
      status({ recovery, closed: { code: 'REMOVED', words: 'is not in view 2 of the group' } }),
    );
    expect(first).toBe('Member a of cell default is not in view 2 of the group');
  });
});
