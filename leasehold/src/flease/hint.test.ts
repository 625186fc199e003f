import { describe, expect, it } from 'vitest';
import { Hint } from './hint.ts';

const PAUSE_MS = 10;

describe('a word that a lease may be had', () => {
  it('is looked into at once the first time', () => {
    const hint = new Hint(false, 1_000);
    hint.said(1_000, PAUSE_MS);
    expect([hint.isOpen, hint.atMs]).toEqual([true, 1_000]);
  });

  it('changes nothing until it has been looked into', () => {
    const hint = new Hint(false, 1_000);
    hint.said(1_000, PAUSE_MS);
    hint.said(1_005, PAUSE_MS);
    expect(hint.atMs).toBe(1_000);
    hint.lookedInto();
    expect(hint.isOpen).toBe(false);
  });

  it('is looked into after a pause when it is said again, twice as long each time, up to sixteen times', () => {
    const hint = new Hint(false, 1_000);
    const pauses = Array.from({ length: 8 }, () => {
      const beforeMs = hint.atMs;
      hint.said(beforeMs, PAUSE_MS);
      hint.lookedInto();
      return hint.atMs - beforeMs;
    });
    expect(pauses).toEqual([0, 10, 20, 40, 80, 160, 160, 160]);
  });

  it('is looked into at once again if the pause is over by then', () => {
    const hint = new Hint(false, 1_000);
    hint.said(1_000, PAUSE_MS);
    hint.lookedInto();
    hint.said(1_500, PAUSE_MS);
    expect(hint.atMs).toBe(1_500);
  });
});
