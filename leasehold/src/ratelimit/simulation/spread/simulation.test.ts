import { describe, expect, it } from 'vitest';
import { simulation } from './simulation.ts';

describe('spread limits in simulated worlds', () => {
  it('keep their promises in four of them (npm run sim -- spread plays more)', () => {
    for (let seed = 1; seed <= 4; seed++) {
      expect(simulation.run(seed, { trace: false })).toMatchObject({ seed, broken: undefined });
    }
  });

  it('go the same way twice from the same seed, with a trace and without', () => {
    const one = simulation.run(5, { trace: true });
    expect(simulation.run(5, { trace: true })).toEqual(one);
    expect(simulation.run(5, { trace: false })).toEqual({ ...one, trace: undefined });
  });
});
