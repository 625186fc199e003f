import { describe, expect, it } from 'vitest';
import { batchFigures } from './figures.ts';
import { Standings } from './standings.ts';
import type { Turn } from './turn.ts';

const LEASES = 1_000;

const turn = (perSecond: number): Turn => ({
  batches: [{ leases: LEASES, perSecond, p50Ms: 1, p99Ms: 2, clientMicros: 1, serverMicros: 1 }],
  othersPercent: 0,
  discarded: 0,
});

/** The figure about the rate beside redlock, if ours makes 1,000 leases a second and theirs so many. */
function besideRedlock(theirs: Readonly<Record<string, number>>) {
  const standings = new Standings();
  const ours = turn(1_000);
  standings.addOurs(ours);
  for (const [name, perSecond] of Object.entries(theirs)) standings.addTheirs(name, turn(perSecond), ours);
  return batchFigures(standings, [LEASES]).find(({ goal }) => goal?.startsWith('at least 4 times'));
}

describe('the rate beside redlock', () => {
  it('is compared with the quicker of the two ways to use redlock', () => {
    const figure = besideRedlock({ redlock: 100, 'redlock, pipelined': 286 });
    expect(figure?.ratio).toBeCloseTo(3.5, 1);
    expect(figure?.met).toBe(false);
  });

  it('reaches the goal only beside both', () => {
    expect(besideRedlock({ redlock: 100, 'redlock, pipelined': 240 })?.met).toBe(true);
    expect(besideRedlock({ redlock: 300, 'redlock, pipelined': 240 })?.met).toBe(false);
    expect(besideRedlock({ redlock: 100 })?.met).toBe(false);
  });
});
