/** Figures 1, 6, 7, 11 and 12: how the limit is shared. */

import { resolveDurations } from '../../../../membership/core/durations.ts';
import { instant } from '../../../../runtime/time.ts';
import { LocalLimiter } from '../../../core/local/local-limiter.ts';
import { resolveRate } from '../../../core/local/rate.ts';
import { PushSum } from '../../../core/spread/push-sum.ts';
import { SpreadLimiter } from '../../../core/spread/spread-limiter.ts';
import { SpreadWorld } from '../spread-world.ts';
import { StaticGroup } from '../static-group.ts';
import type { Figure, Series } from './figure.ts';
import { NaivePushSum } from './naive-push-sum.ts';

const NO_FAULTS = { delayMs: [1, 10] } as const;

/** A group of servers without faults but those that the figure makes, after it has come together. */
function quietWorld(size: number, limit: number, burst: number, needsMajority = false): SpreadWorld {
  const names = Array.from({ length: size }, (_, index) => `L${index + 1}`);
  const world = new SpreadWorld({
    ...{ seed: 1, trace: false, names, durations: resolveDurations(), links: NO_FAULTS, lateMs: 0 },
    ...{ rates: names.map(() => 1), demand: 'flows', limit, burst, epochMs: 100, needsMajority },
  });
  world.start();
  return world;
}

/** Samples the tokens allowed at some members, in units a second. */
class Meter {
  readonly #world: SpreadWorld;
  readonly #indexes: readonly number[];
  readonly #points: [number, number][][];
  #before: number[];

  constructor(world: SpreadWorld, indexes: readonly number[]) {
    this.#world = world;
    this.#indexes = indexes;
    this.#points = indexes.map(() => []);
    this.#before = [...world.checker.allowed];
  }

  /** Runs, and takes a sample for each second. */
  run(seconds: number, unit: number): void {
    for (let second = 0; second < seconds; second++) {
      this.#world.run(1_000);
      const { allowed } = this.#world.checker;
      this.#indexes.forEach((index, place) => {
        const tokens = (allowed[index] ?? 0) - (this.#before[index] ?? 0);
        this.#points[place]?.push([this.#world.world.trueMs / 1_000, tokens / unit]);
      });
      this.#before = [...allowed];
    }
  }

  series(label: (index: number) => string): Series[] {
    return this.#indexes.map((index, place) => ({ label: label(index), points: this.#points[place] ?? [] }));
  }
}

/** Forty greedy flows at L2 and twenty at L6, of 6 Mbps: tokens are kilobits. */
function paperTraffic(world: SpreadWorld): void {
  Object.assign(world.trafficAt(1), { offered: 12_000, flows: 40 });
  Object.assign(world.trafficAt(5), { offered: 12_000, flows: 20 });
}

/** The link between L2 and L4 is cut from 20 s to 65 s. */
export function figure6(): { L2: Series; L6: Series; greatestSum: number; views: number } {
  const world = quietWorld(6, 6_000, 600);
  paperTraffic(world);
  const meter = new Meter(world, [1, 5]);
  meter.run(20, 1_000);
  const before = world.world.counts.get('views') ?? 0;
  world.network.cutBoth('L2', 'L4');
  meter.run(45, 1_000);
  const views = (world.world.counts.get('views') ?? 0) - before;
  world.network.heal();
  meter.run(15, 1_000);
  const [L2, L6] = meter.series((index) => `L${index + 1}, credits`);
  if (L2 === undefined || L6 === undefined) throw new Error('two members are measured');
  return { L2, L6, greatestSum: world.checker.greatestSum, views };
}

