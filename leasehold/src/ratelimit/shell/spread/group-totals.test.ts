import { describe, expect, it } from 'vitest';
import { lastNumber } from './group-totals.ts';

describe("a member's number in a total", () => {
  it('is the last one that could be added, while the function throws or gives none', () => {
    const given: (number | Error)[] = [7, new Error('no database'), Number.NaN, 1e308, 8, new Error('again')];
    const failed: string[] = [];
    const own = lastNumber(
      () => {
        const next = given.shift() ?? 0;
        if (next instanceof Error) throw next;
        return next;
      },
      (why) => failed.push(why),
    );
    expect(Array.from({ length: 6 }, own)).toEqual([7, 7, 7, 7, 8, 8]);
    expect(failed).toEqual(['no database', 'again']);
  });
});
