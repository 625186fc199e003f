import { describe, expect, it } from 'vitest';
import { simulation as logSimulation } from './log/index.ts';
import { simulation } from './simulation.ts';

describe('the quorum core in simulated worlds', () => {
  it('keeps its promises in four of them (npm run sim -- quorum plays more)', () => {
    for (let seed = 1; seed <= 4; seed += 1) {
      expect(simulation.run(seed, { trace: false })).toMatchObject({ seed, broken: undefined });
    }
  });

  it('keeps its promises in a world that once had no leader any more', () => {
    // One member had promised a ballot to a leader whose directory was lost; the only member that could be elected had never heard of that ballot.
    expect(logSimulation.run(3_997_184, { trace: false }).broken).toBeUndefined();
  });

  it('keeps its promises in a world in which a newcomer once never got the state', () => {
    // The leader forgot the snapshot on its way to the newcomer, and began again as of the same slot.
    expect(simulation.run(3_997_586, { trace: false }).broken).toBeUndefined();
  });

  it('plays out the same way twice from the same seed, traced or not', () => {
    const one = simulation.run(16, { trace: true });
    const two = simulation.run(16, { trace: true });
    expect(two).toEqual(one);
    expect(one.trace?.length).toBeGreaterThan(100);
    expect(simulation.run(16, { trace: false })).toEqual({ ...one, trace: undefined });
  });
});
