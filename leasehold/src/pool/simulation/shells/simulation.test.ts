import { describe, expect, it } from 'vitest';
import { simulation } from './simulation.ts';

describe('owners as applications have them, in simulated worlds', () => {
  it('keep their promises in one of them (npm run sim -- pool-shells plays more)', async () => {
    expect(await simulation.run(1, { trace: false })).toMatchObject({ seed: 1, broken: undefined });
  });

  it('go the same way twice from the same seed, with a trace and without', async () => {
    const one = await simulation.run(5, { trace: true });
    expect(one.trace?.length).toBeGreaterThan(20);
    expect(await simulation.run(5, { trace: false })).toEqual({ ...one, trace: undefined });
  });
});
