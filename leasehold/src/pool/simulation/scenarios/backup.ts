/**
 * A backup of the log's store, and what happens when somebody restores it: the store, and the truth
 * with it, go back to what they were, while owners and look-ups remember what came after.
 */

import type { PoolWorld } from '../pool-world.ts';

/** Takes a backup; call what it returns to restore it. */
export function backup({ engine, checker }: PoolWorld): () => void {
  const restore = engine.backup();
  const { replayed, truth } = checker;
  const { head } = truth;
  const pools = [...truth.pools].map(([name, { segments, members }]) => ({
    name,
    segments: segments.map((segment) => ({ ...segment })),
    members: new Map(members),
  }));
  return () => {
    restore();
    checker.replayed = replayed;
    truth.head = head;
    for (const { name, segments, members } of pools) {
      const pool = truth.pool(name);
      pool.segments.splice(0, pool.segments.length, ...segments);
      pool.members.clear();
      for (const [incarnation, member] of members) pool.members.set(incarnation, member);
    }
  };
}
