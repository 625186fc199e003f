import { describe, expect, it } from 'vitest';
import { WaiterWakeups } from './waiter-wakeups.ts';
import { Table } from './table.ts';

const left = (waiters: string, atMs: number) => ({ resource: 'job', number: 7, waiters: [...waiters], atMs });
const lease = { holder: 'a', incarnation: 1, untilMs: 1_000, state: 'left', successor: 'c' } as const;
const hasNothing = new Table();
const has = (number: number): Table => {
  const table = new Table();
  table.findOrAdd('job').lease = { ...lease, number };
  return table;
};

describe('members that waited behind a successor', () => {
  it('are told when anybody may have it, once', () => {
    const waiterWakeups = new WaiterWakeups(10);
    waiterWakeups.add(left('bd', 1_000));
    expect(waiterWakeups.due(999, has(7))).toEqual([]);
    expect(waiterWakeups.due(1_010, has(7))).toEqual([left('bd', 1_000)]);
    expect(waiterWakeups.due(2_000, has(7))).toEqual([]);
    expect(waiterWakeups.nextMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('are told also if our own acceptor knows of nothing', () => {
    const waiterWakeups = new WaiterWakeups(10);
    waiterWakeups.add(left('bd', 1_000));
    expect(waiterWakeups.due(1_010, hasNothing)).toEqual([left('bd', 1_000)]);
  });

  it('are told nothing, if somebody has had it since', () => {
    const waiterWakeups = new WaiterWakeups(10);
    waiterWakeups.add(left('bd', 1_000));
    expect(waiterWakeups.due(1_010, has(8))).toEqual([]);
    expect(waiterWakeups.due(2_000, has(7))).toEqual([]);
  });

  it('are told nothing of one line, if there is another since', () => {
    const waiterWakeups = new WaiterWakeups(10);
    waiterWakeups.add(left('bd', 1_000));
    waiterWakeups.add(left('d', 2_000));
    expect(waiterWakeups.due(1_500, has(7))).toEqual([]);
    expect(waiterWakeups.due(2_010, has(7))).toEqual([left('d', 2_000)]);
  });

  it('are forgotten with everything else', () => {
    const waiterWakeups = new WaiterWakeups(10);
    waiterWakeups.add(left('bd', 1_000));
    waiterWakeups.clear();
    expect(waiterWakeups.due(5_000, has(7))).toEqual([]);
  });
});
