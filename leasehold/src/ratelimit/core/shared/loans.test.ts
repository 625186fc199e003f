import { describe, expect, it } from 'vitest';
import { resolveRate } from '../local/rate.ts';
import type { Right } from './directory.ts';
import { Loans } from './loans.ts';

// One token takes 10 ms to come back.
const rate = resolveRate({ limit: 100, burst: 20 });
const at = (ms: number, share = 1, cuts: Right['cuts'] = []): Right => ({
  ...{ at: ms, since: -1e6, isOpen: true, share, cuts },
});

describe('tokens that are away', () => {
  it('keep the bucket from being full for as long as they are away', () => {
    const loans = new Loans();
    loans.add('ben', 1, 5, 500);
    expect([loans.fullAt(rate, at(0)), loans.fullAt(rate, at(400))]).toEqual([50, 450]);
  });

  it('are replaced at the rate of the limit from the end of the loan on, not at once', () => {
    const loans = new Loans();
    loans.add('ben', 1, 5, 500);
    expect(loans.fullAt(rate, at(510))).toBe(550);
  });

  it('are replaced from the instant of the report on', () => {
    const loans = new Loans();
    loans.add('ben', 1, 5, 500);
    loans.report('ben', 2, [{ id: 1, tokens: 2 }], rate, at(100));
    expect([loans.away, loans.fullAt(rate, at(100)), loans.fullAt(rate, at(300))]).toEqual([2, 150, 320]);
  });

  it('stay away when a report is older than their batch, or is of another process', () => {
    const loans = new Loans();
    loans.add('ben', 7, 5, 500);
    loans.report('ben', 7, [], rate, at(0));
    loans.report('cyd', 9, [], rate, at(0));
    expect(loans.away).toBe(5);
  });

  it('are forgotten when the bucket can be full', () => {
    const loans = new Loans();
    loans.add('ben', 1, 5, 500);
    loans.fullAt(rate, at(500));
    expect([loans.isOver(540, 0), loans.isOver(550, 0)]).toEqual([false, true]);
  });

  it('are missing beside the reserve of a part of the limit', () => {
    const loans = new Loans();
    loans.add('ben', 1, 5, 500);
    // Half of the burst of 20 is reserved, and 5 tokens are away: 15 tokens are missing.
    expect(loans.fullAt(rate, at(0, 0.5))).toBe(150);
    loans.fullAt(rate, at(500, 0.5));
    expect([loans.isOver(560, 0), loans.isOver(560, 100)]).toEqual([false, true]);
  });

  it('are not forgotten before they are replaced, though nobody looked when their loan ended', () => {
    const loans = new Loans();
    loans.fullAt(rate, at(0));
    loans.add('ben', 1, 5, 500);
    expect([loans.isOver(499, 0), loans.isOver(510, 0), loans.isOver(550, 0)]).toEqual([false, false, true]);
  });

  it('were missing beside the reserve at a cut that nobody looked at', () => {
    const loans = new Loans();
    loans.add('ben', 1, 5, 500);
    loans.fullAt(rate, at(0));
    expect(loans.fullAt(rate, at(300, 1, [{ share: 0.25, at: 200 }]))).toBe(200 + 15 * 10 + 5 * 10);
  });
});
