import { describe, expect, it } from 'vitest';
import { Journal } from './journal.ts';
import { keyOf, nextActor, quietPool, settle } from './quiet-pool.ts';

describe('keys are given to those who hear', () => {
  it('an owner that can speak but not hear loses its keys after a hold', () => {
    const pool = quietPool({ owners: 2 });
    const deaf = pool.owner('owner-1');
    const key = keyOf(deaf);
    for (const manager of pool.managers) pool.network.cut(manager.name, deaf.name);
    nextActor(pool, key, deaf, 10 * pool.durations.holdMs);
  });

  it('a late report of an owner that has left does not bring it back', () => {
    const pool = quietPool({ owners: 2, lookups: 1 });
    const journal = new Journal(pool);
    const owner = pool.owner('owner-1');
    pool.run(2_000);
    const old = journal.reports().findLast(({ from }) => from === owner.name);
    owner.leave();
    pool.until('it has left', () => owner.left, 5_000);
    settle(pool);
    const commits = journal.commits.length;
    if (old) pool.network.send(old.from, old.to, old.message);
    pool.run(200);
    expect(journal.commits).toHaveLength(commits);
  });

  it('a late report of an earlier incarnation does not take the keys from the present one', () => {
    const pool = quietPool({ owners: 2, lookups: 1 });
    const journal = new Journal(pool);
    const owner = pool.owner('owner-1');
    const key = keyOf(owner);
    pool.run(2_000);
    const old = journal.reports().findLast(({ from }) => from === owner.name);
    owner.process.restart();
    pool.until('it has its keys again', () => owner.check(key) !== undefined, 20_000);
    settle(pool);
    if (old) pool.network.send(old.from, old.to, old.message);
    pool.run(200);
    expect(owner.check(key)).toBeDefined();
  });
});
