import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { NO_CLIENTS } from './attachment.ts';
import { membershipOf } from './incarnation.ts';
import type { ServerRecord } from './messages.ts';
import { RecordTable } from './record-table.ts';

function record(name: string, startedMs: number, sequence: number, number = 1): ServerRecord {
  const id = { name, incarnation: { startedMs, nonce: 0 } };
  const proposal = {
    ...membershipOf([{ ...id, listVersion: 0 }]),
    number,
    holdMs: 0,
    chain: [],
  };
  return { ...id, sequence, links: [], cannotReach: [], list: NO_CLIENTS, proposal, hasLeft: false };
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
    expect(names(table.lackedBy([], new Set(['a']), instant(0)))).toEqual(['a']);
  });

  it('repairs a record that a peer lists in an older version, outside the component too', () => {
    const table = new RecordTable();
    table.put(record('b', 7, 1), instant(0));
    const restarted = record('b', 3, 1); // Its clock went back.
    expect(names(table.lackedBy([restarted], new Set(['a']), instant(0)))).toEqual(['b']);
  });

  it('has one digest for the same versions of one component, in whatever order they came, and another for others', () => {
    const linked = (name: string, sequence: number, ...to: readonly string[]): ServerRecord => ({
      ...record(name, 1, sequence),
      links: to.map((peer) => ({ name: peer, incarnation: { startedMs: 1, nonce: 0 } })),
    });
    const tableOf = (...records: readonly ServerRecord[]): RecordTable => {
      const table = new RecordTable();
      for (const each of records) table.put(each, instant(0));
      return table;
    };
    const [a, b, x] = [linked('a', 1, 'b'), linked('b', 1, 'a'), linked('x', 1)];
    const { digest } = tableOf(a, b).summary('a');
    expect(tableOf(x, b, a).summary('b').digest).toBe(digest); // x is outside.
    expect(tableOf(a, b).summary('x').digest).not.toBe(digest);
    const table = tableOf(a, b);
    expect(table.summary('a').versions.map(({ name }) => name)).toEqual(['a', 'b']);
    table.put(linked('b', 2, 'a'), instant(0));
    expect(table.summary('a').digest).not.toBe(digest);
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
