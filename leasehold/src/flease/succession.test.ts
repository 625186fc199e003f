import { describe, expect, it } from 'vitest';
import { Succession } from './succession.ts';

const left = (line: string, atMs: number) => ({ resource: 'job', line: [...line], atMs });

describe('those who waited behind an heir', () => {
  it('are told when anybody may have it, once', () => {
    const succession = new Succession(10);
    succession.add(left('bd', 1_000));
    expect(succession.due(999)).toEqual([]);
    expect(succession.due(1_010)).toEqual([left('bd', 1_000)]);
    expect(succession.due(2_000)).toEqual([]);
    expect(succession.nextMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('are told nothing of one line, if there is another since', () => {
    const succession = new Succession(10);
    succession.add(left('bd', 1_000));
    succession.add(left('d', 2_000));
    expect(succession.due(1_500)).toEqual([]);
    expect(succession.due(2_010)).toEqual([left('d', 2_000)]);
  });

  it('are forgotten with everything else', () => {
    const succession = new Succession(10);
    succession.add(left('bd', 1_000));
    succession.clear();
    expect(succession.due(5_000)).toEqual([]);
  });
});
