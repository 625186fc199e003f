/**
 * The ways in which another Manager comes to lead. Every world sees at least one of them, because what this
 * protocol promises it promises across them:
 *
 *  - the leader is killed, or stopped for longer than its leader lease and resumed when another leads;
 *  - it is cut off from the log, and from nobody else;
 *  - etcd changes its own leader, and ends the leader's lease by mistake;
 *  - it is told to make room.
 */

import type { Fate } from './fate.ts';
import type { ManagerNode } from './nodes.ts';

export const WAYS = [
  'killed',
  'stopped',
  'cut off from the log',
  'dropped by etcd',
  'told to step down',
] as const;
export type Way = (typeof WAYS)[number];

export class LeaderChanges {
  readonly #fate: Fate;
  /** How long etcd is without a leader of its own, in milliseconds. */
  readonly #logElectionMs: number;

  constructor(fate: Fate, logElectionMs: number) {
    this.#fate = fate;
    this.#logElectionMs = logElectionMs;
  }

  /** The leader is replaced, as soon as there is one; if that fails, by what else befalls it, again. */
  force(way: Way): void {
    const { pool } = this.#fate;
    this.#fate.when(
      () => this.#fate.leader !== undefined && !this.#fate.isStaged,
      Number.POSITIVE_INFINITY,
      () => {
        const { leader } = this.#fate;
        if (leader === undefined) return;
        const { term } = pool.log;
        this.#fate.did(`leaders ${way}`, leader.name);
        this.#fate.stage();
        const putRight = this.#change(leader, way);
        const isReplaced = (): boolean => pool.log.term !== term && pool.leader !== undefined;
        this.#fate.when(isReplaced, 3, () => {
          this.#fate.after(0, 0.5, putRight);
          if (!isReplaced()) this.#fate.after(0.1, 0.5, () => this.force(way));
        });
      },
    );
  }

  /** Returns what puts it right again. */
  #change(leader: ManagerNode, way: Way): () => void {
    const { log, world } = this.#fate.pool;
    const { process } = leader;
    switch (way) {
      case 'killed':
        process.crash();
        return () => process.alive || process.start();
      case 'stopped':
        process.pause();
        return () => process.resume();
      case 'cut off from the log':
        log.cut(leader.name);
        return () => log.restore(leader.name);
      case 'dropped by etcd':
        log.changeLeader(this.#logElectionMs);
        world.after(this.#logElectionMs + 1, () => log.dropLeader());
        return () => {};
      case 'told to step down':
        leader.stepDown();
        return () => leader.standAgain();
    }
  }
}
