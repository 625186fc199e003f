import { describe, expect, it } from 'vitest';
import { instant } from '../../../runtime/time.ts';
import { resolveRate } from '../local/rate.ts';
import { LevelBucket } from './level-bucket.ts';
import { Level } from './level.ts';

const now = instant(1_000);
const promised = instant(2_000);
const base = { acts: false, takesPart: false, isInView: false, credits: 1, promisesEndAt: promised };

describe('the level of a member', () => {
  it('is 0 in a new process until it acts, or until the promises of the process before have run out', () => {
    const level = new Level();
    expect(level.at({ ...base, isInView: true }, now)).toBe(0);
    expect(level.at(base, promised)).toBe(1);
  });

  it('is its credits while it acts and takes part, and at most 1 from the instant at which it does not act', () => {
    const level = new Level();
    const credits = 2.5;
    expect(level.at({ ...base, acts: true, takesPart: true, isInView: true, credits }, now)).toBe(2.5);
    expect(level.at({ ...base, takesPart: true, isInView: true, credits }, now)).toBe(1);
    expect(level.at({ ...base, credits }, now)).toBe(1);
  });

  it('is at most 1 while it acts and has not heard from all', () => {
    expect(new Level().at({ ...base, acts: true, isInView: true, credits: 2.5 }, now)).toBe(1);
    expect(new Level().at({ ...base, acts: true, isInView: true, credits: 0.2 }, now)).toBe(0.2);
  });

  it('falls to the credits of a view as soon as the view is delivered', () => {
    const level = new Level();
    expect(level.at({ ...base, credits: 0.2 }, promised)).toBe(1);
    expect(level.at({ ...base, isInView: true, credits: 0.2 }, promised)).toBe(0.2);
  });
});

describe('the bucket of a member', () => {
  const rate = resolveRate({ limit: 1_000, burst: 100 });

  it('is empty at first, and fills by the lower of two levels between two readings', () => {
    const bucket = new LevelBucket(rate, 0);
    bucket.settle(4, 4, 50);
    expect(bucket.tokens).toBe(0);
    bucket.settle(4, 4, 60);
    expect(bucket.tokens).toBeCloseTo(10);
    bucket.settle(1, 4, 100);
    expect(bucket.tokens).toBeCloseTo(20);
  });

  it('is cut to the part of the burst that its level is worth', () => {
    const bucket = new LevelBucket(rate, 0);
    bucket.settle(4, 4, 0);
    bucket.settle(4, 4, 1_000);
    expect(bucket.tokens).toBe(97);
    bucket.settle(1, 4, 1_000);
    expect(bucket.tokens).toBe(25);
    expect([bucket.take(26), bucket.take(25)]).toEqual([false, true]);
    bucket.refund(100, 4);
    expect(bucket.tokens).toBe(25);
  });
});
