import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../runtime/errors.ts';
import { Random } from './random.ts';

const seeds = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const draw = (random: Random, count = 20): number[] => Array.from({ length: count }, () => random.next());

describe('chance from a seed', () => {
  it('draws the same numbers from the same seed', () =>
    fc.assert(
      fc.property(seeds, (seed) => {
        expect(draw(new Random(seed))).toEqual(draw(new Random(seed)));
      }),
    ));

  it('does not depend on the machine or the version: these are the numbers of seed 1', () => {
    const random = new Random(1);
    expect(Array.from({ length: 4 }, () => random.integer(0, 999_999))).toMatchInlineSnapshot(`
      [
        80700,
        725314,
        349966,
        343545,
      ]
    `);
  });

  it('draws numbers that have nothing to do with each other from seeds that are neighbours', () => {
    // Of n fair numbers the mean lies within 4 / sqrt(12 n) of one half, but for 1 in 16,000.
    const n = 10_000;
    for (const nth of [0, 1, 2]) {
      let sum = 0;
      let rises = 0;
      let before = 0;
      for (let seed = 0; seed < n; seed++) {
        const drawn = draw(new Random(seed), nth + 1)[nth] as number;
        sum += drawn;
        if (drawn > before) rises += 1;
        before = drawn;
      }
      expect(Math.abs(sum / n - 0.5)).toBeLessThan(4 / Math.sqrt(12 * n));
      expect(Math.abs(rises / n - 0.5)).toBeLessThan(0.02);
    }
  });

  it('uses all 53 bits of the seed', () => {
    expect(new Random(1).next()).not.toBe(new Random(1 + 2 ** 32).next());
    expect(new Random(1).next()).not.toBe(new Random(1 + 2 ** 52).next());
  });

  it('refuses what is not a seed', () => {
    for (const seed of [-1, 0.5, Number.NaN, 2 ** 53])
      expect(() => new Random(seed)).toThrow(InvalidArgumentError);
  });

  it('is spread evenly', () => {
    const random = new Random(42);
    const buckets = new Array<number>(100).fill(0);
    const n = 1_000_000;
    for (let i = 0; i < n; i++) {
      const bucket = Math.floor(random.next() * 100);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    const chiSquare = buckets.reduce((sum, seen) => sum + (seen - n / 100) ** 2 / (n / 100), 0);
    expect(chiSquare).toBeLessThan(149); // 99 degrees of freedom: above this, 1 in 1,000.
  });
});

describe('a fork', () => {
  it('is the same whatever was drawn from its parent before', () =>
    fc.assert(
      fc.property(seeds, fc.nat(50), fc.string(), (seed, before, label) => {
        const parent = new Random(seed);
        draw(parent, before);
        expect(draw(parent.fork(label))).toEqual(draw(new Random(seed).fork(label)));
      }),
    ));

  it('does not disturb its parent', () =>
    fc.assert(
      fc.property(seeds, fc.string(), (seed, label) => {
        const parent = new Random(seed);
        draw(parent.fork(label));
        expect(draw(parent)).toEqual(draw(new Random(seed)));
      }),
    ));

  it('is like no other: not its parent, not a fork of another label, seed or depth', () =>
    fc.assert(
      fc.property(seeds, fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (seed, one, other) => {
        fc.pre(one !== other);
        const random = new Random(seed);
        const streams = [
          random,
          random.fork(''),
          random.fork(one),
          random.fork(other),
          random.fork(one).fork(other),
          random.fork(other).fork(one),
        ];
        expect(new Set(streams.map((stream) => draw(stream).join())).size).toBe(streams.length);
      }),
    ));
});

describe('many forks', () => {
  it('are all different', () => {
    const random = new Random(1);
    const first = Array.from({ length: 20_000 }, (_, i) => draw(random.fork(`part ${i}`), 2).join());
    expect(new Set(first).size).toBe(first.length);
  });
});

describe('the ways to draw', () => {
  it('stay in their bounds', () =>
    fc.assert(
      fc.property(seeds, fc.integer({ min: -1_000, max: 1_000 }), fc.nat(1_000), (seed, low, width) => {
        const random = new Random(seed);
        for (let i = 0; i < 20; i++) {
          const whole = random.integer(low, low + width);
          expect(Number.isInteger(whole) && whole >= low && whole <= low + width).toBe(true);
          const between = random.between(low, low + width);
          expect(between >= low && between <= low + width).toBe(true);
          expect(random.exponential(3)).toBeGreaterThanOrEqual(0);
        }
      }),
    ));

  it('reach both ends of a range of whole numbers', () => {
    const random = new Random(1);
    expect(new Set(Array.from({ length: 200 }, () => random.integer(3, 6)))).toEqual(new Set([3, 4, 5, 6]));
  });

  it('shuffle without losing anything, and leave the original alone', () =>
    fc.assert(
      fc.property(seeds, fc.array(fc.nat()), (seed, items) => {
        const before = items.slice();
        const shuffled = new Random(seed).shuffle(items);
        expect(items).toEqual(before);
        expect(shuffled.sort()).toEqual(before.sort());
      }),
    ));

  it('pick every item sooner or later, and refuse to pick from none', () => {
    const random = new Random(1);
    expect(new Set(Array.from({ length: 100 }, () => random.pick(['a', 'b', 'c']))).size).toBe(3);
    expect(() => random.pick([])).toThrow('nothing to pick from');
  });

  it('wait, when exponential, for the mean on average', () => {
    const random = new Random(7);
    let sum = 0;
    for (let i = 0; i < 100_000; i++) sum += random.exponential(250);
    expect(sum / 100_000).toBeGreaterThan(245);
    expect(sum / 100_000).toBeLessThan(255);
  });
});
