import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { membershipOf } from './incarnation.ts';
import type { ServerRecord } from './messages.ts';
import { RecordTable } from './record-table.ts';

function record(name: string, startedMs: number, sequence: number, number = 1): ServerRecord {
  const id = { name, incarnation: { startedMs, nonce: 0 } };
  const proposal = { ...membershipOf([id]), number, holdMs: 0, chain: [] };
  return { ...id, sequence, links: [], cannotReach: [], proposal, hasLeft: false };
}

const names = (records: readonly ServerRecord[]): string[] => records.map(({ name }) => name);

describe('the table of records', () => {
  it('takes the greater incarnation, and of one incarnation the greater sequence', () => {
    const table = new RecordTable();
    table.put(record('a', 2, 2), instant(0));
    expect(
      [record('a', 1, 9), record('a', 2, 2), record('a', 2, 3), record('a', 3, 1)].map((each) =>
        table.isNews(each),
      ),
    ).toEqual([false, false, true, true]);
  });

  it('repairs records of the own component that a peer does not list', () => {
    const table = new RecordTable();
    table.put(record('a', 1, 1), instant(0));
    table.put(record('b', 1, 1), instant(0));
    expect(names(table.lackedBy([], new Set(['a'])))).toEqual(['a']);
  });

  it('repairs a record that a peer lists in an older version, outside the component too', () => {
    const table = new RecordTable();
    table.put(record('b', 7, 1), instant(0));
    const restarted = record('b', 3, 1); // Its clock went back.
    expect(names(table.lackedBy([restarted], new Set(['a'])))).toEqual(['b']);
  });

  it('counts a hold from when the proposal first arrived', () => {
    const table = new RecordTable();
    table.put(record('a', 1, 1, 4), instant(100));
    table.put(record('a', 1, 2, 4), instant(200));
    expect(table.proposedAt('a')).toBe(100);
    table.put(record('a', 1, 3, 5), instant(300));
    expect(table.proposedAt('a')).toBe(300);
  });

  it('forgets a server outside the component after a while, but not the greatest number', () => {
    const table = new RecordTable();
    table.put(record('b', 1, 1, 12), instant(0));
    expect(table.forget(new Set(), instant(0), 1_000)).toEqual([]);
    expect(table.forget(new Set(['b']), instant(900), 1_000)).toEqual([]);
    expect(table.forget(new Set(), instant(1_000), 1_000)).toEqual([]);
    expect(table.forget(new Set(), instant(2_000), 1_000)).toEqual(['b']);
    expect(table.of('b')).toBeUndefined();
    expect(table.greatestNumber).toBe(12);
  });
});
