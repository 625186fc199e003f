import { describe, expect, it } from 'vitest';
import { simulation } from './simulation.ts';

describe('Managers on the directory of one machine, in simulated worlds', () => {
  it('keep the promises of the pool in one of them (npm run sim -- file-pool plays more)', async () => {
    expect(await simulation.run(1, { trace: false })).toMatchObject({ seed: 1, broken: undefined });
  });

  it('go the same way twice from the same seed, with a trace and without', async () => {
    const one = await simulation.run(5, { trace: true });
    expect(one.trace?.length).toBeGreaterThan(20);
    expect(await simulation.run(5, { trace: false })).toEqual({ ...one, trace: undefined });
  });
});
