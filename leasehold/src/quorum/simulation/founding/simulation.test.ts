import { describe, expect, it } from 'vitest';
import { simulation } from './simulation.ts';

describe('the founding of quorum cells in simulated worlds', () => {
  it('plays out the same way twice from the same seed, traced or not, and keeps its promises', async () => {
    const one = await simulation.run(3, { trace: true });
    expect(one.broken).toBeUndefined();
    expect(await simulation.run(3, { trace: true })).toEqual(one);
    expect(one.trace?.length).toBeGreaterThan(20);
    expect(await simulation.run(3, { trace: false })).toEqual({ ...one, trace: undefined });
  });
});
