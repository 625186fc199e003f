import { describe, expect, it } from 'vitest';
import { simulation } from './simulation.ts';

describe('flease in simulated worlds', () => {
  it('keeps its promises in four of them (npm run sim -- flease plays more)', () => {
    for (let seed = 1; seed <= 4; seed++) {
      expect(simulation.run(seed, { trace: false })).toMatchObject({ seed, broken: undefined });
    }
  });

  it('goes the same way twice from the same seed, told or untold', () => {
    const one = simulation.run(7, { trace: true });
    const two = simulation.run(7, { trace: true });
    expect(two).toEqual(one);
    expect(one.trace?.length).toBeGreaterThan(100);
    expect(simulation.run(7, { trace: false })).toEqual({ ...one, trace: undefined });
  });
});
