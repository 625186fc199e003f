import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { PoolTable } from '../../core/table.ts';
import { misplacedShare, percent, spanAt, tallyOf, wantedShares } from './shares.ts';
import { threeOwners } from './source-script.ts';

describe('shares of the ring', () => {
  it('are one whole, owned or not', () => {
    const table = threeOwners().state.pool('presence');
    const { unowned, owners, lastLostAt } = tallyOf(table);
    expect([unowned, lastLostAt]).toEqual([0, 0]);
    expect([...owners.values()].reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
    expect(tallyOf(PoolTable.empty).unowned).toBe(1);
  });

  it('are exactly one whole when nobody owns any of many ranges', () => {
    const [whole] = PoolTable.empty.rows;
    fc.assert(
      fc.property(fc.uniqueArray(fc.bigInt(1n, RING_SIZE - 1n), { minLength: 30 }), (cuts) => {
        const starts = [0n, ...cuts.sort((a, b) => (a < b ? -1 : 1))];
        const rows = starts.map((start, index) => ({
          ...{
            owner: undefined,
            number: 0,
            lostAt: 0,
            changedAt: 0,
            continues: [],
            ticket: undefined,
            ...whole,
          },
          ...{ start, end: starts[index + 1] ?? RING_SIZE },
        }));
        expect(tallyOf(new PoolTable(rows, new Map(), 1)).unowned).toBe(1);
      }),
    );
  });

  it('know what is not where the policy wants it', () => {
    const manager = threeOwners();
    const misplaced = (): number | undefined =>
      misplacedShare(manager.state.pool('presence'), manager.target('presence'));
    expect(misplaced()).toBe(0);
    manager.join('presence', 'presence-4');
    const wanted = wantedShares(manager.target('presence')).get('presence-4.1')?.share ?? 0;
    expect(wanted).toBeGreaterThan(0.1);
    expect(misplaced()).toBeCloseTo(wanted, 9);
    manager.settle('presence');
    expect(misplaced()).toBe(0);
  });

  it('call nothing misplaced where nobody is, and do not know without a target', () => {
    expect(misplacedShare(PoolTable.empty, [])).toBe(0);
    expect(misplacedShare(threeOwners().state.pool('presence'), [])).toBeUndefined();
  });

  it('find the row of every position', () => {
    const { rows } = threeOwners().state.pool('presence');
    fc.assert(
      fc.property(fc.bigInt(0n, RING_SIZE - 1n), (at) => {
        expect(spanAt(rows, at)).toBe(rows.find(({ start, end }) => start <= at && at < end));
      }),
      { numRuns: 200 },
    );
    expect(spanAt([{ start: 5n, end: 6n }], 4n)).toBeUndefined();
  });

  it('are shown to two digits', () => {
    expect([percent(1 / 3), percent(0), percent(1)]).toEqual([33.33, 0, 100]);
  });
});
