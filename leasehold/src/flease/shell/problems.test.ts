import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { type ProblemFacts, Problems } from './problems.ts';
import type { PeerStatus } from './status.ts';

const FACTS: ProblemFacts = {
  ...{ name: 'a', closed: undefined, recovery: undefined, peers: [], noMajority: undefined },
};

const PEER: PeerStatus = {
  ...{ name: 'b', address: '10.0.0.2:7500', connected: true, heardAgoMs: 200, clockAheadMs: undefined },
  ...{ problem: undefined, trouble: undefined, otherDurations: undefined },
};

function problemsAt() {
  let nowMs = 0;
  const problems = new Problems({ now: () => instant(nowMs) });
  return (atMs: number, facts: Partial<ProblemFacts>) => {
    nowMs = atMs;
    return problems.of({ ...FACTS, ...facts });
  };
}

describe('the problems of a member', () => {
  it('count from the first look that found them, and anew after they were gone', () => {
    const look = problemsAt();
    const noMajority = 'it hears too few members';
    expect(look(100, { noMajority })).toMatchObject([{ id: 'majority', level: 'failing', sinceMs: 0 }]);
    expect(look(350, { noMajority })).toMatchObject([{ id: 'majority', sinceMs: 250 }]);
    expect(look(400, {})).toEqual([]);
    expect(look(500, { noMajority })).toMatchObject([{ id: 'majority', sinceMs: 0 }]);
  });

  it('of a silent peer count from when the peer was last heard', () => {
    const peers = [{ ...PEER, connected: false, heardAgoMs: 7_000, problem: 'not connected' }];
    expect(problemsAt()(0, { peers })).toMatchObject([
      { id: 'peer-b', level: 'warning', what: 'member b: not connected', sinceMs: 7_000 },
    ]);
  });

  it('name the trouble with a peer before its connection, and what mends it', () => {
    const trouble = { why: 'same-name', words: 'two processes speak in its name' } as const;
    const peers = [{ ...PEER, problem: 'it acknowledges nothing', trouble }];
    expect(problemsAt()(0, { peers })).toMatchObject([
      {
        what: 'member b: two processes speak in its name',
        cure: 'stop one of the two processes that run as b',
      },
    ]);
  });

  it('are none of a member that was only just started, and one of a member whose clock is off', () => {
    const look = problemsAt();
    const words = 'recovers';
    expect(look(0, { recovery: { why: 'began', words, forMs: 1 } })).toEqual([]);
    const forMs = Number.POSITIVE_INFINITY;
    expect(look(0, { recovery: { why: 'clock-outlier', words, forMs } })).toMatchObject([
      { id: 'cell', level: 'failing', what: 'it recovers', cure: expect.stringContaining('clock') },
    ]);
  });

  it('are none of a closed member, and one of a removed member', () => {
    const look = problemsAt();
    const recovery = { why: 'clock-jumped', words: 'recovers', forMs: 1 } as const;
    expect(look(0, { recovery, closed: { code: 'CLOSED', words: 'was closed' } })).toEqual([]);
    const closed = { code: 'REMOVED', words: 'is not in view 2' } as const;
    expect(look(0, { recovery, closed })).toMatchObject([{ id: 'cell', what: 'it is not in view 2' }]);
  });
});
