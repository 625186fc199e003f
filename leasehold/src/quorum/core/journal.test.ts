import { describe, expect, it } from 'vitest';
import { Journal, type Marks } from './journal.ts';
import { batch } from './operation.ts';

const MARKS: Marks = { promised: 0, chosen: 0, committed: 0, holdMs: 0, heard: new Map() };
const logTo = (last: number, base = 0) => ({
  base,
  from: (first: number) =>
    Array.from({ length: Math.max(0, last - first + 1) }, () => ({ ballot: 33, operation: batch([]) })),
});
const next = (journal: Journal, marks: Marks, isForced = false) => {
  const frame = journal.next(marks, { ballot: 0, upTo: 0 }, logTo(0), isForced);
  journal.synced();
  return frame;
};

describe('a frame with which a snapshot begins', () => {
  it('has the entries up to the snapshot that were never written: the snapshot may never be finished', () => {
    const journal = new Journal(4, MARKS, 7);
    journal.touch(5);
    journal.rebase(6);
    const frame = journal.next(MARKS, { ballot: 0, upTo: 0 }, logTo(7), false);
    expect(frame).toMatchObject({ base: 6, first: 5, entries: { length: 3 } });
  });

  it('has nothing but later entries if the snapshot is durable already', () => {
    const journal = new Journal(4, MARKS, 7);
    journal.touch(5);
    journal.rebase(6);
    const frame = journal.next(MARKS, { ballot: 0, upTo: 0 }, logTo(7, 6), false);
    expect(frame).toMatchObject({ base: 6, first: 7, entries: { length: 1 } });
  });
});

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
    journal.next(MARKS, { ballot: 0, upTo: 0 }, logTo(0), false);
    expect(journal.durableVotes).toBe(7);
  });
});
