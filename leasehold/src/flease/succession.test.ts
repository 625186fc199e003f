import { describe, expect, it } from 'vitest';
import { Succession } from './succession.ts';
import { Table } from './table.ts';

const left = (line: string, atMs: number) => ({ resource: 'job', number: 7, line: [...line], atMs });
const lease = { holder: 'a', life: 1, untilMs: 1_000, state: 'left', heir: 'c' } as const;
const hasNothing = new Table();
const has = (number: number): Table => {
  const table = new Table();
  table.findOrAdd('job').lease = { ...lease, number };
  return table;
};

describe('those who waited behind an heir', () => {
  it('are told when anybody may have it, once', () => {
    const succession = new Succession(10);
    succession.add(left('bd', 1_000));
    expect(succession.due(999, has(7))).toEqual([]);
    expect(succession.due(1_010, has(7))).toEqual([left('bd', 1_000)]);
    expect(succession.due(2_000, has(7))).toEqual([]);
    expect(succession.nextMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('are told also if our own acceptor knows of nothing', () => {
    const succession = new Succession(10);
    succession.add(left('bd', 1_000));
    expect(succession.due(1_010, hasNothing)).toEqual([left('bd', 1_000)]);
  });

  it('are told nothing, if somebody has had it since', () => {
    const succession = new Succession(10);
    succession.add(left('bd', 1_000));
    expect(succession.due(1_010, has(8))).toEqual([]);
    expect(succession.due(2_000, has(7))).toEqual([]);
  });

  it('are told nothing of one line, if there is another since', () => {
    const succession = new Succession(10);
    succession.add(left('bd', 1_000));
    succession.add(left('d', 2_000));
    expect(succession.due(1_500, has(7))).toEqual([]);
    expect(succession.due(2_010, has(7))).toEqual([left('d', 2_000)]);
  });

  it('are forgotten with everything else', () => {
    const succession = new Succession(10);
    succession.add(left('bd', 1_000));
    succession.clear();
    expect(succession.due(5_000, has(7))).toEqual([]);
  });
});
