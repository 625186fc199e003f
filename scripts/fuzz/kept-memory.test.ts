import { describe, expect, it } from 'vitest';
import { GROWTH_BYTES_MAX, KeptMemory } from './kept-memory.mjs';

const INPUTS = 300_000;

/** Reads so many inputs, and keeps each of them, or none. */
function growth(keeps: boolean): number {
  const memory = new KeptMemory();
  const kept: { input: number }[] = [];
  memory.warm();
  for (let input = 0; input < INPUTS; input += 1) {
    const read = { input };
    if (keeps) kept.push(read);
  }
  const bytes = memory.growthBytes() ?? Number.NaN;
  expect(kept).toHaveLength(keeps ? INPUTS : 0);
  return bytes;
}

describe('the memory that is kept', () => {
  it('grows beyond the bound when a decoder keeps one small object for each input', () => {
    expect(growth(true)).toBeGreaterThan(GROWTH_BYTES_MAX);
  });

  it('stays within the bound when every input is forgotten', () => {
    expect(growth(false)).toBeLessThan(GROWTH_BYTES_MAX);
  });

  it('is not known before everything was warm', () => {
    expect(new KeptMemory().growthBytes()).toBeUndefined();
  });
});
