import { describe, expect, it } from 'vitest';
import { OncePerTurn } from './turn.ts';

/** Turns end when the test ends them. */
function bench() {
  const ends: (() => void)[] = [];
  const endTurn = (): void => {
    for (const end of ends.splice(0)) end();
  };
  return { ends, endTurn, atEndOfTurn: (callback: () => void): void => void ends.push(callback) };
}

describe('work of a turn', () => {
  it('is done once, at the end of the turn, and again in the next turn that wants it', () => {
    const { endTurn, atEndOfTurn } = bench();
    let acts = 0;
    const work = new OncePerTurn(atEndOfTurn, () => {
      acts += 1;
    });
    for (const expected of [1, 2]) {
      work.soon();
      work.soon();
      expect(acts).toBe(expected - 1);
      endTurn();
      expect(acts).toBe(expected);
      endTurn();
      expect(acts).toBe(expected);
    }
  });

  it('waits for another turn if the work itself asks for more', () => {
    const { ends, endTurn, atEndOfTurn } = bench();
    const work: OncePerTurn = new OncePerTurn(atEndOfTurn, () => work.soon());
    work.soon();
    endTurn();
    expect(ends).toHaveLength(1);
  });

  it('is wanted again after an error of the work', () => {
    const { endTurn, atEndOfTurn } = bench();
    let acts = 0;
    const work = new OncePerTurn(atEndOfTurn, () => {
      acts += 1;
      throw new Error('this work failed');
    });
    work.soon();
    expect(endTurn).toThrow('this work failed');
    work.soon();
    expect(endTurn).toThrow('this work failed');
    expect(acts).toBe(2);
  });
});
