import { describe, expect, it } from 'vitest';
import { simulation } from './simulation.ts';

describe('the log on a simulated etcd', () => {
  it('keeps its promises in ten worlds (npm run sim -- etcd-log plays more)', () => {
    for (let seed = 1; seed <= 10; seed++) {
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

  it('has a mutant for every promise', () => {
    const unproved = simulation.promises.filter(
      (promise) => !simulation.mutants.some((mutant) => mutant.promise === promise),
    );
    expect(unproved).toEqual([]);
  });
});
