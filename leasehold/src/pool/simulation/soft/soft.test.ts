import { describe, expect, it } from 'vitest';
import type { Hash } from '../../../runtime/keys/position.ts';
import { resolveDurations, takeoverHoldMs } from '../../core/options.ts';
import type { OwnerNode } from '../nodes.ts';
import { SoftWorld, type SoftWorldOptions } from './soft-world.ts';

/** A world in which all is well: two owners serve, and a look-up has their table. */
function quiet(options: Partial<SoftWorldOptions> = {}): SoftWorld {
  const soft = new SoftWorld({ seed: 1, ...options });
  soft.start();
  soft.addOwner('owner-1');
  soft.addOwner('owner-2');
  soft.addLookup('look-up-1');
  soft.settle();
  return soft;
}

const served = (node: OwnerNode): readonly Hash[] =>
  (node.core?.pieces ?? []).map(({ start }) => start).filter((start) => node.check(start) !== undefined);

const nobodyServes = (soft: SoftWorld): boolean => soft.owners.every((node) => served(node).length === 0);

const numbers = (soft: SoftWorld): readonly number[] =>
  soft.owners.flatMap((node) => (node.core?.pieces ?? []).map(({ number }) => number));

describe('the leader dies', () => {
  it('its successor gives nothing before all leases have run out; then everybody serves anew, under greater numbers', () => {
    const soft = quiet();
    const before = Math.max(...numbers(soft));
    const leader = soft.leader;
    leader?.process.crash();
    soft.until('another leads', () => soft.leader !== undefined, 2 * soft.group.recoveryMs);
    const electedMs = soft.world.trueMs;
    expect(soft.leader).not.toBe(leader);
    soft.until('nobody serves', () => nobodyServes(soft), soft.takeoverMs);
    soft.until('somebody serves', () => !nobodyServes(soft), 2 * soft.takeoverMs);
    expect(soft.world.trueMs - electedMs).toBeGreaterThan(soft.takeoverMs - 5);
    leader?.process.start();
    soft.settle();
    expect(Math.min(...numbers(soft))).toBeGreaterThan(before);
  });

  it('every look-up is told once that everything is lost, because another leads who knows of nothing', () => {
    const soft = quiet();
    const lost = (why: string): number => soft.world.counts.get(`lookup lost, ${why}`) ?? 0;
    expect(lost('history-changed')).toBe(0);
    soft.leader?.process.restart();
    soft.settle();
    expect(lost('history-changed')).toBe(1);
    expect(lost('cut-off')).toBe(0);
  });
});

describe('a leader that was told to give longer leases', () => {
  const LONG = resolveDurations({ leaseMs: 24_000 });

  it('is followed by one that waits for them, although its own are shorter', () => {
    const soft = quiet({ takeoverMs: takeoverHoldMs(LONG) });
    const leader = soft.leader;
    leader?.configure({ durations: LONG });
    soft.run(soft.durations.leaseMs);
    const [owner] = soft.owners;
    if (leader === undefined || owner === undefined) throw new Error('nobody leads');
    for (const { name } of soft.managers) soft.network.cutBoth(owner.name, name);
    leader.end();
    soft.run(soft.durations.leaseMs);
    expect(served(owner)).not.toEqual([]);
    soft.run(2 * soft.takeoverMs); // The checker sees two owners, if there are two.
    expect(served(owner)).toEqual([]);
    expect(nobodyServes(soft)).toBe(false);
  });

  it('refuses leases that would outlast what all Managers have agreed to wait', () => {
    const soft = quiet();
    expect(() => soft.leader?.configure({ durations: LONG })).toThrow(
      'option defaults.leaseMs is 24000, but with such leases the next leader would have to wait',
    );
    soft.settle();
  });
});

describe('a leader that the others do not hear any more', () => {
  it('stops to answer before another is elected, and what it still does counts for nothing', () => {
    const soft = quiet();
    const leader = soft.leader;
    if (leader === undefined) throw new Error('nobody leads');
    soft.cutFromGroup(leader);
    const another = (): boolean => soft.leader !== undefined && soft.leader !== leader;
    soft.until('another leads', another, 2 * soft.group.recoveryMs);
    const { leadsUntil } = leader.core?.observe() ?? {};
    expect(leadsUntil === undefined || leadsUntil < leader.process.now()).toBe(true);
    soft.healGroup(leader);
    soft.settle();
    expect(leader.core?.role).toBe('standby');
  });

  it('goes on where it was if they hear it again in time: nobody loses anything', () => {
    const soft = quiet();
    const before = numbers(soft);
    const leader = soft.leader;
    if (leader === undefined) throw new Error('nobody leads');
    soft.until(
      'it renewed just now',
      () => (leader.core?.observe().leadsUntil ?? 0) - leader.process.now() > 0.75 * soft.group.leaseMs,
      soft.group.leaseMs,
    );
    soft.cutFromGroup(leader);
    soft.run(0.5 * soft.group.leaseMs);
    soft.healGroup(leader);
    soft.settle();
    expect(soft.leader).toBe(leader);
    expect(numbers(soft)).toEqual(before);
  });
});

describe('Managers that stand by', () => {
  it('answer no look-up: they know nothing', () => {
    const soft = quiet();
    for (const { core } of soft.managers) {
      if (core?.role === 'leading') continue;
      expect(core?.observe().history).toBeUndefined();
      expect(core?.observe().lookups).toEqual([]);
      expect(core?.state.position).toBe(0);
    }
  });
});