/** The control: the paper's shares from the original gossip, which goes on across the cut. Measured demand varies by a tenth. */
export function figure6Control(): { L2: Series; L6: Series } {
  const flows = [0, 40, 0, 0, 0, 20];
  let step = 0;
  const value = (index: number): number => (flows[index] ?? 0) * (1 + 0.1 * Math.sin(step * 1.7 + index));
  const group = new StaticGroup<NaivePushSum>({
    ...{ seed: 1, members: 6 },
    make: (index, sight, random, now) =>
      new NaivePushSum({ branching: 3, epochMs: 100, random, value: () => value(index) }, sight, now),
  });
  const points: [number, number][][] = [[], []];
  for (; step < 80; step++) {
    if (step === 20) group.direct.cutBoth(group.nameOf(1), group.nameOf(3));
    if (step === 65) group.direct.heal();
    group.run(1_000);
    [1, 5].forEach((index, place) => {
      const total = group.cores[index]?.total ?? 0;
      const share = total > 0 ? Math.min(1, value(index) / total) : 1;
      points[place]?.push([step + 1, 6 * share]);
    });
  }
  const [L2 = [], L6 = []] = points;
  return {
    L2: { label: 'L2, original gossip', points: L2 },
    L6: { label: 'L6, original gossip', points: L6 },
  };
}

/** L1 and L2 are parted from the other four from 20 s to 50 s. The control is a group in which a minority never acts. */
export function figure7(needsMajority = false): { L2: Series; L6: Series; greatestSum: number } {
  const world = quietWorld(6, 6_000, 600, needsMajority);
  paperTraffic(world);
  const meter = new Meter(world, [1, 5]);
  meter.run(20, 1_000);
  world.network.partition([
    ['L1', 'L2'],
    ['L3', 'L4', 'L5', 'L6'],
  ]);
  meter.run(30, 1_000);
  world.network.heal();
  meter.run(20, 1_000);
  const [L2, L6] = meter.series((index) => `L${index + 1}, credits`);
  if (L2 === undefined || L6 === undefined) throw new Error('two members are measured');
  return { L2, L6, greatestSum: world.checker.greatestSum };
}

/** The right of figure 1: a and b are cut from each other, c is idle. */
export function figure1Right(): { greatestSum: number; allowedPerSecond: number } {
  const world = quietWorld(3, 6_000, 600);
  for (const index of [0, 1]) Object.assign(world.trafficAt(index), { offered: 12_000, flows: 10 });
  world.run(10_000);
  world.network.cutBoth('L1', 'L2');
  const before = world.checker.allowed.reduce((sum, tokens) => sum + tokens, 0);
  world.run(20_000);
  const tokens = world.checker.allowed.reduce((sum, each) => sum + each, 0) - before;
  return { greatestSum: world.checker.greatestSum, allowedPerSecond: tokens / 20 };
}

export const STEP_S = 17;
const MBPS_30 = 30_000;
/** 0.3 s of the limit: 50 kilobits for each of 182 members. */
const BURST = 9_000;
const TRAFFIC_MS = 50;

/** 182 limiters, 30 Mbps: traffic at 38 more of them at each step. One sample a second, in Mbps. */
export function figure11(members = 182): { allowed: Series; levels: Series; collector: Series } {
  const rate = resolveRate({ limit: MBPS_30, burst: BURST });
  const group = new StaticGroup<SpreadLimiter>({
    ...{ seed: 1, members, lossChance: 0.02 },
    make: (_index, sight, random, now) =>
      new SpreadLimiter({ rate, maxServers: members, demand: 'arrivals', epochMs: 500, random }, sight, now),
  });
  // Figure 12: one collector decides for all.
  const collector = new LocalLimiter({ maxKeys: 10, whenFull: 'deny' });
  const [allowed, levels, central]: [number, number][][] = [[], [], []];
  for (let second = 1; second <= 5 * STEP_S; second++) {
    let [tokens, tokensOfCollector, level] = [0, 0, 0];
    for (let turn = 0; turn < 1_000 / TRAFFIC_MS; turn++) {
      group.run(TRAFFIC_MS);
      const now = instant(group.world.trueMs);
      const active = Math.round(0.21 * members) * Math.min(4, Math.floor((second - 1) / STEP_S));
      for (let index = 0; index < active; index++) {
        // Each of 38 flows could fill a twentieth of the limit, in requests of 15 kilobits.
        for (let request = 0; request < (5 * 182) / members; request++) {
          if (group.cores[index]?.consume('flow', 15, now).allowed === true) tokens += 15;
          if (collector.consume('all', 15, rate, now).allowed) tokensOfCollector += 15;
        }
      }
      level = group.cores.reduce((sum, core) => sum + core.level(now), 0);
    }
    allowed?.push([second, tokens / 1_000]);
    central?.push([second, tokensOfCollector / 1_000]);
    levels?.push([second, (30 * level) / members]);
  }
  return {
    allowed: { label: 'figure 11: credits, allowed', points: allowed ?? [] },
    levels: { label: 'sum of all levels', points: levels ?? [] },
    collector: { label: 'figure 12: one collector, allowed', points: central ?? [] },
  };
}

