/**
 * How many pools may begin with their first owner, and which of them makes room for another.
 *
 * A pool begins when somebody asks for it, and stays in the log when everybody has left. So one stranger that joins a
 * thousand pools for a moment each could keep every later pool out, also after a restart. Three rules prevent that:
 *
 *  - **A pool without members makes room.** If there are as many pools as may be, the one that changed longest ago, of those
 *    in which nobody is and that nobody waits to join, is removed, and the owner that asked is told to ask again. An empty
 *    pool holds nothing: no lease, and no state that its look-ups have not been told is lost. If its owners come back, it
 *    begins anew.
 *  - **One origin begins only so many.** Otherwise a stranger could stay in each of a thousand pools. The origin of the
 *    first owner counts, for as long as this leader leads; a successor begins to count anew, within the limit in sum.
 *  - **The limits hold when a batch is made**, not only when an owner is first heard: a thousand owners may ask for a
 *    thousand pools before the first of them is written.
 *
 * Declared pools are neither counted nor removed.
 */

import type { Batch, ManagerState } from '../state.ts';
import { limitsOf, type ManagerSettings } from './settings.ts';

export type PoolLimit = 'pools' | 'poolsPerAddress';

export interface NoPlace {
  readonly limit: PoolLimit;
  readonly most: number;
  /** The pool that can be removed so that another may begin. */
  readonly empty: string | undefined;
}

export interface PoolPlacesTerms {
  settings(): ManagerSettings;
  state(): ManagerState;
  /** Where the owner comes from that has waited longest to join this pool; undefined if nobody waits. */
  waitsFrom(pool: string): string | undefined;
  originOfOwner(incarnation: string): string | undefined;
}

export class PoolPlaces {
  readonly #terms: PoolPlacesTerms;
  /** Pools that began in this term, with the origin of their first owner. */
  readonly #origins = new Map<string, string>();

  constructor(terms: PoolPlacesTerms) {
    this.#terms = terms;
  }

  /** Why this pool may not begin with an owner from there; undefined if it exists or may begin. */
  whyNot(pool: string, origin: string): NoPlace | undefined {
    const limit = this.#isLimited(pool) ? this.#fullBy(origin, 0, 0) : undefined;
    if (limit === undefined) return undefined;
    return { limit, most: limitsOf(this.#terms.settings())[limit], empty: this.#toRemove(limit, origin) };
  }

  #toRemove(limit: PoolLimit, origin: string): string | undefined {
    let found: string | undefined;
    let changedAt = Number.POSITIVE_INFINITY;
    for (const [pool, table] of this.#terms.state().pools) {
      if (table.members.size > 0 || table.changedAt >= changedAt || this.#isDeclared(pool)) continue;
      if (limit === 'poolsPerAddress' && this.#origins.get(pool) !== origin) continue;
      if (this.#terms.waitsFrom(pool) !== undefined) continue;
      [found, changedAt] = [pool, table.changedAt];
    }
    return found;
  }

  /** Of these pools, the ones that neither exist nor may begin with the next batch. */
  cannotBegin(pools: readonly string[]): ReadonlySet<string> {
    const refused = new Set<string>();
    const beginning = new Map<string, number>();
    let all = 0;
    for (const pool of pools) {
      const origin = this.#isLimited(pool) ? this.#terms.waitsFrom(pool) : undefined;
      if (origin === undefined) continue;
      const same = beginning.get(origin) ?? 0;
      if (this.#fullBy(origin, all, same) !== undefined) {
        refused.add(pool);
        continue;
      }
      all += 1;
      beginning.set(origin, same + 1);
    }
    return refused;
  }

  /** Notes where pools that this batch began come from, and forgets those that it removed. */
  committed(batch: Batch, before: ManagerState): void {
    for (const { pool, records } of batch.pools) {
      if (records.some(({ kind }) => kind === 'remove')) this.#origins.delete(pool);
      const join = before.pools.has(pool) ? undefined : records.find((record) => record.kind === 'join');
      const origin = join === undefined ? undefined : this.#terms.originOfOwner(join.member.incarnation);
      if (origin !== undefined) this.#origins.set(pool, origin);
    }
  }

  #fullBy(origin: string, more: number, moreOfOrigin: number): PoolLimit | undefined {
    const { pools, poolsPerAddress } = limitsOf(this.#terms.settings());
    if (this.#ofOrigin(origin) + moreOfOrigin >= poolsPerAddress) return 'poolsPerAddress';
    return this.#begun() + more >= pools ? 'pools' : undefined;
  }

  #begun(): number {
    let begun = 0;
    for (const pool of this.#terms.state().pools.keys()) if (!this.#isDeclared(pool)) begun += 1;
    return begun;
  }

  #ofOrigin(origin: string): number {
    let begun = 0;
    for (const each of this.#origins.values()) if (each === origin) begun += 1;
    return begun;
  }

  #isLimited(pool: string): boolean {
    return !this.#terms.state().pools.has(pool) && !this.#isDeclared(pool);
  }

  #isDeclared(pool: string): boolean {
    return this.#terms.settings().pools?.has(pool) === true;
  }
}
