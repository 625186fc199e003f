/**
 * Managers that die, sleep or cannot reach the log: scenarios 19, 20 and 22.
 */

import { describe, expect, it } from 'vitest';
import type { Hash } from '../../../runtime/keys/position.ts';
import type { OwnerNode } from '../nodes.ts';
import type { PoolWorld } from '../pool-world.ts';
import { Journal } from './journal.ts';
import {
  isSettled,
  keyOf,
  leaderOf,
  numberOf,
  quietPool,
  sampleKeys,
  settle,
  truthOf,
} from './quiet-pool.ts';
import { leaseEndMs, Tenures } from './tenures.ts';

describe('a leader that is killed while an owner joins', () => {
  const keys = sampleKeys(64);

  /** Who may act for each key, and under which number. */
  const acknowledged = (pool: PoolWorld): [Hash, OwnerNode, number][] =>
    keys.flatMap((key) =>
      pool.owners.flatMap((node): [Hash, OwnerNode, number][] => {
        const number = node.check(key);
        return number === undefined ? [] : [[key, node, number]];
      }),
    );

  function joining(): PoolWorld {
    const pool = quietPool({ owners: 3, lookups: 1, trace: false });
    pool.addOwner('newcomer');
    return pool;
  }

  /** At which of the points between deciding and being heard the leader is. */
  function pointOf(pool: PoolWorld, journal: Journal): string {
    const { trueMs } = pool.world;
    const inFlight = (atMs: number): boolean => trueMs - atMs < 2;
    const { core, isWriting } = leaderOf(pool);
    if ((core?.state.position ?? 0) < pool.log.head) return 'committed, not answered';
    if (isWriting) return 'before the append reached the log';
    if (journal.updates().some(({ atMs }) => inFlight(atMs))) return 'answered, owners have not heard';
    return 'between';
  }

  it('19: at whatever event, what owners were told stands, and nothing is granted twice', () => {
    const whole = joining();
    const startedAt = whole.world.events;
    whole.until('the newcomer has its keys', () => isSettled(whole), 5_000);
    const events = whole.world.events - startedAt;
    const points = new Map<string, number>();

    for (let dieAt = 1; dieAt <= events; dieAt += 1) {
      const pool = joining();
      const journal = new Journal(pool);
      let left = dieAt;
      let before: [Hash, OwnerNode, number][] = [];
      pool.world.afterEach(() => {
        left -= 1;
        if (left !== 0) return;
        const point = pointOf(pool, journal);
        points.set(point, (points.get(point) ?? 0) + 1);
        before = acknowledged(pool);
        leaderOf(pool).process.crash();
      });
      settle(pool);
      pool.run(2 * pool.durations.leaseMs);
      expect(isSettled(pool)).toBe(true);

      expect(before.length).toBeGreaterThan(32);
      const newcomer = pool.owner('newcomer');
      for (const [key, node, number] of before)
        expect(node.checkContinuous(key, number) || newcomer.check(key) !== undefined).toBe(true);
      const after = acknowledged(pool);
      expect(after).toHaveLength(keys.length); // Each key once, and as the log has it.
      for (const [key, { incarnation }, number] of after)
        expect(truthOf(pool, key)).toMatchObject({ owner: incarnation, number });
      expect(journal.turnsOf('lapsed')).toEqual([]);
    }
    expect(points.get('before the append reached the log')).toBeGreaterThan(0);
    expect(points.get('committed, not answered')).toBeGreaterThan(0);
    expect(points.get('answered, owners have not heard')).toBeGreaterThan(0);
  });
});

