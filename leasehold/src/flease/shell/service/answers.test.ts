import { describe, expect, it } from 'vitest';
import type { FleaseStatus, PeerStatus } from '../status.ts';
import { statusAnswer } from './answers.ts';

const UNKNOWN: PeerStatus = {
  ...{ name: 'b', connected: false, address: undefined, heardAgoMs: undefined, clockAheadMs: undefined },
  ...{ problem: undefined, trouble: undefined, otherDurations: undefined },
};

const status = (changes: Partial<FleaseStatus>): FleaseStatus => ({
  ...{ module: 'flease' as const, role: 'member' as const, instance: 'default', name: 'a', isReady: true },
  ...{
    waitsFor: undefined,
    problems: [],
    peersVersion: 1,
    isSettled: true,
    leaseMs: 10_000,
    clockSkewMs: 500,
  },
  ...{ closed: undefined, recovery: undefined, peers: [], held: 0, waiting: 0, registers: 0, attempts: 0 },
  ...changes,
});

/** As it arrives. */
const answered = (changes: Partial<FleaseStatus>): unknown =>
  JSON.parse(JSON.stringify(statusAnswer(status(changes))));

describe('the status of a member as JSON', () => {
  it('has null for what is not known of a peer', () => {
    expect(answered({ peers: [UNKNOWN] })).toMatchObject({
      closed: null,
      recovery: null,
      peers: [
        {
          ...{ address: null, heardAgoMs: null, clockAheadMs: null },
          ...{ problem: null, trouble: null, otherDurations: null },
        },
      ],
    });
  });

  it.each([
    [Number.POSITIVE_INFINITY, null],
    [4, 4],
  ])('says that a clock is ahead by at most %s as %s', (atMost, said) => {
    const peers = [{ ...UNKNOWN, clockAheadMs: { atLeast: -3, atMost } }];
    const answer = statusAnswer(status({ peers }));
    expect(answer.peers[0]?.clockAheadMs).toEqual({ atLeast: -3, atMost: said });
  });

  it('has null for the end of a silence that has none yet', () => {
    const forMs = Number.POSITIVE_INFINITY;
    const recovery = { why: 'clock-outlier', words: 'recovers', forMs } as const;
    expect(answered({ recovery })).toMatchObject({ recovery: { ...recovery, forMs: null } });
  });
});
