import { describe, expect, it } from 'vitest';
import { Ranked } from './ranked.ts';

describe('ranked items', () => {
  it('are taken from the most to the least worth, up to a factor of two', () => {
    const ranked = new Ranked<number>();
    const worths = Array.from({ length: 1_000 }, (_, at) => ((at * 619) % 1_000) / 7);
    for (const worth of worths) ranked.add(worth, worth);
    const taken = worths.map(() => ranked.takeMost() as number);
    expect(ranked.size).toBe(0);
    expect(ranked.takeMost()).toBeUndefined();
    expect([...taken].sort((a, b) => a - b)).toEqual([...worths].sort((a, b) => a - b));
    taken
      .slice(1)
      .forEach((worth, at) => expect(worth).toBeLessThan(Math.max(2 ** -15, 2 * (taken[at] as number))));
  });

  it('give way only to what is worth clearly more', () => {
    const ranked = new Ranked<string>();
    ranked.add(8, 'eight');
    ranked.add(100, 'hundred');
    expect(ranked.takeBelow(9)).toBeUndefined();
    expect(ranked.takeBelow(40)).toBe('eight');
    expect(ranked.takeBelow(40)).toBeUndefined();
  });

  it('rank below all others when their worth is no number or negative, and above all when it is infinite', () => {
    const ranked = new Ranked<string>();
    ranked.add(Number.POSITIVE_INFINITY, 'infinite');
    ranked.add(Number.NaN, 'none');
    ranked.add(-5, 'negative');
    ranked.add(1, 'one');
    expect([1, 2, 3, 4].map(() => ranked.takeMost())).toEqual(['infinite', 'one', 'negative', 'none']);
  });
});
