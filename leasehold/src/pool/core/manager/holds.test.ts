import { describe, expect, it } from 'vitest';
import { instant } from '../../../runtime/time.ts';
import { takeoverHoldMs } from '../options.ts';
import { ManagerState } from '../state.ts';
import { Holds } from './holds.ts';
import { evenShares, scriptDurations } from './manager-script.ts';
import type { ManagerSettings } from './settings.ts';

const settingsOf = (leaseMs: number): ManagerSettings => ({
  ...{ id: 'm1', durations: scriptDurations(leaseMs), policy: evenShares },
  ...{ maxSpansPerBatch: 100, compactEveryBatches: 100 },
});
const waitMs = (leaseMs: number): number => takeoverHoldMs(scriptDurations(leaseMs));

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
    holds.beginAnew(logOf(50_000), instant(9_000));
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

describe('the wait of a successor', () => {
  it('is what leases of before and of after need, for as long as those of before may run', () => {
    const holds = new Holds(settingsOf(18_000), ManagerState.empty, instant(0));
    holds.configure(settingsOf(9_000), instant(100_000));
    const before = waitMs(18_000);
    expect(holds.takeoverMs(instant(100_000))).toBe(before);
    expect(holds.takeoverMs(instant(100_000 + before - 1))).toBe(before);
    expect(holds.takeoverMs(instant(100_000 + before))).toBe(waitMs(9_000));
  });
});

describe('the silence of an owner that was found in the log', () => {
  const silentFor = (silentMs: number): ManagerState =>
    logOf(0).apply(2, {
      ...{ term: 1, leader: 'm9', takeoverMs: 0 },
      pools: [{ pool: 'p', records: [{ kind: 'silent', incarnations: ['a.1'], silentMs }] }],
    });
  const whole = waitMs(9_000);

  it('shortens its hold by what is committed of it, but leaves time to report', () => {
    const holds = new Holds(settingsOf(9_000), silentFor(5_000), instant(100));
    expect(['a.1', 'b.1'].map((owner) => holds.endOf(owner))).toEqual([100 + whole - 5_000, 100 + whole]);
    const late = new Holds(settingsOf(9_000), silentFor(whole), instant(100));
    expect(late.endOf('a.1')).toBe(100 + late.stepMs);
  });

  it('adds up from leader to leader, until it is renewed', () => {
    const holds = new Holds(settingsOf(9_000), silentFor(3_000), instant(100));
    expect(holds.silentMs('a.1', instant(1_100))).toBe(4_000);
    expect(holds.silentMs('b.1', instant(1_100))).toBe(1_000);
    holds.renew('a.1', instant(1_200), 9_750);
    expect(holds.silentMs('a.1', instant(1_300))).toBeUndefined();
    holds.drop('b.1');
    expect(holds.hasUnheard).toBe(false);
  });

  it('is not counted while nobody could be answered', () => {
    const holds = new Holds(settingsOf(9_000), silentFor(1_000), instant(0));
    holds.beginAnew(silentFor(2_000), instant(5_000));
    expect(holds.silentMs('a.1', instant(5_500))).toBe(2_500);
  });

  it('is not worth a word when its hold is over soon', () => {
    const holds = new Holds(settingsOf(9_000), silentFor(0), instant(0));
    expect(holds.silentMs('a.1', instant(whole - holds.stepMs - 1))).toBe(whole - holds.stepMs - 1);
    expect(holds.silentMs('a.1', instant(whole - holds.stepMs))).toBeUndefined();
  });
});