/**
 * 182 members with demand 10; at 5 s the demand of all but one falls to a hundredth. The sum of the shares that the paper's rule computes
 * from push-sum, and the sum of the levels of a spread limit, each as a multiple of the limit.
 */
export function demandFalls(members = 182): { shares: Series; levels: Series } {
  let fallen = false;
  const value = (index: number): number => (fallen && index > 0 ? 0.1 : 10);
  const sums = new StaticGroup<PushSum>({
    ...{ seed: 1, members },
    make: (index, sight, random, now) =>
      new PushSum({ branching: 8, epochMs: 500, random, value: () => value(index) }, sight, now),
  });
  const rate = resolveRate({ limit: MBPS_30, burst: BURST });
  const spread = new StaticGroup<SpreadLimiter>({
    ...{ seed: 1, members },
    make: (_index, sight, random, now) =>
      new SpreadLimiter({ rate, maxServers: members, demand: 'arrivals', epochMs: 500, random }, sight, now),
  });
  const [shares, levels]: [number, number][][] = [[], []];
  for (let tick = 1; tick <= 200; tick++) {
    fallen = tick > 100;
    sums.run(50);
    spread.run(50);
    const now = instant(spread.world.trueMs);
    spread.cores.forEach((core, index) => core.consume('flow', value(index), now));
    const ofIndex = sums.cores.map(({ total }, index) => (total > 0 ? Math.min(1, value(index) / total) : 1));
    shares?.push([tick / 20, ofIndex.reduce((sum, share) => sum + share, 0)]);
    levels?.push([tick / 20, spread.cores.reduce((sum, core) => sum + core.level(now), 0) / members]);
  }
  return {
    shares: { label: 'shares computed from push-sum', points: shares ?? [] },
    levels: { label: 'levels by credits', points: levels ?? [] },
  };
}

export const limitFigures = (): Figure[] => {
  const [six, sixControl, seven, eleven, falls] = [
    figure6(),
    figure6Control(),
    figure7(),
    figure11(),
    demandFalls(),
  ];
  return [
    {
      ...{
        name: 'figure-6',
        title: 'One link cut: 40 flows at L2, 20 at L6, 6 Mbps',
        unit: 'Mbps',
        marks: [20, 65],
      },
      series: [six.L2, six.L6, sixControl.L2],
    },
    {
      ...{ name: 'figure-7', title: 'L1 and L2 parted from the others', unit: 'Mbps', marks: [20, 50] },
      series: [seven.L2, seven.L6],
    },
    {
      ...{ name: 'figure-11', title: '182 limiters, 30 Mbps, in steps', unit: 'Mbps', marks: [] },
      series: [eleven.allowed, eleven.collector],
    },
    {
      ...{
        name: 'demand-falls',
        title: 'All rights together when demand falls',
        unit: 'limits',
        marks: [5],
        most: 20,
      },
      series: [falls.shares, falls.levels],
    },
  ];
};
