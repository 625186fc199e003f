import { describe, expect, it } from 'vitest';
import { simulation } from './simulation.ts';

describe('the file log on a simulated disk', () => {
  it('keeps its promises in ten worlds (npm run sim -- file-log plays more)', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      expect(await simulation.run(seed, { trace: false })).toMatchObject({ seed, broken: undefined });
    }
  });

  it('goes the same way twice from the same seed, told or untold', async () => {
    const one = await simulation.run(7, { trace: true });
    const two = await simulation.run(7, { trace: true });
    expect(two).toEqual(one);
    expect(one.trace?.length).toBeGreaterThan(100);
    expect(await simulation.run(7, { trace: false })).toEqual({ ...one, trace: undefined });
  });
});
