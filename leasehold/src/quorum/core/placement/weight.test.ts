import { describe, expect, it } from 'vitest';
import { LOCAL_SHARE_WANTED, nextWeight, WEIGHT, worstShare } from './weight.ts';

describe('the weight of writes', () => {
  it('rises while every member reads locally more than is wanted, and falls when one does not', () => {
    expect(nextWeight(1, 0.97)).toBeGreaterThan(1);
    expect(nextWeight(1, 0.8)).toBeLessThan(1);
    expect(nextWeight(2, LOCAL_SHARE_WANTED)).toBe(2);
  });

  it('stays within its bounds, and as it is while nobody reads', () => {
    expect(nextWeight(WEIGHT.most, 1)).toBe(WEIGHT.most);
    expect(nextWeight(WEIGHT.least, 0)).toBe(WEIGHT.least);
    expect(nextWeight(3, undefined)).toBe(3);
  });

  it('is halved at most by a period in which a member read nothing locally', () => {
    expect(nextWeight(4, 0)).toBe(2);
  });

  it('goes by the member with the fewest local reads, and not by one that hardly reads', () => {
    const members = [
      { reads: 1_000, localReads: 950 },
      { reads: 1_000, localReads: 920 },
      { reads: 10, localReads: 0 },
    ];
    expect(worstShare(members)).toBe(0.92);
    expect(worstShare([{ reads: 0, localReads: 0 }])).toBeUndefined();
  });

  it('comes to rest where the share is what is wanted, although the effect is seen a period later', () => {
    const shareAt = (weight: number): number => 0.96 - 0.05 * Math.log(weight);
    let weight: number = WEIGHT.first;
    let seen = shareAt(weight);
    for (let period = 0; period < 60; period += 1) {
      const next = nextWeight(weight, seen);
      seen = shareAt(weight);
      weight = next;
    }
    expect(shareAt(weight)).toBeCloseTo(LOCAL_SHARE_WANTED, 3);
  });
});
