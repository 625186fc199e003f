/**
 * One log after another: each begins empty, above the numbers of all earlier logs, because the earlier log is gone.
 *
 * To the checker a new log is one that was emptied and whose counters were raised. With the first commit all that was true
 * before is forgotten, nobody may act under an earlier lease by then, and everything is lost, which every look-up must
 * report. Commits to an earlier log count for nothing from then on.
 */

import type { LogBatch } from '../../log/log.ts';
import { RING_SIZE } from '../../runtime/keys/position.ts';
import type { World } from '../../sim/world.ts';
import { ManagerState } from '../core/state.ts';
import type { Checker } from './checker.ts';

export class SuccessiveLogs {
  readonly #world: World;
  readonly #checker: Checker;
  readonly #pools: readonly string[];
  readonly #forget: () => void;
  /** The log of the last commit that counted; logs are numbered from 1. */
  #latest = 0;

  constructor(world: World, checker: Checker, pools: readonly string[]) {
    this.#world = world;
    this.#checker = checker;
    this.#pools = pools;
    this.#forget = checker.truth.backup();
  }

  committed(log: number, batch: LogBatch): void {
    if (log < this.#latest) {
      this.#world.count('commits of one that was deposed');
      return;
    }
    const isLater = log > this.#latest && this.#latest > 0;
    this.#latest = log;
    if (isLater) {
      this.#forget();
      this.#checker.replayed = ManagerState.empty;
      this.#checker.countersRaised();
    }
    this.#checker.committed(batch);
    if (!isLater) return;
    this.#world.count('failovers');
    for (const pool of this.#pools) {
      const spans = [{ start: 0n, end: RING_SIZE }];
      this.#checker.losses.committed({ pool, position: batch.position, spans });
    }
  }
}
