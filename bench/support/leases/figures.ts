/** What the turns say for and against us. */

import type { Figure } from '../../../scripts/bench/bench.ts';
import { percentile } from '../processes/statistics.ts';
import { etcd } from './etcd.ts';
import { TIMES } from './failover.ts';
import { OURS } from './flease.ts';
import { redlock, redlockPipelined } from './redlock.ts';
import type { Measure, Standings } from './standings.ts';
import { zooKeeper, zooKeeperWithoutSync } from './zookeeper.ts';

const RATIO_TO_ZOOKEEPER = 10;
const RATIO_TO_REDLOCK = 4;
/** Differences below are noise on a shared machine. */
const UNCHANGED_SHARE = 0.9;
/** The kernel counts work in hundredths of a second, of which a small batch takes too few. */
const WORK_COUNTED_FROM = 10_000;

const perSecond: Measure = (batch) => batch.perSecond;
const p50: Measure = (batch) => batch.p50Ms;
const p99: Measure = (batch) => batch.p99Ms;
const work: Measure = (batch) => batch.clientMicros + batch.serverMicros;

const PEERS = [redlock, redlockPipelined, zooKeeperWithoutSync, zooKeeper, etcd].map(({ name }) => name);

/** None if ours was not measured. */
export function batchFigures(standings: Standings, sizes: readonly number[]): readonly Figure[] {
  if (standings.ours(sizes[0] ?? 0, perSecond) === undefined) return [];
  return sizes.flatMap((leases) => [
    rate(standings, leases, [zooKeeperWithoutSync.name, zooKeeper.name, etcd.name], RATIO_TO_ZOOKEEPER),
    rate(standings, leases, [redlock.name, redlockPipelined.name], RATIO_TO_REDLOCK),
    least(standings, leases, 'until a lease is held, median', 'ms', p50),
    slowest(standings, leases),
    ...(leases < WORK_COUNTED_FROM
      ? []
      : [least(standings, leases, 'work of all processes, a lease', 'µs', work)]),
  ]);
}

const batchOf = (leases: number): string => `${leases.toLocaleString('en')} leases`;

const valuesOf = (standings: Standings, names: readonly string[], leases: number, measure: Measure) =>
  names.flatMap((name) => {
    const value = standings.theirs(name, leases, measure);
    return value === undefined ? [] : [{ name, value }];
  });

/** The goal is about the quickest of them: a goal against a weaker one would flatter us. */
function rate(standings: Standings, leases: number, rivals: readonly string[], times: number): Figure {
  const { isComplete, ratio } = closest(standings, leases, rivals, perSecond);
  return {
    metric: `${batchOf(leases)}: rate, beside ${rivals.join('; ')}`,
    unit: 'leases/s',
    ours: standings.ours(leases, perSecond) ?? Number.NaN,
    peers: valuesOf(standings, rivals, leases, perSecond),
    ratio,
    goal: `at least ${times} times the quickest of them${isComplete ? '' : ', not all of which are here'}`,
    met: isComplete && (ratio ?? 0) >= times,
  };
}

/**
 * Ours by that of the rival who comes closest, and whether all of them were measured at all. One that is too slow for
 * batches of this size is left out of the comparison, but is not missing.
 */
function closest(
  standings: Standings,
  leases: number,
  rivals: readonly string[],
  measure: Measure,
): { readonly isComplete: boolean; readonly ratio: number | undefined } {
  const ratios = rivals.flatMap((rival) => standings.ratio(rival, leases, measure) ?? []);
  return {
    isComplete: rivals.every((rival) => standings.has(rival)),
    ratio: ratios.length === 0 ? undefined : Math.min(...ratios),
  };
}

/** Told beside that of the best of all. */
function least(standings: Standings, leases: number, what: string, unit: string, measure: Measure): Figure {
  const peers = valuesOf(standings, PEERS, leases, measure);
  const [best] = [...peers].sort((one, other) => one.value - other.value);
  const inverse = best && inverted(standings.ratio(best.name, leases, measure));
  return {
    metric: `${batchOf(leases)}: ${what}`,
    unit,
    ours: standings.ours(leases, measure) ?? Number.NaN,
    peers,
    ratio: inverse,
  };
}

/** Where less is better. */
const inverted = (ratio: number | undefined): number | undefined =>
  ratio === undefined ? undefined : 1 / ratio;

function slowest(standings: Standings, leases: number): Figure {
  const figure = least(standings, leases, 'until a lease is held, 99 %', 'ms', p99);
  const rivals = [redlock.name, redlockPipelined.name, zooKeeperWithoutSync.name];
  const ratios = rivals.map((rival) => inverted(standings.ratio(rival, leases, p99)));
  const isComplete = ratios.every((ratio) => ratio !== undefined);
  return {
    ...figure,
    goal: `no more than ${rivals.join('; ')}${isComplete ? '' : ', not all of which are here'}`,
    met: isComplete && ratios.every((ratio) => (ratio ?? 0) >= 1),
  };
}

/** The rate while somebody keeps the disk busy, as a share of the rate while the same is written to memory. */
export function diskFigure(shares: ReadonlyMap<string, number>): readonly Figure[] {
  const ours = shares.get(OURS);
  if (ours === undefined) return [];
  const theirs = shares.get(zooKeeper.name);
  return [
    {
      metric: 'rate while the disk is busy, of that while memory is',
      unit: 'times',
      ours,
      peers: [...shares].filter(([name]) => name !== OURS).map(([name, value]) => ({ name, value })),
      ratio: theirs === undefined ? undefined : ours / theirs,
      goal: `at least ${UNCHANGED_SHARE}`,
      met: ours >= UNCHANGED_SHARE,
    },
  ];
}

export function failoverFigures(tookMs: readonly number[]): readonly Figure[] {
  const limitMs = TIMES.leaseMs + TIMES.clockSkewMs;
  return (
    [
      ['median', 0.5],
      ['99 %', 0.99],
    ] as const
  ).map(([what, share]) => {
    const ours = percentile(tookMs, share);
    return {
      metric: `holder killed: until another holds the lease, ${what} of ${tookMs.length}`,
      ...{ unit: 'ms', ours, peers: [] },
      goal: `at most t_max + ε, ${limitMs} ms`,
      met: ours <= limitMs,
    };
  });
}
