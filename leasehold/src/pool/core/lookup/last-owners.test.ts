import { describe, expect, it } from 'vitest';
import { highOf, lowOf, RING_SIZE } from '../../../runtime/keys/position.ts';
import { RingTable } from '../../../runtime/keys/ring-table.ts';
import type { TableRow } from '../messages.ts';
import { LastOwners } from './last-owners.ts';

const QUARTER = RING_SIZE / 4n;

/** A look-up's table; `told` changes quarters: `a-b-` means a, nobody, b, nobody. */
class Pool {
  readonly last = new LastOwners();
  table = RingTable.whole<TableRow | undefined>(undefined);

  told(owners: string, from = 0): this {
    const rows = [...owners].map((name, index) => {
      const start = BigInt(from + index) * QUARTER;
      const owner = name === '-' ? undefined : { incarnation: name, name, url: name };
      const value = { start, end: start + QUARTER, owner, number: 1, lostAt: 0 };
      return { start, end: start + QUARTER, value };
    });
    const before = this.table;
    this.table = before.overlay(rows);
    this.last.advance(
      before,
      this.table,
      rows.map(({ value }) => value),
    );
    return this;
  }

  drop(): this {
    this.last.dropped(this.table);
    this.table = RingTable.whole<TableRow | undefined>(undefined);
    return this;
  }

  along(quarter: number): string {
    const position = BigInt(quarter) * QUARTER;
    return [...this.last.along(this.table, highOf(position), lowOf(position))]
      .map(({ name }) => name)
      .join('');
  }
}

describe('those who may know something of a key', () => {
  it('are its owner, and then all others along the ring, each once', () => {
    const pool = new Pool().told('abca');
    expect([0, 1, 2, 3].map((quarter) => pool.along(quarter))).toEqual(['abc', 'bca', 'cab', 'abc']);
  });

  it('are its last owner before all others, if it has none', () => {
    const pool = new Pool().told('abcd').told('-', 1);
    expect(pool.along(1)).toBe('bcda');
    expect(pool.told('a', 0).told('--', 1).along(2)).toBe('cdab');
  });

  it('are others if it never had an owner, and nobody if nobody was heard of', () => {
    expect(new Pool().along(0)).toBe('');
    expect(new Pool().told('-a-b').along(2)).toBe('ba');
  });

  it('are not those who owned it before its present owner', () => {
    const pool = new Pool().told('abcd').told('-', 1).told('c', 1);
    expect(pool.along(1)).toBe('cda');
    expect(pool.told('-', 1).along(1)).toBe('cda');
  });

  it('are as they were when the table was dropped, until there is another', () => {
    const pool = new Pool().told('ab-d').drop();
    expect(pool.along(1)).toBe('bda');
    expect(pool.told('xxxx').along(1)).toBe('x');
  });
});
