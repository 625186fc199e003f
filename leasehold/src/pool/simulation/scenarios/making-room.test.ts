/**
 * Managers that make room for each other: told to step down, restarted one after the other, killed one after
 * the other. No lease lapses, nothing is lost, and whoever owned a key owns it afterwards, under the same number.
 */

import { describe, expect, it } from 'vitest';
import type { ManagerNode } from '../nodes.ts';
import type { PoolWorld } from '../pool-world.ts';
import { Journal } from './journal.ts';
import { isSettled, leaderOf, numberOf, quietPool, sampleKeys, settle } from './quiet-pool.ts';
import { Tenures } from './tenures.ts';

const KEYS = sampleKeys(32);

/** Who has each key, and under which number. */
const owners = (pool: PoolWorld): readonly string[] =>
  KEYS.map((key) => {
    const [node] = pool.owners.filter((owner) => owner.check(key) !== undefined);
    return node === undefined ? 'nobody' : `${node.incarnation} ${numberOf(node, key)}`;
  });

/** Does something to a pool at rest, and expects that none of its owners and look-ups can tell. */
function unnoticed(pool: PoolWorld, act: (journal: Journal) => void): void {
  const journal = new Journal(pool);
  const tenures = new Tenures(pool, KEYS);
  const before = owners(pool);
  const term = leaderOf(pool).core?.term ?? 0;
  pool.checker.calm = true; // From here on a lapse breaks a promise, and so does a look-up that is cut off.
  act(journal);
  pool.run(3 * pool.durations.leaseMs);
  expect(leaderOf(pool).core?.term).toBeGreaterThan(term);
  expect(owners(pool)).toEqual(before);
  expect(journal.turns).toEqual([]);
  expect(journal.told).toEqual([]);
  expect(journal.commits.flatMap(({ batch }) => batch.pools.flatMap(({ records }) => records))).toEqual([]);
  for (const key of KEYS) expect(tenures.of(key)).toHaveLength(1);
  expect(isSettled(pool)).toBe(true);
}

/** Returns how long nobody led. */
function untilAnotherLeads(pool: PoolWorld, not: ManagerNode): number {
  const beganMs = pool.world.trueMs;
  const another = () => pool.leader !== undefined && pool.leader !== not;
  pool.until('another leads', another, pool.durations.leaderChangeMs);
  return pool.world.trueMs - beganMs;
}

describe('a leader that is told to step down', () => {
  it('lets another lead at once, and nobody notices', () => {
    const pool = quietPool({ owners: 3, lookups: 2 });
    unnoticed(pool, (journal) => {
      const old = leaderOf(pool);
      old.stepDown();
      expect(untilAnotherLeads(pool, old)).toBeLessThan(100); // No lease had to run out.
      const steppedDownMs = pool.world.trueMs;
      pool.run(pool.durations.leaseMs);
      expect(journal.updates().some(({ from, atMs }) => from === old.name && atMs > steppedDownMs)).toBe(
        false,
      );
    });
  });

  it('does not lead again until it stands again', () => {
    const pool = quietPool({ owners: 3, lookups: 1, managers: 2 });
    const old = leaderOf(pool);
    old.stepDown();
    untilAnotherLeads(pool, old);
    const other = leaderOf(pool);
    other.process.crash();
    pool.run(pool.durations.leaseMs / 2);
    expect(pool.leader).toBeUndefined();
    old.standAgain();
    pool.until('it leads', () => pool.leader === old, 1_000);
  });

  it('again and again, each as soon as it leads: nobody notices', () => {
    const pool = quietPool({ owners: 3, lookups: 2 });
    unnoticed(pool, () => {
      for (let times = 0; times < 12; times += 1) {
        const old = leaderOf(pool);
        old.stepDown();
        untilAnotherLeads(pool, old);
        old.standAgain();
      }
    });
  });
});

describe('all Managers, one after the other', () => {
  /** How each goes, and whether it lets another lead at once. */
  const ways: readonly (readonly [
    way: string,
    goes: (pool: PoolWorld, manager: ManagerNode) => void,
    isPolite: boolean,
  ])[] = [
    [
      'step down and are restarted',
      (pool, manager) => {
        const led = pool.leader === manager;
        manager.stepDown();
        if (led) untilAnotherLeads(pool, manager);
        manager.end();
      },
      true,
    ],
    ['are told to end and are restarted', (_, manager) => manager.end(), true],
    ['are killed and restarted', (_, manager) => manager.process.crash(), false],
  ];

  /** Each is away for so long; which of them leads is left to them. */
  function restartAll(
    pool: PoolWorld,
    goes: (pool: PoolWorld, manager: ManagerNode) => void,
    awayMs: number,
  ): void {
    for (const manager of pool.managers) {
      goes(pool, manager);
      pool.until('another leads', () => pool.leader !== undefined, pool.durations.leaderChangeMs);
      pool.run(awayMs);
      manager.process.start();
      pool.run(pool.durations.renewEveryMs); // It follows again, and owners have been answered.
    }
  }

  it.each(ways)('%s: nobody notices', (_, goes) => {
    const pool = quietPool({ owners: 3, lookups: 2 });
    unnoticed(pool, () => restartAll(pool, goes, 1_000));
  });

  it.each(ways)('%s, the leader first each time: nobody notices', (_, goes, isPolite) => {
    const pool = quietPool({ owners: 3, lookups: 2 });
    unnoticed(pool, () => {
      for (let times = 0; times < 3; times += 1) {
        const leader = leaderOf(pool);
        goes(pool, leader);
        const withoutMs = untilAnotherLeads(pool, leader);
        if (isPolite) expect(withoutMs).toBeLessThan(100);
        else expect(withoutMs).toBeGreaterThan(pool.durations.leaderLeaseMs / 2);
        leader.process.start();
        pool.run(pool.durations.renewEveryMs);
      }
    });
  });

  it.each(ways)(
    '%s: who comes meanwhile gets its keys, who leaves is let go, and no lease lapses',
    (_, goes) => {
      const pool = quietPool({ owners: 3, lookups: 2 });
      const journal = new Journal(pool);
      pool.checker.calm = true;
      const newcomer = pool.addOwner('newcomer');
      pool.owner('owner-2').leave();
      restartAll(pool, goes, 500);
      settle(pool);
      expect(KEYS.some((key) => newcomer.check(key) !== undefined)).toBe(true);
      expect(pool.owner('owner-2').left).toBe(true);
      expect(journal.turnsOf('lapsed')).toEqual([]);
    },
  );
});
