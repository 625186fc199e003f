import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { keyHash } from '../../runtime/keys/hash.ts';
import { resolveDurations } from '../core/options.ts';
import { consistentHashing } from '../core/policy/consistent-hashing.ts';
import { PoolWorld } from './pool-world.ts';

/** The example of the README, to the letter, but for its imports. */
function example(): PoolWorld {
  const durations = resolveDurations(); // 9 s leases; PAPER_DURATIONS has the papers' 60 s
  const policy = consistentHashing();
  const pool = new PoolWorld({ seed: 1, durations, policy, managers: 3, leaderKeyMs: 3_000 });
  pool.start();
  for (const name of ['ada', 'ben', 'cyd']) pool.addOwner(name);
  pool.run(5_000);
  const alice = keyHash('alice');
  const owner = pool.owners.find((one) => one.check(alice) !== undefined);
  owner?.process.crash();
  pool.until('another serves alice', () => pool.owners.some((one) => one.check(alice)), 15_000);
  console.log(`${owner?.name} died; served again after ${pool.world.trueMs - 5_000} ms`);
  return pool;
}

describe('the example in the README', () => {
  it('is the one that runs here: the owner dies, and another serves its keys', () => {
    const readme = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');
    const here = readFileSync(new URL('./readme.test.ts', import.meta.url), 'utf8');
    const body = here.slice(here.indexOf('  const durations'), here.indexOf('  return pool'));
    expect(readme).toContain(body.replaceAll(/^ {2}/gm, '').trim());
    const pool = example();
    expect(pool.owners.filter(({ process }) => !process.alive)).toHaveLength(1);
  });
});
