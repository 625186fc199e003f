import { describe, expect, it } from 'vitest';
import { PeerTable, type PeerTrouble } from './peer-table.ts';
import type { Packet } from './messages.ts';
import { resolveFleaseDurations } from './options.ts';
import { digestOf } from './view-digest.ts';

// A lease is 1000 ms, clocks are within 50: whoever is doubted is so for 1100.
const DURATIONS = resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 });

/** Of what everybody has who has the right peers; and of what somebody has who has not. */
const RIGHT = digestOf({ members: ['a', 'b', 'c'], before: undefined });
const WRONG = digestOf({ members: ['a', 'b', 'd'], before: undefined });

function bench(everybody: readonly string[] = ['a', 'b', 'c']) {
  const reports: string[] = [];
  const others = new PeerTable({
    ...{ group: 'g', id: 'a', durations: DURATIONS },
    report: (peer: string, { why }: PeerTrouble) => reports.push(`${peer}: ${why}`),
  });
  others.meet(everybody);
  const hears = (
    atMs: number,
    changes: Partial<Packet> = {},
    own: Pick<Packet, 'view' | 'digest'> = { view: 1, digest: RIGHT },
  ): boolean =>
    others.hear(
      {
        ...{
          group: 'g',
          view: 1,
          from: 'b',
          incarnation: 1,
          toIncarnation: 0,
          sentMs: atMs - 1,
          echo: undefined,
        },
        ...{ digest: RIGHT, leaseMs: 1_000, clockSkewMs: 50, takeoverMs: 0, items: [] },
        ...changes,
      },
      own,
      atMs,
    );
  return { others, reports, hears };
}

describe('a packet is not heeded, and its sender reported once', () => {
  it.each([
    ['other-group', { group: 'h' }],
    ['not-a-member', { from: 'x' }],
    ['same-name', { from: 'a' }],
    ['other-durations', { leaseMs: 2_000 }],
    ['other-durations', { clockSkewMs: 60 }],
    ['other-durations', { takeoverMs: 1 }],
    ['other-members', { digest: WRONG }],
  ] as const)('%s', (why, changes) => {
    const { reports, hears } = bench();
    expect(hears(1_000, changes)).toBe(false);
    expect(hears(1_100, changes)).toBe(false);
    expect(reports).toEqual([`${'from' in changes ? changes.from : 'b'}: ${why}`]);
  });

  it('as long as there are not too many of them: no more are remembered', () => {
    const { reports, hears } = bench();
    for (let stranger = 0; stranger < 1_000; stranger += 1) hears(1_000, { from: `stranger ${stranger}` });
    expect(reports).toHaveLength(100);
  });

  it('is shown with its last trouble', () => {
    const { others, reports, hears } = bench();
    hears(1_000, { leaseMs: 2_000 });
    hears(1_100, { leaseMs: 3_000, incarnation: 2 });
    const trouble = { why: 'other-durations', leaseMs: 3_000, clockSkewMs: 50, takeoverMs: 0 };
    expect(others.status(1_100)[0]?.trouble).toEqual(trouble);
    expect(reports).toEqual(['b: other-durations']);
  });
});

