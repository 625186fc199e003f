import { describe, expect, it } from 'vitest';
import { ShardHolder, ShardOwners, shardOf, SHARDS_MAX } from './shards.ts';

const namesOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `server-${index}`);
const COUNT = 64;
const VIEW_ID = '00000003o.0000000007b.0011';

describe('the owners of shards', () => {
  it('have even numbers of them, within one', () => {
    for (let size = 1; size <= 12; size += 1) {
      const owners = new ShardOwners(namesOf(size), COUNT);
      const counts = namesOf(size).map((name) => owners.of(name).length);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(COUNT);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }
    expect(new ShardOwners(['a', 'b', 'c'], 2).of('a').length).toBeLessThanOrEqual(1);
  });

  it('keep most of theirs when a server comes or goes: of 64 at most 4 move beside the fewest', () => {
    for (let size = 2; size <= 12; size += 1) {
      const [fewer, more] = [
        new ShardOwners(namesOf(size - 1), COUNT),
        new ShardOwners(namesOf(size), COUNT),
      ];
      const shards = Array.from({ length: COUNT }, (_, shard) => shard);
      const moved = shards.filter((shard) => fewer.ownerOf(shard) !== more.ownerOf(shard)).length;
      expect(moved - Math.floor(COUNT / size)).toBeLessThanOrEqual(4);
    }
  });

  it('are different ones for a name with braces', () => {
    const owners = new ShardOwners(['{a}1', '{a}2'], COUNT);
    expect(owners.of('{a}1')).toHaveLength(COUNT / 2);
  });
});

describe('a server', () => {
  const view = { id: VIEW_ID, members: ['a', 'b', 'c'] };

  it('holds its shards while it acts, and nothing while it continues or has no standing', () => {
    const holder = new ShardHolder('a', COUNT, 5);
    const { shards, number } = holder.held({ standing: 'acts', view });
    expect([[...shards], number]).toEqual([new ShardOwners(view.members, COUNT).of('a'), 132]);
    for (const standing of ['continues', 'none'] as const)
      expect(holder.held({ standing, view }).shards.size).toBe(0);
    expect(holder.held({ standing: 'acts', view: undefined }).shards.size).toBe(0);
  });

  it('holds nothing without more than half of the servers that there can be, nor with more of them', () => {
    const sizes = [2, 3, 5, 6].map(
      (max) => new ShardHolder('a', COUNT, max).held({ standing: 'acts', view }).shards.size,
    );
    expect(sizes.map((size) => size > 0)).toEqual([false, true, true, false]);
    expect(
      new ShardHolder('a', COUNT, undefined).held({ standing: 'acts', view }).shards.size,
    ).toBeGreaterThan(0);
  });
});

it('a key has one shard, below the number of shards', () => {
  const shards = new Set(Array.from({ length: 1_000 }, (_, index) => shardOf(`key ${index}`, COUNT)));
  expect([shards.size, Math.max(...shards) < COUNT, shardOf('x', SHARDS_MAX)]).toEqual([
    COUNT,
    true,
    shardOf('x', SHARDS_MAX),
  ]);
});
