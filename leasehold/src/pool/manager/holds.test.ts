import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { resolveDurations, takeoverHoldMs } from '../options.ts';
import { ManagerState } from '../state.ts';
import { Holds } from './holds.ts';
import { evenShares } from './manager-script.ts';
import type { ManagerSettings } from './settings.ts';

const settingsOf = (leaseMs: number): ManagerSettings => ({
  ...{ id: 'm1', durations: resolveDurations({ leaseMs }), policy: evenShares },
  ...{ maxSpansPerBatch: 100, compactEveryBatches: 100 },
});
const waitMs = (leaseMs: number): number => takeoverHoldMs(resolveDurations({ leaseMs }));

/** The log of a leader after which a successor must wait so long, and in which a and b are members. */
function logOf(takeoverMs: number): ManagerState {
  const records = ['a', 'b'].map((name) => {
    const member = { incarnation: `${name}.1`, name, url: `http://${name}`, proof: undefined };
    return { kind: 'join', member } as const;
  });
  return ManagerState.empty.apply(1, { term: 1, leader: 'm9', takeoverMs, pools: [{ pool: 'p', records }] });
}

describe('the hold of an owner that was found in the log', () => {
  it('lasts as long as the log says, if that is longer than our own settings would have it', () => {
    const holds = new Holds(settingsOf(9_000), logOf(50_000), instant(100));
    expect(holds.endOf('a.1')).toBe(50_100);
    expect(holds.takeoverMs(instant(50_099))).toBe(50_000);
    expect(holds.takeoverMs(instant(50_100))).toBe(waitMs(9_000));
  });

  it('lasts as long as our settings have it, if that is longer', () => {
    const holds = new Holds(settingsOf(9_000), logOf(0), instant(100));
    expect(holds.endOf('a.1')).toBe(100 + waitMs(9_000));
  });
});

describe('a hold', () => {
  it('is over at its end, and is that of a member', () => {
    const holds = new Holds(settingsOf(9_000), logOf(50_000), instant(0));
    expect(['a.1', 'c.1'].map((owner) => holds.isOver(owner, instant(49_999)))).toEqual([false, false]);
    expect(['a.1', 'c.1'].map((owner) => holds.isOver(owner, instant(50_000)))).toEqual([true, false]);
    holds.drop('a.1');
    expect(holds.isOver('a.1', instant(50_000))).toBe(false);
  });

  it('is counted from when a report was received, and moves only to a later instant', () => {
    const holds = new Holds(settingsOf(9_000), ManagerState.empty, instant(0));
    expect(holds.renew('c.1', instant(1_000), 9_750)).toBe(10_750);
    holds.renew('c.1', instant(2_000), 9_750);
    holds.renew('c.1', instant(1_500), 9_750);
    holds.renew('c.1', instant(3_000), 1_000);
    expect(holds.endOf('c.1')).toBe(11_750);
  });

  it('begins anew after a time in which nobody could be answered, unless it ends later anyway', () => {
    const holds = new Holds(settingsOf(9_000), logOf(50_000), instant(0));
    holds.renew('c.1', instant(0), 9_750);
    holds.beginAnew(instant(9_000));
    expect(['a.1', 'c.1'].map((owner) => holds.endOf(owner))).toEqual([50_000, 18_750]);
  });

  it('that is over makes its pool worth a look; the others are due when they will be', () => {
    const log = logOf(50_000);
    const holds = new Holds(settingsOf(9_000), log, instant(0));
    holds.renew('b.1', instant(45_000), 9_750);
    const due: number[] = [];
    const look = (at: number) => [...holds.poolsWithOneOver(log, instant(at), (later) => due.push(later))];
    expect(look(49_999)).toEqual([]);
    expect(due.splice(0)).toEqual([50_000, 54_750]);
    expect(look(50_000)).toEqual(['p']);
    expect(due).toEqual([54_750]);
  });
});

describe('what a successor must wait for', () => {
  it('is what leases of before and of after need, for as long as those of before may run', () => {
    const holds = new Holds(settingsOf(18_000), ManagerState.empty, instant(0));
    holds.configure(settingsOf(9_000), instant(100_000));
    const before = waitMs(18_000);
    expect(holds.takeoverMs(instant(100_000))).toBe(before);
    expect(holds.takeoverMs(instant(100_000 + before - 1))).toBe(before);
    expect(holds.takeoverMs(instant(100_000 + before))).toBe(waitMs(9_000));
  });
});
