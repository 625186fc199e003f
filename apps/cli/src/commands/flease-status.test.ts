import type { PeerAnswer, StatusAnswer } from 'leasehold/flease';
import { describe, expect, it } from 'vitest';
import { statusLines } from './flease-status.ts';

const PEER: PeerAnswer = {
  ...{ id: 'b', connected: true, address: '10.0.0.2:7500', heardAgoMs: 200, clockAheadMs: null },
  ...{ trouble: null, otherDurations: null },
};

const status = (changes: Partial<StatusAnswer>): StatusAnswer => ({
  ...{ id: 'a', group: 'default', view: 1, isSettled: true, leaseMs: 10_000, clockSkewMs: 500 },
  ...{ silence: null, peers: [], held: 0, waiting: 0, registers: 0, attempts: 0 },
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

  it('says in a sentence what is the matter with a peer', () => {
    const lastOf = (trouble: string): string | undefined =>
      statusLines(status({ peers: [{ ...PEER, trouble }] })).at(-1);
    expect(lastOf('other-members')).toMatch(
      /it was started with other peers; they must be the same everywhere, see "Changing the group" in docs\/flease.md$/,
    );
    expect(lastOf('later-view')).toMatch(
      /it is in a later view of the group; move this member there as well$/,
    );
    expect(lastOf('nobody listens there')).toMatch(/ nobody listens there$/);
  });

  it('says why it keeps silent, and for how long if there is an end', () => {
    const firstOf = (silence: StatusAnswer['silence']): string | undefined =>
      statusLines(status({ silence }))[0];
    expect(firstOf({ why: 'began', forMs: 2_500 })).toBe(
      'Member a of group default keeps silent for 2.5 s: it may have forgotten what it promised before it was started',
    );
    expect(firstOf({ why: 'odd-one-out', forMs: null })).toBe(
      'Member a of group default keeps silent: its clock is off from those of most others, and has to be mended',
    );
    expect(firstOf({ why: 'something-else', forMs: null })).toMatch(/ keeps silent: something-else$/);
  });
});
