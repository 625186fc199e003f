import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { membershipOf } from './incarnation.ts';
import { Pace } from './pace.ts';

const HEARTBEAT_MS = 100;
const LONG_AGO = instant(-10_000);

const setOf = (...names: readonly string[]) =>
  membershipOf(names.map((name) => ({ name, incarnation: { startedMs: 1, nonce: 0 }, listVersion: 0 })));

describe('the pace of proposals', () => {
  it('lets a set without a server that is gone be proposed at once, after a quiet time', () => {
    const pace = new Pace(HEARTBEAT_MS);
    expect(pace.mayPropose(setOf('a'), setOf('a', 'b'), instant(0), instant(0))).toBeLessThan(0);
    pace.proposed(instant(0));
    pace.proposed(instant(200));
    expect(pace.mayProposeAt).toBe(210);
  });

  it('doubles the wait with each proposal, up to a heartbeat', () => {
    const pace = new Pace(HEARTBEAT_MS);
    const waits = Array.from({ length: 6 }, () => {
      const now = pace.mayProposeAt < 0 ? instant(0) : pace.mayProposeAt;
      pace.proposed(now);
      return pace.mayProposeAt - now;
    });
    expect(waits).toEqual([10, 20, 40, 80, 100, 100]);
  });

  it('lets a set that only grows wait until no link has changed for half a heartbeat', () => {
    const pace = new Pace(HEARTBEAT_MS);
    const [small, large] = [setOf('a'), setOf('a', 'b')];
    expect(pace.mayPropose(large, small, instant(0), instant(0))).toBe(50);
    expect(pace.mayPropose(large, small, instant(40), instant(40))).toBe(90);
    expect(pace.mayPropose(large, small, LONG_AGO, instant(60))).toBeLessThan(0);
  });

  it('lets a set that only grows wait for no more than two heartbeats, however often links change', () => {
    const pace = new Pace(HEARTBEAT_MS);
    const [small, large] = [setOf('a'), setOf('a', 'b')];
    pace.mayPropose(large, small, instant(0), instant(0));
    expect(pace.mayPropose(large, small, instant(190), instant(190))).toBe(200);
    pace.proposed(instant(200));
    expect(pace.mayPropose(setOf('a', 'b', 'c'), large, instant(500), instant(500))).toBe(550);
  });

  it('begins to wait anew for a set that grows after an earlier one was given up', () => {
    const pace = new Pace(HEARTBEAT_MS);
    const [small, large] = [setOf('a'), setOf('a', 'b')];
    pace.mayPropose(large, small, instant(0), instant(0));
    pace.settled(); // The new server is gone again.
    expect(pace.mayPropose(large, small, instant(1_000), instant(1_000))).toBe(1_050);
  });

  it('takes another list of clients for urgent, also beside a server that is added', () => {
    const pace = new Pace(HEARTBEAT_MS);
    const [first, ...rest] = setOf('a', 'b').members;
    const listed = membershipOf([...(first ? [{ ...first, listVersion: 1 }] : []), ...rest]);
    expect(pace.mayPropose(listed, setOf('a'), instant(0), instant(0))).toBeLessThan(0);
  });

  it('takes a server that was replaced by another process for one that is gone', () => {
    const pace = new Pace(HEARTBEAT_MS);
    const restarted = membershipOf([
      ...setOf('a', 'c').members,
      { name: 'b', incarnation: { startedMs: 2, nonce: 0 }, listVersion: 0 },
    ]);
    expect(pace.mayPropose(restarted, setOf('a', 'b'), instant(0), instant(0))).toBeLessThan(0);
  });
});
