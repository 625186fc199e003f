import { describe, expect, it } from 'vitest';
import { bit, EVERYBODY, type Mask, type ReaderMapChange } from '../configuration.ts';
import { roundTripMs, type Site, SITES } from '../../simulation/sites/round-trips.ts';
import { COUNT_MAX, ROUND_TRIP_MS_MAX } from '../../wire/bounds.ts';
import { Plan } from './plan.ts';
import type { Counted } from './traffic-counters.ts';
import { sliceOf, SLICES, type Usage, UsageMeter } from './usage.ts';
import { nextWeight, worstShare } from './weight.ts';

const MEMBERS = SITES.map((storage, seat) => ({ storage, seat }));
const LEADER = SITES.indexOf('CA');
const ALL = 0b11111;

/** The leader's side of automatic placement: a table, a weight, and a round of reports at a time. */
class Leader {
  objects = new Map<number, Mask>();
  slices: readonly Mask[] = Array.from({ length: SLICES }, () => EVERYBODY);
  weight = 1;
  changes = 0;

  hear(reports: ReadonlyMap<string, Usage>): ReaderMapChange[] {
    this.weight = nextWeight(this.weight, worstShare(reports.values()));
    const { objects, slices, weight } = this;
    const plan = Plan.of({ members: MEMBERS, leader: LEADER, reports, weight, objects, slices });
    while (plan?.step() === false);
    const parts: ReaderMapChange[] = [];
    for (
      let part = plan?.next(this.objects, weight);
      part !== undefined;
      part = plan?.next(this.objects, weight)
    ) {
      parts.push(part);
      this.slices = part.slices ?? this.slices;
      this.objects = new Map(this.objects);
      for (const [object, holders] of part.objects)
        if (holders === undefined) this.objects.delete(object);
        else this.objects.set(object, holders);
    }
    this.changes += parts.length;
    return parts;
  }

  holders(object: number): Mask {
    return (this.objects.get(object) ?? (this.slices[sliceOf(object)] as Mask)) & ALL;
  }
}

const links = (of: Site): Map<string, number> =>
  new Map(SITES.filter((site) => site !== of).map((site) => [site, roundTripMs(of, site)]));

/** Every site reads and writes objects of its own. */
function honest(site: Site): Usage {
  const first = 1_000 * SITES.indexOf(site);
  const objects = Array.from({ length: 50 }, (_, at) => ({
    object: first + at,
    reads: 9 + at,
    writes: 1 + (at % 4),
  }));
  const sums = (of: (counted: Counted) => number): number[] =>
    Array.from({ length: SLICES }, (_, slice) =>
      objects.filter(({ object }) => sliceOf(object) === slice).reduce((sum, each) => sum + of(each), 0),
    );
  const [sliceReads, sliceWrites] = [sums(({ reads }) => reads), sums(({ writes }) => writes)];
  return { reads: 1_000, localReads: 910, sliceReads, sliceWrites, objects, roundTrips: links(site) };
}

const everywhere = (value: number): number[] => Array.from({ length: SLICES }, () => value);
const counted = (value: number): Counted[] =>
  Array.from({ length: 50 }, (_, at) => ({ object: 1_000 + at, reads: value, writes: value }));
const apart = (ms: number): Map<string, number> => new Map(SITES.map((site) => [site, ms]));

const ABSURD: Readonly<Record<string, Partial<Usage>>> = {
  'the largest counts that the wire lets through': {
    ...{ reads: Number.MAX_SAFE_INTEGER, localReads: 0, objects: counted(COUNT_MAX) },
    ...{ sliceReads: everywhere(COUNT_MAX), sliceWrites: everywhere(COUNT_MAX) },
  },
  'more local reads than reads': { reads: 100, localReads: Number.MAX_SAFE_INTEGER },
  'counts that are no numbers': {
    ...{ reads: Number.NaN, localReads: Number.NaN, objects: counted(Number.NaN) },
    ...{ sliceReads: everywhere(Number.NaN), sliceWrites: everywhere(Number.NaN) },
  },
  'endless counts': {
    ...{ reads: Number.POSITIVE_INFINITY, localReads: 0, objects: counted(Number.POSITIVE_INFINITY) },
    ...{ sliceReads: everywhere(Number.POSITIVE_INFINITY), sliceWrites: everywhere(0) },
  },
  'negative counts': { objects: counted(-5), sliceReads: everywhere(-5), sliceWrites: everywhere(-5) },
  'no slices at all': { sliceReads: [], sliceWrites: [] },
  'one object many times': { objects: [...counted(1), ...counted(7), ...counted(0)] },
  'links that take no time': { roundTrips: apart(0) },
  'links that take a day': { roundTrips: apart(ROUND_TRIP_MS_MAX) },
};

