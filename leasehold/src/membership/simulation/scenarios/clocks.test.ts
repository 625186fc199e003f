/** Clocks at the bound, and beyond the bound. */

import { describe, expect, it } from 'vitest';
import { allAct, msUntil, quietGroup, run, startedGroup, viewsDelivered, viewsOf } from './quiet-group.ts';

const ALL = 's1 s2 s3 s4';

describe('the clocks of a group', () => {
  it.each([1.4, 1 / 1.4])(
    'clock-outside-the-bound: a server whose clock runs at %d is found out, and goes on alone',
    (rate) => {
      const group = startedGroup(4, { rates: [1, 1, rate, 1] });
      const isApart = (): boolean => viewsOf(group).join() === 's1 s2 s4,s3' && allAct(group);
      expect(msUntil(group, isApart, 40_000)).toBeLessThan(30_000);
      // For good: every time that the conflict would end, the next one begins.
      run(group, 60_000);
      expect(viewsOf(group)).toEqual(['s1 s2 s4', 's3']);
      expect(allAct(group)).toBe(true);
    },
  );

  it.each([1.2, 1 / 1.2])('a clock at the bound, %d, changes no view', (rate) => {
    const group = quietGroup(4, { rates: [1, 1, rate, 1] });
    const before = viewsDelivered(group);
    run(group, 90_000);
    expect(viewsOf(group)).toEqual([ALL]);
    expect(viewsDelivered(group)).toBe(before);
  });
});
