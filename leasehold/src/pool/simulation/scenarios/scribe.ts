/**
 * Somebody who leads and writes into the log whatever a scenario wants to find there. The Managers
 * stand by, follow and answer look-ups as they always do; when the scribe dies, one of them leads.
 */

import { assert } from '../../../runtime/assert.ts';
import type { Leadership } from '../../../log/log.ts';
import { SimProcess } from '../../../sim/process.ts';
import { encodeBatch, encodeSnapshot } from '../../core/state.ts';
import type { TableRecord } from '../../core/table.ts';
import type { PoolWorld } from '../pool-world.ts';

export class Scribe {
  readonly process: SimProcess;
  readonly #pool: PoolWorld;
  #leadership: Leadership | undefined;

  /** Is elected at once: come before the Managers start. */
  constructor(pool: PoolWorld) {
    const { leaderLeaseMs, retryMs } = pool.durations;
    this.#pool = pool;
    this.process = new SimProcess(pool.world, {
      name: 'scribe',
      start: (runtime) => {
        pool.log.open(this.process, runtime, { leaderLeaseMs, retryMs }).campaign('scribe', {
          elected: (leadership) => {
            this.#leadership = leadership;
          },
          extended: () => {},
          deposed: () => {
            this.#leadership = undefined;
          },
        });
      },
    });
    this.process.start();
    pool.until('the scribe leads', () => this.#leadership !== undefined, 1_000);
  }

  /** Commits these records as one batch; returns its position once everybody can have heard of it. */
  write(...records: readonly TableRecord[]): number {
    const leadership = this.#leadership;
    assert(leadership !== undefined, 'the scribe was deposed');
    const position = this.#pool.log.head + 1;
    const bytes = encodeBatch({
      term: leadership.term,
      leader: 'scribe',
      takeoverMs: 0,
      pools: [{ pool: 'pool', records }],
    });
    leadership.append({ position, bytes }, () => {});
    this.#pool.until('it is written', () => this.#pool.log.head === position, 1_000);
    this.#pool.run(50);
    return position;
  }

  /** Replaces the whole log by a snapshot. */
  compact(): void {
    const { replayed } = this.#pool.checker;
    this.#leadership?.compact(encodeSnapshot(replayed), replayed.position);
    this.#pool.run(50);
  }
}

export const joins = (name: string): TableRecord => ({
  kind: 'join',
  member: { incarnation: name, name, url: `http://${name}`, proof: undefined },
});
