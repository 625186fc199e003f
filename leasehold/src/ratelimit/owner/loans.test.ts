import { describe, expect, it } from 'vitest';
import { Loans } from './loans.ts';

// One token takes 10 ms to come back.
const MS = 10;

describe('tokens that are away', () => {
  it('keep the bucket from being full for as long as they are away', () => {
    const loans = new Loans();
    loans.add('ben', 1, 5, 500);
    expect([loans.fullAt(0, MS), loans.fullAt(400, MS)]).toEqual([50, 450]);
  });

  it('are replaced at the rate of the limit from the end of the loan on, not at once', () => {
    const loans = new Loans();
    loans.add('ben', 1, 5, 500);
    expect(loans.fullAt(510, MS)).toBe(550);
  });

  it('are replaced from the instant of the report on', () => {
    const loans = new Loans();
    loans.add('ben', 1, 5, 500);
    loans.report('ben', 2, [{ id: 1, tokens: 2 }], 100, MS);
    expect([loans.away, loans.fullAt(100, MS), loans.fullAt(300, MS)]).toEqual([2, 150, 320]);
  });

  it('stay away when a report is older than their batch, or is of another process', () => {
    const loans = new Loans();
    loans.add('ben', 7, 5, 500);
    loans.report('ben', 7, [], 0, MS);
    loans.report('cyd', 9, [], 0, MS);
    expect(loans.away).toBe(5);
  });

  it('are forgotten when the bucket can be full', () => {
    const loans = new Loans();
    loans.add('ben', 1, 5, 500);
    loans.fullAt(500, MS);
    expect([loans.isOver(540), loans.isOver(550)]).toEqual([false, true]);
  });
});
