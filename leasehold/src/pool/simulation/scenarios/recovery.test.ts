import { describe, expect, it } from 'vitest';
import { resolveDurations, takeoverHoldMs } from '../../core/options.ts';
import type { ManagerNode } from '../nodes.ts';
import { backup } from './backup.ts';
import { cutOff, keyOf, leaderOf, quietPool, sampleKeys, settle, when } from './quiet-pool.ts';
import { Tenures } from './tenures.ts';

describe('a store restored from a backup', () => {
  it('after a restore and a jump nobody uses again a number it has let go of', () => {
    const pool = quietPool({ owners: 2, lookups: 1, managers: 1 });
    const [manager] = pool.managers as readonly [ManagerNode];
    const restore = backup(pool);
    for (const name of ['owner-3', 'owner-4', 'owner-5']) {
      pool.addOwner(name);
      settle(pool);
    }
    pool.run(pool.durations.renewEveryMs);
    restore();
    pool.until('it has halted', () => manager.halted !== undefined, pool.durations.leaderChangeMs);
    pool.run(pool.durations.holdMs);
    pool.log.jump(100, 1_000);
    manager.process.restart();
    settle(pool);
  });

  it('a Manager that has heard how far others have seen leads again after the jump', () => {
    const pool = quietPool({ owners: 3, lookups: 1, managers: 1 });
    const [manager] = pool.managers as readonly [ManagerNode];
    const restore = backup(pool);
    manager.process.restart();
    pool.run(2 * pool.durations.leaderChangeMs);
    restore();
    pool.until('it has halted', () => manager.halted !== undefined, pool.durations.leaderChangeMs);
    pool.run(pool.durations.holdMs);
    for (const { name } of pool.managers) pool.log.delayAnswers(name, [1_000, 1_000]); // Owners report before it is elected.
    pool.log.jump(100, 1_000);
    manager.process.restart();
    pool.run(pool.durations.leaderChangeMs);
    expect(manager.halted).toBeUndefined();
  });

  it('the jump, commanded within a lease of the restore, makes no two owners', () => {
    const pool = quietPool({ owners: 2, lookups: 1, managers: 1 });
    const [manager] = pool.managers as readonly [ManagerNode];
    const restore = backup(pool);
    pool.addOwner('owner-3');
    settle(pool);
    pool.run(pool.durations.renewEveryMs);
    restore();
    pool.until('it has halted', () => manager.halted !== undefined, pool.durations.leaderChangeMs);
    pool.run(2_600); // The engine has forgotten it.
    cutOff(pool, pool.owner('owner-3'));
    const tenures = new Tenures(pool, sampleKeys(64));
    pool.checker.owners = [];
    pool.log.jump(100, 1_000);
    manager.process.restart();
    pool.run(10_000);
    expect(tenures.overlaps()).toEqual([]);
  });

  it('a restore that goes back one batch is noticed', () => {
    const pool = quietPool({ owners: 2, lookups: 1, managers: 2 });
    const owner = pool.owner('owner-2');
    const key = keyOf(pool.owner('owner-1'));
    const old = leaderOf(pool);
    const restore = backup(pool);
    pool.owner('owner-1').process.crash();
    when(
      pool,
      () => owner.check(key) !== undefined,
      () => old.process.crash(),
    );
    pool.until('it has the key', () => owner.check(key) !== undefined, 20_000);
    pool.run(50);
    restore();
    pool.until('the other has halted', () => pool.managers.some((m) => m.halted !== undefined), 8_000);
  });

  describe('longer leases were given since the backup, by a Manager with other settings', () => {
    const [long, short] = [12_000, 4_000].map((leaseMs) => resolveDurations({ leaseMs })) as [
      ReturnType<typeof resolveDurations>,
      ReturnType<typeof resolveDurations>,
    ];

    /** What overlaps, if an operator waits so long between stopping the Managers and raising the counters. */
    function overlapsAfterWaiting(waitMs: number): string[] {
      const pool = quietPool({ managers: 2, durations: long, managerDurations: [long, short] });
      const [lasting, brief] = pool.managers as readonly [ManagerNode, ManagerNode];
      const leads = (manager: ManagerNode): void =>
        pool.until(`${manager.name} leads`, () => pool.leader === manager, pool.settleMs);
      lasting.process.crash();
      leads(brief);
      pool.run(takeoverHoldMs(long)); // Until then it writes down how long its predecessor's leases last.
      pool.addOwner('owner-1');
      pool.addOwner('owner-2');
      settle(pool);
      const restore = backup(pool);
      lasting.process.start();
      brief.process.crash();
      leads(lasting);
      pool.run(long.renewEveryMs);
      cutOff(pool, pool.owner('owner-1'));
      for (const { process } of pool.managers) process.crash();
      pool.checker.owners = []; // The limit is to be seen, not to end the run.
      const tenures = new Tenures(pool, sampleKeys(64));
      restore();
      pool.run(waitMs);
      pool.log.jump(100, 1_000);
      brief.process.start();
      pool.run(2 * takeoverHoldMs(long));
      return tenures.overlaps();
    }

    it('the counters may be raised once the longest of them have run out', () => {
      expect(overlapsAfterWaiting(takeoverHoldMs(long))).toEqual([]);
    });

    it('raised at once, two owners are possible: the log has forgotten the longer leases (decision 0018)', () => {
      expect(overlapsAfterWaiting(0)).not.toEqual([]);
    });
  });
});