describe('a member that restarts', () => {
  it('is believed in its next incarnation, and in that alone', () => {
    const { hears, reports } = bench();
    expect(hears(1_000, { incarnation: 1 })).toBe(true);
    expect(hears(1_100, { incarnation: 2 })).toBe(true);
    expect(hears(1_101, { incarnation: 1, sentMs: 1_050 })).toBe(false);
    expect(hears(1_102, { incarnation: 2 })).toBe(true);
    expect(reports).toEqual([]);
  });

  it('is believed although the clock of its last incarnation was far ahead', () => {
    const { hears } = bench();
    hears(1_000, { incarnation: 1, sentMs: 9_000_000 });
    expect(hears(2_200, { incarnation: 2 })).toBe(true);
  });

  it('is heeded although our clock was as far ahead, when that was heard', () => {
    const { others, hears } = bench();
    hears(9_000_000, { incarnation: 1, view: 1 });
    others.forgetClocks(1_000);
    expect(hears(1_100, { incarnation: 1, view: 2 })).toBe(true);
    expect(others.status(1_100)[0]?.view).toBe(2);
    expect(hears(1_200, { incarnation: 2 })).toBe(true);
  });

  it('is doubted if its last incarnation goes on sending: two processes have one name', () => {
    const { hears, reports } = bench();
    hears(1_000, { incarnation: 1 });
    hears(1_100, { incarnation: 2 });
    expect(hears(1_200, { incarnation: 1 })).toBe(false);
    expect(hears(1_300, { incarnation: 2 })).toBe(false);
    expect(reports).toEqual(['b: same-name']);
  });

  it('is heeded again when only one of the two has been heard for long enough', () => {
    const { hears } = bench();
    hears(1_000, { incarnation: 1 });
    hears(1_100, { incarnation: 2 });
    hears(1_200, { incarnation: 1 });
    expect(hears(1_250, { incarnation: 1 })).toBe(false);
    expect(hears(2_301, { incarnation: 1 })).toBe(true);
  });

  it('is doubted no longer than that, although our clock was far ahead when it was', () => {
    const { others, hears } = bench();
    hears(9_000_000, { incarnation: 1 });
    hears(9_000_100, { incarnation: 2 });
    hears(9_000_200, { incarnation: 1 });
    others.forgetClocks(1_000);
    expect(hears(2_100, { incarnation: 1 })).toBe(false);
    expect(hears(2_101, { incarnation: 1 })).toBe(true);
  });
});

describe('a peer that was started with other peers in the same view', () => {
  it('contradicts us until it says otherwise, and nothing that it said before that', () => {
    const { others, hears, reports } = bench();
    expect(others.contradiction).toBeUndefined();
    hears(1_000, { incarnation: 1, digest: WRONG });
    expect(others.contradiction).toBe('other-members');
    expect(hears(1_100, { incarnation: 2 })).toBe(true);
    expect(hears(1_101, { incarnation: 1, digest: WRONG, sentMs: 1_050 })).toBe(false);
    expect(others.contradiction).toBeUndefined();
    expect(reports).toEqual(['b: other-members']);
    expect(others.status(1_102)[0]?.trouble).toBeUndefined();
  });

  it('contradicts us for as long as anything comes from it, also what is not heeded', () => {
    const { others, hears } = bench();
    hears(1_000, { incarnation: 1, digest: WRONG });
    others.forgetContradictions(2_100);
    expect(hears(2_100, { incarnation: 1, sentMs: 900 })).toBe(true); // Its clock was set back.
    expect(hears(2_100, { incarnation: 3, sentMs: 800 })).toBe(false); // An earlier incarnation of it.
    others.forgetContradictions(3_200);
    expect([others.contradiction, others.contradictedUntilMs]).toEqual(['other-members', 3_200]);
    others.forgetContradictions(3_201);
    expect([others.contradiction, others.contradictedUntilMs]).toEqual([undefined, Number.POSITIVE_INFINITY]);
  });

  it('tells nothing of its clock', () => {
    const { others, hears } = bench();
    hears(1_000, { digest: WRONG, sentMs: 1_400 });
    expect(others.isClockOff('b')).toBe(false);
    expect(others.status(1_000)[0]).toMatchObject({ heardAgoMs: undefined, clock: undefined });
    expect(others.echoFor('b')).toBeUndefined();
  });

  it('has not moved to that view, even if it had in an earlier incarnation', () => {
    const { others, hears } = bench();
    const view = { number: 1, members: ['a', 'b', 'c'], before: ['a', 'b', 'x'] };
    hears(1_000, { incarnation: 1 });
    expect(others.haveMoved(view, RIGHT)).toBe(true);
    hears(1_100, { incarnation: 2, digest: WRONG });
    expect(others.haveMoved(view, RIGHT)).toBe(false);
  });

  it('is heard as ever if its view has another number', () => {
    const { others, hears, reports } = bench();
    expect(hears(1_000, { view: 2, digest: WRONG })).toBe(true);
    expect(others.contradiction).toBeUndefined();
    expect(reports).toEqual(['b: later-view']);
  });
});

