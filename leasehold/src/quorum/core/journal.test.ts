import { describe, expect, it } from 'vitest';
import { Journal, type Marks } from './journal.ts';

const MARKS: Marks = { promised: 0, chosen: 0, committed: 0, holdMs: 0, heard: new Map() };
const next = (journal: Journal, marks: Marks, isForced = false) => {
  const frame = journal.next(marks, { ballot: 0, upTo: 0 }, () => [], isForced);
  journal.synced();
  return frame;
};

describe('the count of frames with votes', () => {
  it('grows with entries and with promised ballots, which others may rely on', () => {
    const journal = new Journal(0, MARKS, 7);
    journal.touch(1);
    expect(next(journal, MARKS)?.votes).toBe(8);
    expect(next(journal, { ...MARKS, promised: 33 })?.votes).toBe(9);
    expect(journal.durableVotes).toBe(9);
  });

  it('does not grow with marks alone, or two idle members would tell each other of seals for ever', () => {
    const journal = new Journal(0, MARKS, 7);
    const marks = { ...MARKS, heard: new Map([['b', 4]]) };
    expect(journal.wantsSeal(marks)).toBe(true);
    expect(next(journal, marks, true)).toMatchObject({ votes: 7, heard: new Map([['b', 4]]) });
    expect(journal.wantsSeal(marks)).toBe(false);
  });

  it('is not durable before the sync', () => {
    const journal = new Journal(0, MARKS, 7);
    journal.touch(1);
    journal.next(MARKS, { ballot: 0, upTo: 0 }, () => [], false);
    expect(journal.durableVotes).toBe(7);
  });
});
