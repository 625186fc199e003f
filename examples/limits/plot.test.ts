import { describe, expect, it } from 'vitest';
import { closing } from './demo.ts';
import { plotLine } from './plot.ts';

const line = (admitted: readonly number[], event = ''): string =>
  plotLine({ second: 7, admitted, limit: 100, event });

describe('a second of the demonstration of limits', () => {
  it('is a bar that ends at the limit when the limit is used', () => {
    expect(line([50, 50])).toBe(`  7 s ${'█'.repeat(25)}${'▓'.repeat(25)}│   100`);
  });

  it('goes beyond the limit when more was admitted, and says what happened', () => {
    expect(line([100, 20], 'cut')).toBe(`  7 s ${'█'.repeat(50)}│${'▓'.repeat(10)}   120  cut`);
  });

  it('is empty when nothing was admitted', () => {
    expect(line([0, 0])).toBe(`  7 s ${' '.repeat(50)}│     0`);
  });
});

describe('the end of the demonstration of limits', () => {
  it('says how much of the limit was used, and the most of a second beside what is promised', () => {
    const [, first] = closing([
      [250, 250, 250, 250],
      [500, 0, 300, 0],
    ]);
    expect(first).toMatch(/^Used 90 % of the limit; at most 1000 in one second\. Promised: at most 1300 /);
  });
});
