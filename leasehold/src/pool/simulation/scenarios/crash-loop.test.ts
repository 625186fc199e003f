/** A Manager that a supervisor starts again every nine seconds, with the default durations. */

import { describe, expect, it } from 'vitest';
import { resolveDurations, takeoverHoldMs } from '../../core/options.ts';
import { consistentHashing } from '../../core/policy/consistent-hashing.ts';
import { PoolWorld } from '../pool-world.ts';

const durations = resolveDurations();

function lonelyManager(): PoolWorld {
  const policy = consistentHashing({ virtualNodes: 4 });
  const pool = new PoolWorld({ seed: 1, durations, policy, managers: 1, leaderKeyMs: 3_000 });
  pool.start();
  for (const name of ['a', 'b', 'c']) pool.addOwner(name);
  pool.run(5_000);
  return pool;
}

/** The Manager is killed, and started again. */
function restart(pool: PoolWorld): void {
  const { process } = pool.manager('manager-1');
  process.crash();
  pool.log.dropLeader();
  process.start();
}

const commits = ({ world }: PoolWorld): number => world.counts.get('commits') ?? 0;

describe('a Manager that is restarted every 9 s', () => {
  it('frees the keys of a dead owner in its third incarnation at the latest', () => {
    const pool = lonelyManager();
    const dead = pool.owner('a');
    pool.crashOwner(dead);
    for (let lives = 1; lives <= 2; lives += 1) {
      restart(pool);
      pool.run(9_000);
    }
    restart(pool);
    const isFree = (): boolean => !pool.checker.replayed.pool('pool').members.has(dead.incarnation);
    pool.until('the keys of the dead owner are free', isFree, 9_000);
    pool.run(2_000);
    pool.checker.settled();
  });

  it('writes one batch per incarnation if all owners report, and one every 2.5 s beside it while one is silent', () => {
    const pool = lonelyManager();
    const before = commits(pool);
    restart(pool);
    pool.run(takeoverHoldMs(durations) + 1_000);
    expect(commits(pool) - before).toBe(1);
    pool.crashOwner(pool.owner('a'));
    restart(pool);
    pool.run(takeoverHoldMs(durations) - 1_000);
    expect(commits(pool) - before).toBe(1 + 1 + 4);
  });
});
