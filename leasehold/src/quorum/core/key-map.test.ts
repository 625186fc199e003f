import { describe, expect, it } from 'vitest';
import { KeyMap } from './key-map.ts';

describe('a map by keys', () => {
  it('finds, replaces, counts and deletes as a Map does', () => {
    const [map, plain] = [new KeyMap<number>(), new Map<string, number>()];
    for (let at = 0; at < 100_000; at += 1) {
      const key = at < 5_000 ? `${(at * 7_919) % 1_500}`.repeat(1 + (at % 4)) : `k${at % 80_000}`;
      if (at % 5 === 0) {
        map.delete(key);
        plain.delete(key);
      } else {
        map.set(key, at);
        plain.set(key, at);
      }
      if (at % 17 === 0) expect([map.get(key), map.size]).toEqual([plain.get(key), plain.size]);
    }
    for (const [key, value] of plain) if (map.get(key) !== value) expect.unreachable(key);
    expect([...map.keys()].sort()).toEqual([...plain.keys()].sort());
    expect(map.get('')).toBeUndefined();
  });

  it.each([1_000, 65_000, 80_000])(
    'gives every one of %d keys that stay once, while others come and go between two steps',
    (keys) => {
      const map = new KeyMap<number>();
      const staying = Array.from({ length: keys }, (_, at) => `stays/${at}`);
      for (const key of staying) map.set(key, 0);
      const given: string[] = [];
      let steps = 0;
      for (const key of map.keys()) {
        given.push(key);
        steps += 1;
        if (steps < 3_000) map.set(`comes/${steps}`, 1);
        map.delete(`comes/${steps - 5}`);
      }
      expect(given.filter((key) => key.startsWith('stays/')).sort()).toEqual(staying.toSorted());
    },
  );

  it.each([
    ['numbers at the end', (at: number) => `large/${at}`],
    ['numbers in the middle', (at: number) => `user/${at}/profile`],
    ['numbers at the beginning', (at: number) => `${at}:session:of:a:user`],
    ['hexadecimal digits', (at: number) => Math.imul(at, 0x9e3779b1).toString(16)],
  ])('spreads keys with %s, so that no shard grows with all of them', (_, keyOf) => {
    const map = new KeyMap<number>();
    const keys = 80_000;
    for (let at = 0; at < keys; at += 1) map.set(keyOf(at), at);
    expect(map.largestShard).toBeLessThan((3 * keys) / 64);
  });
});
