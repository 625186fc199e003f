import { describe, expect, it } from 'vitest';
import { BrokenPromise } from '../../../sim/world.ts';
import type { Position } from '../../../runtime/keys/position.ts';
import type { OwnerNode } from '../nodes.ts';
import { drawSoftWorld, endure } from './soft-chaos.ts';
import { type SoftFault, SoftWorld } from './soft-world.ts';

const SEEDS = 30;

/** A world in which all is well: two owners serve, and a look-up has their table. */
function quiet(fault?: SoftFault): SoftWorld {
  const soft = new SoftWorld({ seed: 1, fault });
  soft.start();
  soft.addOwner('owner-1');
  soft.addOwner('owner-2');
  soft.addLookup('look-up-1');
  soft.settle();
  return soft;
}

const served = (node: OwnerNode): readonly Position[] =>
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

describe('a leader that the others do not hear any more', () => {
  it('stops to answer before another is elected, and what it still does counts for nothing', () => {
    const soft = quiet();
    const leader = soft.leader;
    if (leader === undefined) throw new Error('nobody leads');
    soft.cutFromGroup(leader);
    soft.until('another leads', () => soft.leader !== leader, 2 * soft.group.recoveryMs);
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

describe('in hostile worlds', () => {
  const counts = new Map<string, number>();

  it.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
    'all promises are kept: seed %d',
    (seed) => {
      const soft = drawSoftWorld(seed);
      endure(soft);
      for (const [what, count] of soft.world.counts) counts.set(what, (counts.get(what) ?? 0) + count);
    },
  );

  it('enough has happened in them', () => {
    for (const what of ['failovers', 'pauses', 'suspensions', 'leaders cut off', 'managers that died'])
      expect(counts.get(what) ?? 0, what).toBeGreaterThan(SEEDS);
    expect(counts.get('lookup lost, history-changed') ?? 0).toBeGreaterThan(SEEDS);
  });
});

describe('a log that is broken on purpose', () => {
  it.each<[SoftFault, string]>([
    ['does-not-wait', 'one-owner'],
    ['numbers-restart', 'continuity'],
    ['one-history', 'every-loss-told'],
    ['endless-lease', 'one-owner'],
  ])('%s: is noticed', (fault, promise) => {
    const broken = new Set<string>();
    for (let seed = 1; seed <= SEEDS && !broken.has(promise); seed += 1) {
      try {
        endure(drawSoftWorld(seed, fault));
      } catch (error) {
        if (!(error instanceof BrokenPromise)) throw error;
        broken.add(error.promise);
      }
    }
    expect(broken).toContain(promise);
  });
});