const reportsWith = (forged: Partial<Usage>): Map<string, Usage> =>
  new Map(SITES.map((site) => [site, site === 'IRL' ? { ...honest(site), ...forged } : honest(site)]));

describe('a member that reports', () => {
  for (const [what, forged] of Object.entries(ABSURD))
    it(`${what} leaves weight and tables valid, which come to rest when it reports the truth`, () => {
      const leader = new Leader();
      for (let period = 0; period < 3; period += 1) leader.hear(reportsWith({}));
      for (let period = 0; period < 3; period += 1) {
        for (const { objects, slices, weight } of leader.hear(reportsWith(forged))) {
          const masks = [...objects.values(), ...(slices ?? [])].filter((mask) => mask !== undefined);
          for (const mask of masks) expect(mask === EVERYBODY || (mask & ~ALL) === 0).toBe(true);
          for (const mask of masks) expect(mask & bit(LEADER)).toBe(bit(LEADER));
          expect(weight).toBeGreaterThanOrEqual(0.5);
          expect(weight).toBeLessThanOrEqual(8);
        }
        expect(leader.objects.size).toBeLessThanOrEqual(250);
      }
      for (let period = 0; period < 3; period += 1) leader.hear(reportsWith({}));
      expect(leader.hear(reportsWith({}))).toEqual([]);
      const readAtHome = SITES.filter((site, of) =>
        honest(site).objects.some(({ object }) => (leader.holders(object) & bit(of)) !== 0),
      );
      expect(readAtHome).toEqual(SITES);
    });
});

describe('a hot object that moves from site to site every few seconds', () => {
  it('changes its holders a few times at first, and hardly ever after that', () => {
    const leader = new Leader();
    const meters = SITES.map(() => new UsageMeter());
    const HOT = 77;
    let seconds = 0;
    let changed = 0;
    let before = leader.holders(HOT);
    const changedBy: number[] = [];
    for (let period = 0; period < 60; period += 1) {
      for (const end = seconds + 10; seconds < end; seconds += 1) {
        const site = Math.floor(seconds / 3) % SITES.length;
        for (let call = 0; call < 100; call += 1)
          if (call % 10 === 0) meters[site]?.wrote(HOT);
          else meters[site]?.read(HOT);
        meters.forEach((meter, of) => {
          for (let call = 0; call < 20; call += 1) meter.read(1_000 * of + call);
          meter.answeredLocally(110);
        });
      }
      const reports = new Map(
        SITES.map((site, of) => [site, { ...(meters[of] as UsageMeter).report(), roundTrips: links(site) }]),
      );
      leader.hear(reports);
      if (leader.holders(HOT) !== before) changed += 1;
      before = leader.holders(HOT);
      changedBy.push(changed);
    }
    expect(changedBy[19]).toBeLessThanOrEqual(6);
    expect(changed - (changedBy[19] as number)).toBeLessThanOrEqual(2);
    expect(leader.changes).toBeLessThanOrEqual(30); // One in two periods, at most.
  });
});

describe('millions of keys without favourites', () => {
  it('cost a few configurations in a period, and leave room in the table', () => {
    const leader = new Leader();
    const meters = SITES.map(() => new UsageMeter());
    let state = 1;
    const next = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    for (let period = 0; period < 6; period += 1) {
      for (const meter of meters)
        for (let call = 0; call < 10_000; call += 1) {
          const object = Math.imul(next(3_000_000), 2_654_435_761) >>> 0;
          if (call % 10 === 0) meter.wrote(object);
          else meter.read(object);
          if (call % 100 < 81) meter.answeredLocally(1);
        }
      const reports = new Map(
        SITES.map((site, of) => [site, { ...(meters[of] as UsageMeter).report(), roundTrips: links(site) }]),
      );
      expect(leader.hear(reports).length).toBeLessThanOrEqual(8);
      expect(leader.objects.size).toBeLessThan(32_768);
    }
  });
});