describe('a peer in an earlier view', () => {
  const before = digestOf({ members: ['a', 'b', 'c'], before: ['a', 'b', 'x'] });

  it('contradicts us until it has moved, if we were told of nobody before, and is heard all the same', () => {
    const { others, hears, reports } = bench();
    const own = { view: 2, digest: RIGHT };
    expect(hears(1_000, { view: 1, digest: WRONG }, own)).toBe(true);
    expect(others.contradiction).toBe('earlier-view');
    expect(others.status(1_000)[0]).toMatchObject({
      heardAgoMs: 0,
      trouble: { why: 'earlier-view', view: 1 },
    });
    expect(hears(1_100, { view: 2 }, own)).toBe(true);
    expect(others.contradiction).toBeUndefined();
    expect(others.status(1_100)[0]?.trouble).toBeUndefined();
    expect(reports).toEqual(['b: earlier-view']);
  });

  it('is as it should be, if we were', () => {
    const { others, hears, reports } = bench();
    expect(hears(1_000, { view: 1, digest: WRONG }, { view: 2, digest: before })).toBe(true);
    expect([others.contradiction, reports]).toEqual([undefined, []]);
  });
});

describe('a change of the group', () => {
  const view = { number: 2, members: ['a', 'b', 'd'], before: ['a', 'b', 'c'] };

  it('has come about when most of those before are known to have moved, we among them', () => {
    const { others, hears, reports } = bench();
    expect(others.haveMoved(view, RIGHT)).toBe(false);
    hears(1_000, { from: 'b', view: 2 });
    expect(others.haveMoved(view, RIGHT)).toBe(true);
    expect(reports).toEqual(['b: later-view']);
  });

  it('has not, if they mean another view by that number, though they said so before we knew it', () => {
    const { others, hears } = bench();
    hears(1_000, { from: 'b', view: 2, digest: WRONG });
    expect(others.haveMoved(view, RIGHT)).toBe(false);
  });

  it('forgets those who are no longer there', () => {
    const { others, hears } = bench();
    others.meet(['a', 'b']);
    expect(hears(1_000, { from: 'c' })).toBe(false);
    expect(others.status(1_000).map(({ id }) => id)).toEqual(['b']);
  });
});

describe('everybody is told something four times in a lease', () => {
  it('if only the time', () => {
    const { others } = bench();
    expect(others.neglected(1_000)).toEqual(['b', 'c']);
    others.said('b', 1_000);
    others.said('c', 1_100);
    expect(others.nextWordMs).toBe(1_250);
    expect(others.neglected(1_250)).toEqual(['b']);
  });

  it('even when our clock was set back since the last packet', () => {
    const { others } = bench();
    others.said('b', 9_000_000);
    others.said('c', 9_000_000);
    others.forgetClocks(1_000);
    expect(others.neglected(1_000)).toEqual(['b', 'c']);
  });
});

describe('a peer whose clock is off', () => {
  it('is reported, and no longer so when it is right', () => {
    const { others, hears, reports } = bench();
    hears(1_000, { sentMs: 1_100 });
    expect(others.isClockOff('b')).toBe(true);
    expect(reports).toEqual(['b: clock-off']);
    hears(1_200);
    expect(others.isClockOff('b')).toBe(false);
    expect(others.status(1_200)[0]?.trouble).toBeUndefined();
  });
});

describe('the view that a member is in', () => {
  it('is what it said last: a false word about it does not last', () => {
    const { others, hears } = bench();
    const view = { number: 2, members: ['a', 'b', 'd'], before: ['a', 'b', 'c'] };
    hears(1_000, { view: 1_000_000 });
    expect(others.haveMoved(view, RIGHT)).toBe(true);
    hears(1_100, { view: 1 });
    expect(others.haveMoved(view, RIGHT)).toBe(false);
    hears(1_200, { view: 2 });
    hears(1_201, { view: 1, sentMs: 1_150 }); // It was under way for longer.
    expect(others.haveMoved(view, RIGHT)).toBe(true);
  });
});
