import { describe, expect, it } from 'vitest';
import { Random } from '../../../sim/random.ts';
import { TrafficCounters } from './traffic-counters.ts';

describe('counters of traffic', () => {
  it('are exact while there are fewer objects than counters', () => {
    const counters = new TrafficCounters(4);
    counters.read(7);
    counters.read(7);
    counters.write(9);
    expect(counters.counts()).toEqual([
      { object: 7, reads: 2, writes: 0 },
      { object: 9, reads: 0, writes: 1 },
    ]);
  });

  it('keep every object with more than a counter’s share, and never count more than was seen', () => {
    const CAPACITY = 64;
    const counters = new TrafficCounters(CAPACITY);
    const random = new Random(3);
    const seen = new Map<number, number>();
    let weight = 0;
    for (let at = 0; at < 50_000; at += 1) {
      const isHeavy = random.chance(0.4);
      const object = isHeavy ? random.integer(0, 9) : random.integer(1_000, 2 ** 32 - 1);
      counters.read(object);
      weight += 1;
      seen.set(object, (seen.get(object) ?? 0) + 1);
    }
    const counted = new Map(counters.counts().map(({ object, reads }) => [object, reads]));
    for (const [object, reads] of seen) {
      if (reads > weight / CAPACITY) expect(counted.has(object)).toBe(true);
      expect(counted.get(object) ?? 0).toBeLessThanOrEqual(reads);
    }
    expect(counters.size).toBe(CAPACITY);
  });

  it('need no more memory for ten million keys than for as many as there are counters', () => {
    const counters = new TrafficCounters(1_024);
    for (let object = 0; object < 1_000_000; object += 1) counters.read((object * 2_654_435_761) >>> 0);
    expect(counters.size).toBe(1_024);
    expect(counters.counts().length).toBeLessThanOrEqual(1_024);
  });

  it('let old counts fade, and forget those that have faded', () => {
    const counters = new TrafficCounters(4);
    for (let at = 0; at < 8; at += 1) counters.read(1);
    counters.decay(0.5);
    counters.read(2);
    expect(counters.counts()).toEqual([
      { object: 1, reads: 4, writes: 0 },
      { object: 2, reads: 1, writes: 0 },
    ]);
    for (let at = 0; at < 20; at += 1) counters.decay(0.5);
    expect(counters.counts()).toEqual([]);
  });
});
