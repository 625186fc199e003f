/**
 * An owner that is killed and restarted under the same name: the keys change hands once, from the earlier incarnation to
 * the later one, and no other owner is given them in between.
 */

import { describe, expect, it } from 'vitest';
import type { OwnerNode } from '../nodes.ts';
import { quietPool, sampleKeys, settle } from './quiet-pool.ts';
import { Tenures } from './tenures.ts';

/** Kills one of three owners and restarts it. Returns which incarnations had the keys one after the other. */
function restarted(options: { readonly locked: boolean }) {
  const pool = quietPool({ owners: 2 });
  const node: OwnerNode = pool.addOwner('restarted', options);
  settle(pool);
  const keys = sampleKeys(50).filter((key) => node.check(key) !== undefined);
  const tenures = new Tenures(pool, keys);
  const killedMs = pool.world.trueMs;
  pool.crashOwner(node);
  pool.run(500);
  node.process.start();
  pool.until('it has its keys again', () => keys.every((key) => node.check(key)), 3 * pool.durations.holdMs);
  settle(pool);
  const lives = keys.map((key) => tenures.of(key).map(({ incarnation }) => incarnation));
  const againMs = Math.max(...keys.flatMap((key) => tenures.of(key).at(-1)?.fromMs ?? 0)) - killedMs;
  return { lives, againMs, holdMs: pool.durations.holdMs };
}

describe('the keys of an owner that is killed and restarted', () => {
  it('go to its next incarnation when the hold of the last one is over, and to nobody else', () => {
    const { lives, againMs, holdMs } = restarted({ locked: false });
    expect(lives.length).toBeGreaterThan(5);
    for (const incarnation of lives) expect(incarnation).toEqual(['restarted.1', 'restarted.2']);
    expect(againMs).toBeLessThan(holdMs + 100);
  });

  it('go to its next incarnation at once if that proves the death of the last one', () => {
    const { lives, againMs } = restarted({ locked: true });
    for (const incarnation of lives) expect(incarnation).toEqual(['restarted.1', 'restarted.2']);
    expect(againMs).toBeLessThan(600);
  });
});
