import { describe, expect, it } from 'vitest';
import { simulation } from './simulation.ts';

describe('the quorum core in simulated worlds', () => {
  it('keeps its promises in four of them (npm run sim -- quorum plays more)', () => {
    for (let seed = 1; seed <= 4; seed += 1) {
      expect(simulation.run(seed, { trace: false })).toMatchObject({ seed, broken: undefined });
    }
  }, 60_000);

  it('plays out the same way twice from the same seed, traced or not', () => {
    const one = simulation.run(16, { trace: true });
    const two = simulation.run(16, { trace: true });
    expect(two).toEqual(one);
    expect(one.trace?.length).toBeGreaterThan(100);
    expect(simulation.run(16, { trace: false })).toEqual({ ...one, trace: undefined });
  }, 60_000);
});