describe('a leader that is stopped for longer than its lease', () => {
  it('20: says nothing more once it is resumed', () => {
    const pool = quietPool({ owners: 3, lookups: 1 });
    const journal = new Journal(pool);
    const old = leaderOf(pool);
    const term = old.core?.term ?? 0;
    const tenures = new Tenures(pool, sampleKeys(32));
    old.process.pause();
    pool.until('there is a successor', () => (leaderOf(pool).core?.term ?? 0) > term, 5_000);
    pool.run(pool.durations.renewEveryMs * 2);

    const resumedMs = pool.world.trueMs;
    old.process.resume(); // Reports of owners have queued up, and it thinks that it leads.
    expect(old.core?.role).toBe('leading');
    pool.run(pool.durations.leaseMs);
    expect(journal.updates().filter(({ from, atMs }) => from === old.name && atMs >= resumedMs)).toEqual([]);
    expect(old.core?.role).toBe('standby');
    expect(journal.turnsOf('lapsed')).toEqual([]);
    expect(tenures.overlaps()).toEqual([]);
  });

  it('20: what it said before, and arrives after its successor was heard, is refused', () => {
    const pool = quietPool({ owners: 3 });
    const journal = new Journal(pool);
    const owner = pool.owner('owner-1');
    const key = keyOf(owner);
    const old = leaderOf(pool);
    const term = old.core?.term ?? 0;
    pool.network.setFaults({ delayMs: [7_000, 7_000] }, old.name, owner.name);
    const slow = () => journal.updates().filter(({ from, to }) => from === old.name && to === owner.name);
    pool.until('it has answered', () => slow().length > 0, 2 * pool.durations.renewEveryMs);
    old.process.pause();
    pool.until('the owner has heard the successor', () => (owner.core?.seen?.term ?? 0) > term, 6_000);

    const arrivesMs = (slow()[0]?.atMs ?? 0) + 7_000;
    pool.run(arrivesMs - 1 - pool.world.trueMs);
    const [endMs, version] = [leaseEndMs(owner, key), owner.core?.version];
    pool.run(2);
    expect(leaseEndMs(owner, key)).toBe(endMs);
    expect(owner.core?.version).toBe(version);
    expect(owner.core?.seen?.term).toBeGreaterThan(term);
  });

  it('20: cut off from the log but not from owners, it renews nothing after its own lease', () => {
    const pool = quietPool({ owners: 3 });
    const journal = new Journal(pool);
    const old = leaderOf(pool);
    const { leaderLeaseMs, leaseMs } = pool.durations;
    for (const owner of pool.owners)
      for (const manager of pool.managers)
        if (manager !== old) pool.network.cutBoth(owner.name, manager.name);
    const tenures = new Tenures(pool, sampleKeys(32));
    pool.log.cut(old.name);
    const cutMs = pool.world.trueMs;
    pool.run(leaseMs + leaderLeaseMs);
    const last = journal.updates().findLast(({ from }) => from === old.name);
    expect(last?.atMs).toBeLessThan(cutMs + leaderLeaseMs);
    for (const key of sampleKeys(32)) {
      const [tenure] = tenures.of(key);
      expect(tenure?.toMs).toBeLessThan(cutMs + leaderLeaseMs + leaseMs);
      expect(tenure?.over).toBe(true);
    }
    expect(tenures.overlaps()).toEqual([]);

    pool.heal();
    settle(pool);
    expect(journal.turnsOf('resumed').length).toBe(3); // Nobody else could have had the keys.
  });
});

describe('a log that is out of reach', () => {
  const engines = [
    ['the log forgot its leader', 2_475],
    ['the log remembers its leader', 120_000],
  ] as const;

  /** The log is gone until every lease has lapsed and longer, and nobody is quick to hear that it is back. */
  function outage(leaderKeyMs: number, meanwhile: (pool: PoolWorld) => void) {
    const pool = quietPool({ owners: 3, lookups: 2, leaderKeyMs });
    const journal = new Journal(pool);
    const { leaseMs, leaderLeaseMs } = pool.durations;
    const before = sampleKeys(64).map((key) => {
      const owner = pool.owners.find((node) => node.check(key) !== undefined) as OwnerNode;
      return { key, owner, number: numberOf(owner, key) };
    });
    pool.log.down = true;
    meanwhile(pool);
    pool.run(leaderLeaseMs + leaseMs + 10);
    for (const { key, owner } of before) expect(owner.check(key)).toBeUndefined();
    pool.run(leaseMs);
    expect(journal.commits).toEqual([]);
    expect(journal.turnsOf('granted')).toEqual([]);
    expect(journal.turnsOf('lapsed')).toHaveLength(3);

    pool.network.setFaults({ delayMs: [1_000, 1_000] });
    pool.log.down = false;
    pool.run(1_500);
    pool.network.setFaults({ delayMs: [2, 2] });
    settle(pool);
    return { pool, journal, before };
  }

  it.each(engines)(
    '22: nothing is granted, leases lapse, and afterwards all is as it was (%s)',
    (_, keyMs) => {
      const { journal, before } = outage(keyMs, () => {});
      for (const { key, owner, number } of before) {
        expect(numberOf(owner, key)).toBeGreaterThan(number);
        expect(owner.checkContinuous(key, number)).toBe(true);
      }
      expect(journal.told).toEqual([]);
    },
  );

  it.each(engines)(
    '22: who comes meanwhile waits, and takes only what the policy gives it (%s)',
    (_, keyMs) => {
      const { pool, journal, before } = outage(keyMs, (world) => world.addOwner('newcomer'));
      const newcomer = pool.owner('newcomer');
      const stayed = before.filter(({ key }) => newcomer.check(key) === undefined);
      expect(stayed.length).toBeGreaterThan(32);
      expect(stayed.length).toBeLessThan(before.length);
      for (const { key, owner, number } of stayed) {
        expect(owner.checkContinuous(key, number)).toBe(true);
        expect(journal.told.some(({ ranges }) => ranges.has(key))).toBe(false);
      }
      expect(journal.records('leave')).toEqual([]);
    },
  );

  it('22: for less than a lease: nobody notices', () => {
    const pool = quietPool({ owners: 3, lookups: 2 });
    const journal = new Journal(pool);
    pool.log.down = true;
    pool.run(pool.durations.leaderChangeMs - pool.durations.leaderLeaseMs);
    pool.log.down = false;
    pool.run(2 * pool.durations.leaseMs);
    expect(journal.turns).toEqual([]);
    expect(journal.told).toEqual([]);
  });
});
