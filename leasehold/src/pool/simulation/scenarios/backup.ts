/**
 * A backup of the log's store, and what happens when somebody restores it: the store, and the truth
 * with it, go back to what they were, while owners and look-ups remember what came after.
 */

import type { PoolWorld } from '../pool-world.ts';

/** Takes a backup; call what it returns to restore it. */
export function backup({ log, checker }: PoolWorld): () => void {
  const [restoreStore, restoreTruth] = [log.backup(), checker.backup()];
  return () => {
    restoreStore();
    restoreTruth();
  };
}
