import { describe, expect, it } from 'vitest';
import { Random } from '../../../sim/random.ts';
import { roundTripMs, SITES, writeMs, type Site, LOCAL_MS } from '../../simulation/sites/round-trips.ts';
import { Chooser, type Traffic } from './choice.ts';
import { Latencies } from './latencies.ts';

const TABLE = SITES.map((one) => SITES.map((other) => roundTripMs(one, other)));
const LEADER = SITES.indexOf('CA');
const ALL = 0b11111;
const LEADER_ALONE = 1 << LEADER;
const latencies = new Latencies(TABLE, LEADER);

const traffic = (reads: number[], writes: number[]): Traffic => ({
  reads: Float64Array.from(reads),
  writes: Float64Array.from(writes),
});

/** The formula of the model, without any shortcut. */
function worth(reads: number[], writes: number[], ratios: number[], weight: number, set: number): number {
  let value = 0;
  SITES.forEach((site, at) => {
    const holders = SITES.filter((_, other) => ((set >> other) & 1) === 1);
    const added = writeMs(site, [...holders, 'CA']) - writeMs(site, ['CA']);
    const expected =
      (writes[at] as number) * 0.5 + ((reads[at] as number) * 0.5 + 0.1) * (ratios[at] as number);
    if (((set >> at) & 1) === 1) value += ((reads[at] as number) + 0.1) * roundTripMs(site, 'CA');
    value -= weight * expected * added;
  });
  return value;
}

describe('latencies', () => {
  it('are those that follow from the paper’s round trips', () => {
    const least = (site: Site): number => writeMs(site, ['CA']) - LOCAL_MS;
    expect(SITES.map(least)).toEqual([130, 85, 90, 90, 163.5]);
    expect(SITES.map((site, at) => least(site) + latencies.addedMs(at, ALL))).toEqual([
      270, 150, 170, 192.5, 270,
    ]);
    expect(SITES.map((_, at) => latencies.addedMs(at, LEADER_ALONE))).toEqual([0, 0, 0, 0, 0]);
    expect(latencies.remoteReadMs).toEqual([120, 0, 20, 85, 150]);
  });
});

describe('the choice of holders', () => {
  it('is the best set by the formula of the model, for any counts', () => {
    const random = new Random(11);
    for (let round = 0; round < 300; round += 1) {
      const draw = (most: number): number[] => SITES.map(() => random.integer(0, most));
      const [reads, writes] = [draw(random.pick([1, 5, 100])), draw(random.pick([0, 2, 50]))];
      const ratios = SITES.map(() => random.between(0, 1));
      const weight = random.between(0.5, 8);
      const present = random.integer(0, ALL) | LEADER_ALONE;
      const holders = new Chooser(latencies, weight, ratios).choose(traffic(reads, writes), 0, present);
      const of = (set: number): number => worth(reads, writes, ratios, weight, set);
      const best = Math.max(...latencies.sets.map(of));
      const stays = of(present) + 0.1 * Math.abs(of(present));
      if (best > stays + 1e-6) expect(of(holders)).toBeCloseTo(best, 6);
      else if (best < stays - 1e-6) expect(holders).toBe(present);
    }
  });

  it('lets everybody hold what is only read, and the leader alone what is only written', () => {
    const chooser = new Chooser(latencies, 2, [0.1, 0.1, 0.1, 0.1, 0.1]);
    const some = [50, 50, 50, 50, 50];
    const none = [0, 0, 0, 0, 0];
    expect(chooser.choose(traffic(some, none), 0, LEADER_ALONE)).toBe(ALL);
    expect(chooser.choose(traffic(none, some), 0, ALL)).toBe(LEADER_ALONE);
  });

  it('keeps the present holders unless another set is better by a tenth', () => {
    const chooser = new Chooser(latencies, 1, [0.1, 0.1, 0.1, 0.1, 0.1]);
    const some = traffic([10, 10, 10, 10, 10], [1, 1, 1, 1, 1]);
    const holders = chooser.choose(some, 0, LEADER_ALONE);
    expect(chooser.gain).toBeGreaterThan(0);
    expect(chooser.choose(some, 0, holders)).toBe(holders);
    expect(chooser.gain).toBe(0);
  });
});
