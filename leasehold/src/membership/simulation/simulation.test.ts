import { describe, expect, it } from 'vitest';
import { simulation } from './simulation.ts';

describe('membership in simulated worlds', () => {
  it('keeps its promises in four of them (npm run sim -- membership plays more)', () => {
    for (let seed = 1; seed <= 4; seed++) {
      expect(simulation.run(seed, { trace: false })).toMatchObject({ seed, broken: undefined });
    }
  });

  it('keeps its promises in worlds that once broke one', () => {
    // 276: a suspended machine took all other clocks for too fast. 808: a server that left woke for ever for a proposal. 903: a promise to a
    // restarted server ended because of the greater incarnation of the process before. 1517, 1857, 2282, 1700577: of two backups of etcd, the leases of
    // one and the keys of the other were put back.
    for (const seed of [276, 808, 903, 1517, 1857, 2282, 1_700_577]) {
      expect(simulation.run(seed, { trace: false })).toMatchObject({ seed, broken: undefined });
    }
  });

  it('goes the same way twice from the same seed, with a trace and without', () => {
    const one = simulation.run(5, { trace: true });
    const two = simulation.run(5, { trace: true });
    expect(two).toEqual(one);
    expect(one.trace?.length).toBeGreaterThan(20);
    expect(simulation.run(5, { trace: false })).toEqual({ ...one, trace: undefined });
  });
});
