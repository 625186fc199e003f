import { describe, expect, it } from 'vitest';
import { Layout } from './layout.ts';

const layout = new Layout('/p/');
const isIn = (key: string, range: { readonly key: string; readonly end: string }): boolean =>
  key >= range.key && key < range.end;

describe('the keys of a log', () => {
  it('are in the order of their positions', () => {
    const positions = [0, 1, 9, 10, 255, 4_096, 2 ** 32, Number.MAX_SAFE_INTEGER];
    const keys = positions.map((position) => layout.batch(position));
    expect(keys.toSorted()).toEqual(keys);
    expect(keys.map((key) => layout.positionOf(key))).toEqual(positions);
  });

  it('are not mistaken for others', () => {
    for (const key of ['/p/log/1', '/p/log/00000000000000zz', '/p/meta', '/q/log/0000000000000001'])
      expect(layout.positionOf(key)).toBeUndefined();
  });

  it('are divided by a position: up to it, and after it', () => {
    const keys = [1, 2, 3].map((position) => layout.batch(position));
    expect(keys.map((key) => isIn(key, layout.batchesUpTo(2)))).toEqual([true, true, false]);
    expect(keys.map((key) => isIn(key, layout.batchesAfter(2)))).toEqual([false, false, true]);
    expect(isIn(layout.meta, layout.batchesAfter(2))).toBe(false);
  });

  it('have the pieces of a snapshot together, and those of earlier ones before them', () => {
    expect([0, 1, 2].map((place) => isIn(layout.chunk(7, place), layout.chunks(7, 2)))).toEqual([
      true,
      true,
      false,
    ]);
    expect(isIn(layout.chunk(6, 65_535), layout.chunksBefore(7))).toBe(true);
    expect(isIn(layout.chunk(7, 0), layout.chunksBefore(7))).toBe(false);
    expect(isIn(layout.snapshot, layout.chunksBefore(7))).toBe(false);
  });

  it('are all under the prefix; the log and meta are seen by one watch, and nothing large is', () => {
    const { meta, leader, head, snapshot } = layout;
    const all = [meta, leader, head, snapshot, layout.batch(1), layout.chunk(1, 0)];
    expect(all.every((key) => isIn(key, layout.all))).toBe(true);
    expect(all.filter((key) => isIn(key, layout.watched))).toEqual([meta, layout.batch(1)]);
    expect(isIn('/p0', layout.all)).toBe(false);
  });
});
