import { describe, expect, it } from 'vitest';
import { bit, EVERYBODY, type Mask } from '../core/configuration.ts';
import { roundTripMs, SITES } from '../simulation/sites/round-trips.ts';
import { Plan, type PlanInput } from './plan.ts';
import type { Counted } from './traffic-counters.ts';
import { SLICES, type Usage } from './usage.ts';

const MEMBERS = SITES.map((storage, place) => ({ storage, seat: 2 * place })); // Seats may have gaps.
const LEADER = 2;

const usage = (of: string, objects: readonly Counted[], fields: Partial<Usage> = {}): Usage => ({
  ...{ reads: 1_000, localReads: 950, objects },
  sliceReads: Array.from({ length: SLICES }, () => 90),
  sliceWrites: Array.from({ length: SLICES }, () => 10),
  roundTrips: new Map(
    SITES.filter((site) => site !== of).map((site) => [site, roundTripMs(of as 'JP', site)]),
  ),
  ...fields,
});

function planned(reports: Partial<Record<string, Usage>>, fields: Partial<PlanInput> = {}): Plan | undefined {
  const all = new Map(SITES.map((site) => [site, reports[site] ?? usage(site, [])]));
  const plan = Plan.of({
    ...{ members: MEMBERS, leader: LEADER, reports: all, weight: 1, objects: new Map() },
    slices: Array.from({ length: SLICES }, () => EVERYBODY),
    ...fields,
  });
  while (plan?.step() === false);
  return plan;
}

const written = (object: number): Counted => ({ object, reads: 0, writes: 20 });

describe('a plan', () => {
  it('takes those holders away for which writers wait, and leaves all else to the slices', () => {
    const read = { object: 6, reads: 50, writes: 0 };
    const plan = planned({ JP: usage('JP', [written(5), read]) });
    const change = plan?.next(0, 1);
    const nearby = bit(0) | bit(LEADER) | bit(4); // JP writes; JP, CA and OR are the majority for which it waits anyway.
    expect([...(change?.objects ?? [])]).toEqual([[5, nearby]]);
    expect(change).toMatchObject({ slices: undefined, weight: 1 });
    expect(plan?.next(0, 1)).toBeUndefined();
  });

  it('returns an object to its slice that is held like the slice, or that nobody reports any more', () => {
    const objects = new Map<number, Mask>([
      [6, bit(LEADER)],
      [7, bit(LEADER)],
    ]);
    const read = { object: 6, reads: 50, writes: 0 };
    const everywhere = Object.fromEntries(SITES.map((site) => [site, usage(site, [read])]));
    const change = planned(everywhere, { objects })?.next(2, 1);
    expect(change?.objects).toEqual(
      new Map([
        [6, undefined],
        [7, undefined],
      ]),
    );
  });

  it('changes at most 4,096 objects at a time, those that gain most first', () => {
    const objects = Array.from({ length: 6_000 }, (_, object) => ({ object, reads: 0, writes: 1 + object }));
    const plan = planned({ IRL: usage('IRL', objects) });
    const first = plan?.next(0, 1);
    expect(first?.objects.size).toBe(4_096);
    expect(first?.objects.has(5_999)).toBe(true);
    expect(first?.objects.has(0)).toBe(false);
    expect(plan?.next(4_096, 1)?.objects.size).toBe(6_000 - 4_096);
  });

  it('puts no more than 65,536 objects into the table', () => {
    const plan = planned({ IRL: usage('IRL', [written(1), written(2), written(3)]) });
    expect(plan?.next(65_534, 1)?.objects.size).toBe(2);
  });

  it('chooses the holders of slices by all that their other objects do, one slice after the other', () => {
    const writes = { sliceReads: Array(SLICES).fill(60), sliceWrites: Array(SLICES).fill(100) };
    const mostlyWritten = Object.fromEntries(SITES.map((site) => [site, usage(site, [], writes)]));
    const held = (weight: number): number => {
      const slices = planned(mostlyWritten, { weight })?.next(0, 1)?.slices;
      return slices?.filter((mask) => mask === EVERYBODY).length ?? SLICES;
    };
    const counts = [0.25, 0.5, 1, 2, 8].map(held);
    expect(counts[0]).toBe(SLICES);
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
    expect(counts[2]).toBeLessThan(SLICES);
    expect(counts[2]).toBeGreaterThan(0);
  });

  it('is not made while a member has not reported, or does not know how far the others are', () => {
    const roundTrips = new Map([['CA', 120]]);
    expect(planned({ JP: usage('JP', [], { roundTrips }) })).toBeUndefined();
    expect(planned({}, { reports: new Map([['JP', usage('JP', [])]]) })).toBeUndefined();
  });
});
