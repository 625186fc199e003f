import { describe, expect, it } from 'vitest';
import { simulation } from './simulation.ts';

describe('calls on objects in simulated worlds', () => {
  it('keep their promises in six of them (npm run sim -- objects plays more)', () => {
    for (let seed = 1; seed <= 6; seed++) {
      expect(simulation.run(seed, { trace: false })).toMatchObject({ seed, broken: undefined });
    }
  });

  it('go the same way twice from the same seed, with a trace and without', () => {
    const one = simulation.run(7, { trace: true });
    expect(simulation.run(7, { trace: true })).toEqual(one);
    expect(simulation.run(7, { trace: false })).toEqual({ ...one, trace: undefined });
  });
});
