import { describe, expect, it, vi } from 'vitest';
import { objectOf } from '../core/configuration.ts';
import { TestGroup } from './testing/groups.ts';

const NAMES = ['a', 'b', 'c'];

describe('automatic readers', () => {
  it('are reported by every replica to the leader, and shown with the reason', async () => {
    await using group = await TestGroup.of(...NAMES);
    for (const name of NAMES) await group.start(name, { readers: 'automatic', reportMs: 300 });
    await group.ready();
    const clients = NAMES.map((name) => group.connect(name));
    const keys = Array.from({ length: 400 }, (_, at) => `key-${at}`);
    const { readers, placement } = await vi.waitUntil(
      async () => {
        for (const client of clients) await client.gets(keys);
        const status = group.replicas.get(group.leader ?? '')?.status();
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

  it('begin and end while the group runs, and tables of an operator come between', async () => {
    await using group = await TestGroup.started(...NAMES);
    const client = group.connect();
    expect((await client.status()).readers).toMatchObject({ mode: 'all', objects: 0 });
    await client.place('automatic');
    await client.place('automatic'); // Is in force, and stays.
    await client.place({
      ...{ mode: 'changed', slices: undefined, weight: undefined },
      objects: new Map([[objectOf('pinned'), 1]]),
    });
    const { readers } = await client.status();
    expect(readers).toMatchObject({ mode: 'automatic', objects: 1, weight: 1 });
    await client.put('pinned', 'x');
    expect((await client.get('pinned')).value).toEqual(new TextEncoder().encode('x'));
    await client.place('leader');
    expect((await client.status()).readers).toMatchObject({ mode: 'leader', objects: 0 });
    await expect(async () => client.place('some' as 'all')).rejects.toThrow(
      "it must be 'all', 'leader' or 'automatic'",
    );
  });

  it('keep their tables over a restart and a change of leaders', async () => {
    await using group = await TestGroup.of(...NAMES);
    for (const name of NAMES) await group.start(name, { readers: 'automatic', reportMs: 60_000 });
    await group.ready();
    const client = group.connect();
    await client.place({
      ...{ mode: 'changed', slices: undefined, weight: 2.5 },
      objects: new Map([[7, 1]]),
    });
    const first = group.leader as string;
    await group.stop(first);
    await group.serves(first, { reportMs: 60_000 });
    await vi.waitUntil(() =>
      [...group.replicas.values()].every((each) => each.status().leader !== undefined),
    );
    for (const replica of group.replicas.values())
      await vi.waitUntil(
        () => replica.status().readers.objects === 1 && replica.status().readers.weight === 2.5,
        {
          timeout: 10_000,
        },
      );
  });
});
