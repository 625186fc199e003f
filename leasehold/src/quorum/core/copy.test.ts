import { describe, expect, it } from 'vitest';
import { isComplete, reachedIn, takenOver } from './copy.ts';
import type { Entry } from './log.ts';
import { batch } from './operation.ts';

const entry = (ballot: number): Entry => ({ ballot, operation: batch([]) });

describe('the state that a copy takes over', () => {
  it('is the highest ballot, how far those that promised it have come, and the longest hold', () => {
    const answers = [
      { promised: 33, reached: 90, holdMs: 700 },
      { promised: 65, reached: 7, holdMs: 100 },
      { promised: 65, reached: 8, holdMs: 200 },
    ];
    expect(takenOver(answers)).toEqual({ promised: 65, reached: 8, holdMs: 700 });
    expect(takenOver(answers.toReversed())).toEqual({ promised: 65, reached: 8, holdMs: 700 });
  });

  it('ignores entries of an older ballot, which nobody may ever choose', () => {
    const entries = [entry(1), entry(33), entry(1), undefined, entry(1)];
    const reached = (promised: number, chosen: number) =>
      reachedIn(promised, chosen, 5, (slot) => entries[slot - 1]);
    expect(reached(33, 0)).toBe(2);
    expect(reached(33, 4)).toBe(4);
    expect(reached(65, 1)).toBe(1);
  });
});

describe('a copy', () => {
  const copy = { promised: 33, reached: 8, holdMs: 0 };

  it('is complete in the ballot that goes on when it has what others accepted there', () => {
    expect(isComplete(copy, { ballot: 33, merged: 3, synced: 7 })).toBe(false);
    expect(isComplete(copy, { ballot: 33, merged: 3, synced: 8 })).toBe(true);
  });

  it('is complete in a later ballot when it has what that leader began with, which may be less', () => {
    expect(isComplete(copy, { ballot: 34, merged: 6, synced: 5 })).toBe(false);
    expect(isComplete(copy, { ballot: 34, merged: 6, synced: 6 })).toBe(true);
  });

  it('is not complete in an earlier ballot, nor before it follows anybody', () => {
    expect(isComplete(copy, { ballot: 32, merged: 0, synced: 99 })).toBe(false);
    expect(isComplete({ ...copy, promised: 0 }, { ballot: 0, merged: 0, synced: 99 })).toBe(false);
  });
});
