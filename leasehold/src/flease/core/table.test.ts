import { describe, expect, it } from 'vitest';
import { ResourceState } from './resource-state.ts';
import { Table } from './table.ts';

const BALLOT = { askedMs: 1_000, round: 1, member: 'a', incarnation: 1, attempt: 1 };
const sizeOf = (table: Table): number => [...table.entries()].length;

describe('the table of resources', () => {
  it('has one entry for a resource, however often it is asked for', () => {
    const table = new Table<ResourceState>();
    expect(table.find('job')).toBeUndefined();
    const entry = table.findOrAdd('job');
    expect([table.findOrAdd('job') === entry, table.find('job') === entry]).toEqual([true, true]);
    expect([...table.entries()]).toEqual([entry]);
  });

  it('keeps an entry for as long as the acceptor or the proposer has something in it', () => {
    const table = new Table<ResourceState>();
    const entry = table.findOrAdd('job');
    entry.promised = BALLOT;
    entry.state = new ResourceState(entry, 'a');
    entry.promised = undefined;
    table.tidy(entry);
    expect(sizeOf(table)).toBe(1);
    entry.promised = BALLOT;
    entry.state = undefined;
    table.tidy(entry);
    expect(sizeOf(table)).toBe(1);
    entry.promised = undefined;
    table.tidy(entry);
    expect(sizeOf(table)).toBe(0);
  });
});
