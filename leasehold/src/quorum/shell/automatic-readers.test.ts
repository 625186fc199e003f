import { describe, expect, it, vi } from 'vitest';
import { objectOf } from '../core/configuration.ts';
import { TestCell } from './testing/cells.ts';

const NAMES = ['a', 'b', 'c'];

describe('automatic readers', () => {
  it('are reported by every replica to the leader, and shown with the reason', async () => {
    await using cell = await TestCell.of(...NAMES);
    for (const name of NAMES) await cell.start(name, { readers: 'automatic', reportEveryMs: 300 });
    await cell.ready();
    const clients = await Promise.all(NAMES.map((name) => cell.connect(name)));
    const keys = Array.from({ length: 400 }, (_, at) => `key-${at}`);
    const { readers, placement } = await vi.waitUntil(
      async () => {
        for (const client of clients) await client.getMany(keys);
        const status = cell.replicas.get(cell.leader ?? '')?.status();
        const placing = status?.readers.placing;
        return placing?.worstLocalShare !== undefined && placing.silent.length === 0 ? status : undefined;
      },
      { timeout: 20_000 },
    );
    expect(readers).toMatchObject({ mode: 'automatic', slices: 256 });
    expect(readers.weight).toBeGreaterThan(0);
    expect(placement).toMatch(/^automatic: /);
    for (const { name } of readers.holders) expect(NAMES).toContain(name);
  });

  it('begin and end while the cell runs, and tables of an operator come between', async () => {
    await using cell = await TestCell.started(...NAMES);
    const client = await cell.connect();
    expect((await client.replicaStatus()).readers).toMatchObject({ mode: 'all', objects: 0 });
    await client.setReaders('automatic');
    await client.setReaders('automatic'); // Is in force, and stays.
    await client.setReaders({
      ...{ mode: 'changed', slices: undefined, weight: undefined },
      objects: new Map([[objectOf('pinned'), 1]]),
    });
    const { readers } = await client.replicaStatus();
    expect(readers).toMatchObject({ mode: 'automatic', objects: 1, weight: 1 });
    await client.put('pinned', 'x');
    expect((await client.get('pinned')).value).toEqual(new TextEncoder().encode('x'));
    await client.setReaders('leader');
    expect((await client.replicaStatus()).readers).toMatchObject({ mode: 'leader', objects: 0 });
    await expect(async () => client.setReaders('some' as 'all')).rejects.toThrow(
      "it must be 'all', 'leader' or 'automatic'",
    );
  });

  it('keep their tables over a restart and a change of leaders', async () => {
    await using cell = await TestCell.of(...NAMES);
    for (const name of NAMES) await cell.start(name, { readers: 'automatic', reportEveryMs: 60_000 });
    await cell.ready();
    const client = await cell.connect();
    await client.setReaders({
      ...{ mode: 'changed', slices: undefined, weight: 2.5 },
      objects: new Map([[7, 1]]),
    });
    const first = cell.leader as string;
    await cell.stop(first);
    await cell.serves(first, { reportEveryMs: 60_000 });
    await vi.waitUntil(
      () => [...cell.replicas.values()].every((each) => each.status().leader !== undefined),
      { timeout: 60_000 },
    );
    for (const replica of cell.replicas.values())
      await vi.waitUntil(
        () => replica.status().readers.objects === 1 && replica.status().readers.weight === 2.5,
        {
          timeout: 60_000,
        },
      );
  });
});
