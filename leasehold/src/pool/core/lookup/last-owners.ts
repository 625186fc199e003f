/**
 * Who owned each key when somebody last did: for callers to whom an old answer is better than none.
 *
 *     table    ├──── a ────┼─ nobody ─┼──── c ────┤
 *     before   ├──── a ────┼─── b ────┼──── c ────┤     kept as long as the table has keys without an owner
 *
 * Nothing is kept while the table has an owner for every key: it says everything then. No rule rests on this, and losses are reported all the same.
 */

import type { RingTable } from '../../../runtime/keys/ring-table.ts';
import type { OwnerAddress, TableRow } from '../messages.ts';

type Table = RingTable<TableRow | undefined>;

export class LastOwners {
  /** Undefined if the table in use has an owner for every key, or nothing was heard yet. */
  #rows: Table | undefined;

  /** @param rows those that made the table `after` of the table `before` */
  advance(before: Table, after: Table, rows: readonly TableRow[]): void {
    if (this.#rows === undefined && rows.every(({ owner }) => owner !== undefined)) return;
    const owned = rows.filter(({ owner }) => owner !== undefined);
    const last = (this.#rows ?? before).overlay(
      owned.map((row) => ({ start: row.start, end: row.end, value: row })),
    );
    this.#rows = isOwned(after) ? undefined : last;
  }

  /** The table is of no use any more: nobody can say who owns what. */
  dropped(before: Table): void {
    this.#rows ??= before;
  }

  /** Those who may know something of the key, each once: its owner, its last owner, and then all others along the ring. */
  *along(table: Table, high: number, low: number): Generator<OwnerAddress, void> {
    const told = new Set<string>();
    for (const owner of this.#inOrder(table, high, low)) {
      if (owner === undefined || told.has(owner.incarnation)) continue;
      told.add(owner.incarnation);
      yield owner;
    }
  }

  *#inOrder(table: Table, high: number, low: number): Generator<OwnerAddress | undefined, void> {
    yield table.find(high, low)?.owner;
    yield this.#rows?.find(high, low)?.owner;
    for (const each of this.#rows === undefined ? [table] : [table, this.#rows]) {
      const first = each.indexOf(high, low);
      for (let step = 1; step < each.size; step += 1) yield each.valueAt((first + step) % each.size)?.owner;
    }
  }
}

function isOwned(table: Table): boolean {
  for (let row = 0; row < table.size; row += 1) if (table.valueAt(row)?.owner === undefined) return false;
  return true;
}
