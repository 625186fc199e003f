import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { KeptResults, RESULT_BOUNDS } from './kept-results.ts';
import type { Answer } from './messages.ts';

const answer = (length = 1): Answer => ({ isError: false, bytes: new Uint8Array(length) });
const at = instant;

describe('the kept results of an object', () => {
  it('are found by caller and counter until they are confirmed', () => {
    const results = new KeptResults(0);
    const one = answer();
    results.keep('ann', 1, one, 7, at(0));
    expect(results.find('ann', 1)).toBe(one);
    expect(results.find('bob', 1)).toBeUndefined();
    results.confirm('ann', 1);
    expect(results.find('ann', 1)).toBeUndefined();
    expect(results.isEmpty).toBe(true);
    expect(results.isForgotten('ann', 1, 7)).toBe(false);
  });

  it('are dropped after a minute, and the caller is remembered with the highest counter', () => {
    const results = new KeptResults(0);
    for (const counter of [4, 9, 6]) results.keep('ann', counter, answer(), 7, at(counter));
    expect(results.dueAt).toBe(60_004);
    results.dropDue(at(60_008));
    expect(results.find('ann', 6)).toBeDefined();
    results.dropDue(at(60_009));
    expect(results.isEmpty).toBe(true);
    expect(results.isForgotten('ann', 9, 7)).toBe(true);
    expect(results.isForgotten('ann', 10, 7)).toBe(false);
    expect(results.isForgotten('bob', 1, 7)).toBe(false);
    expect(results.highestDropped).toBe(7);
  });

  it('are at most a thousand, of which the oldest go first', () => {
    const results = new KeptResults(0);
    for (let counter = 1; counter <= 1_001; counter += 1) results.keep('ann', counter, answer(), 7, at(0));
    expect(results.find('ann', 1)).toBeUndefined();
    expect(results.find('ann', 2)).toBeDefined();
    expect(results.isForgotten('ann', 1, 7)).toBe(true);
  });

  it('have at most 4 MiB together', () => {
    const results = new KeptResults(0);
    for (let counter = 1; counter <= 5; counter += 1)
      results.keep('ann', counter, answer(1_048_576), 7, at(0));
    expect(results.find('ann', 1)).toBeUndefined();
    expect(results.find('ann', 2)).toBeDefined();
  });

  it('of a 65th caller leave the lease number of the run when they are dropped', () => {
    const results = new KeptResults(0);
    for (let caller = 1; caller <= 64; caller += 1) results.keep(`c${caller}`, 1, answer(), 100, at(0));
    results.keep('late', 5, answer(), 7, at(0));
    results.dropDue(at(60_000));
    expect(results.isForgotten('late', 5, 7)).toBe(true);
    expect(results.isForgotten('late', 6, 7)).toBe(true); // Too much is forgotten, never too little.
    expect(results.isForgotten('late', 5, 8)).toBe(false);
  });

  it('move with what is remembered of dropped ones, and are kept on as long as was left', () => {
    const results = new KeptResults(3, { ...RESULT_BOUNDS, maxCallers: 1 });
    results.keep('ann', 1, answer(), 7, at(0));
    results.keep('bob', 1, answer(), 8, at(0));
    results.dropDue(at(60_000));
    results.keep('ann', 2, answer(), 9, at(60_000));
    const there = KeptResults.from(results.copy(at(100_000)), at(5_000_000));
    expect(there.find('ann', 2)).toBeDefined();
    expect(there.dueAt).toBe(5_020_000);
    expect(there.isForgotten('ann', 1, 9)).toBe(true);
    expect(there.isForgotten('bob', 1, 8)).toBe(true);
    expect(there.isForgotten('bob', 1, 9)).toBe(false);
    expect(there.highestDropped).toBe(8);
  });

  it('begin with the floor of what this owner remembers no more than a number of', () => {
    expect(new KeptResults(3).isForgotten('ann', 1, 3)).toBe(true);
    expect(new KeptResults(3).isForgotten('ann', 1, 4)).toBe(false);
  });
});
