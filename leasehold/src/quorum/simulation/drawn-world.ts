/**
 * A world drawn from a seed: how many replicas, how short the leases, how bad the network, what goes wrong and how often. Clock rates
 * and suspensions go to the bounds of the documentation.
 */

import type { LinkFaults } from '../../sim/network.ts';
import type { Random } from '../../sim/random.ts';
import {
  AUTOMATIC,
  bit,
  type Mask,
  objectOf,
  type ReaderMap,
  type ReaderMapChange,
} from '../core/configuration.ts';
import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import { type QuorumLimits, type ResolvedQuorumDurations, resolveQuorumDurations } from '../core/options.ts';

export interface DrawnWorld {
  readonly replicas: number;
  readonly durations: ResolvedQuorumDurations;
  readonly limits: QuorumLimits;
  readonly placement: ReaderMap;
  readonly keys: readonly string[];
  readonly clients: number;
  readonly lanes: number;
  readonly thinkMs: number;
  readonly writeShare: number;
  /** How many of the clients only read, or write nearly always: a reader keeps on reading while its replica reaches nobody. */
  readonly oneSidedShare: number;
  readonly links: Partial<LinkFaults>;
  readonly calmLinks: Partial<LinkFaults>;
  readonly lateMs: number;
  readonly syncMs: readonly [number, number];
  /** From one trouble to the next. */
  readonly troubleMs: readonly [number, number];
  readonly stormMs: number;
  /** From one change of holders to the next; undefined if they stay. */
  readonly placementMs: number | undefined;
}

/** They fall into different slices. */
const KEYS = ['a', 'b', 'c', 'd', 'e'];

const LEASES_MS = [250, 800, 1_500] as const;

/** Some lives of a replica ask for longer leases than the world drew: an operator may change them. */
export const LONGER_LEASE_MS = 150;

/** No replica asks for longer leases. */
export const LONGEST_LEASE_MS: number = Math.max(...LEASES_MS) + LONGER_LEASE_MS;

export function drawDurations(dice: Random): ResolvedQuorumDurations {
  const leaseMs = Math.round(dice.between(120, dice.pick(LEASES_MS)));
  const electionMs = Math.round(dice.between(50, dice.pick([90, 250])));
  return resolveQuorumDurations({
    leaseMs,
    electionMs,
    renewEveryMs: leaseMs / dice.pick([2, 3, 5]),
    heartbeatEveryMs: electionMs / dice.pick([3, 5]),
    graceMs: dice.between(30, leaseMs),
    holdMs: dice.between(10, electionMs),
    sessionMs: dice.pick([300, 2_000, 60_000]),
    reportEveryMs: dice.between(20, 150),
  });
}

export function drawPlacement(dice: Random, seats: number): ReaderMap {
  const mode = dice.pick(['leader', 'all', 'automatic', 'automatic', 'chosen', 'chosen'] as const);
  if (mode === 'automatic') return AUTOMATIC;
  if (mode !== 'chosen') return { mode };
  const slices = Array.from({ length: 4 }, () => drawMask(dice, seats));
  return { mode, slices, objects: new Map(), automatic: undefined };
}

/** Some keys get other holders, or those of their slice again, and sometimes the slices change. */
export function drawPlacementChange(dice: Random, seats: number): ReaderMapChange {
  const keys = KEYS.filter(() => dice.chance(0.5));
  const objects = new Map(
    keys.map((key) => [objectOf(key), dice.chance(0.7) ? drawMask(dice, seats) : undefined]),
  );
  const slices = dice.chance(0.3) ? Array.from({ length: 4 }, () => drawMask(dice, seats)) : undefined;
  return { mode: 'changed', slices, objects, weight: undefined };
}

function drawMask(dice: Random, seats: number): Mask {
  let mask = 0;
  for (let seat = 0; seat < seats; seat += 1) if (dice.chance(0.5)) mask |= bit(seat);
  return mask;
}

/** The fastest clock runs at most the bound faster than the slowest, and often exactly so. */
export const drawRate = (dice: Random): number =>
  CLOCK_RATE_BOUND ** (dice.pick([-1, 1, 0, dice.between(-1, 1), dice.between(-1, 1)]) / 2);

/** A result with the value of one key has about 70 bytes: sessions have room for one result, for a few, or for all. */
const boundsOf = (
  bytesPerPart: number,
): Pick<QuorumLimits, 'bytesPerPart' | 'resultBytes' | 'resultBytesPerSession'> => ({
  ...{ bytesPerPart, resultBytesPerSession: 4 * bytesPerPart, resultBytes: 9 * bytesPerPart },
});

export function drawWorld(dice: Random): DrawnWorld {
  const durations = drawDurations(dice);
  const { leaseMs, electionMs } = durations;
  const replicas = dice.pick([3, 3, 3, 3, 4, 5, 5, 7]);
  const isLossy = dice.chance(0.7);
  const tripMs = Math.max(0.5, electionMs * dice.pick([0.01, 0.05, 0.12]));
  return {
    replicas,
    durations,
    limits: {
      slotsInFlight: dice.pick([4, 64]),
      requestsWaiting: 1_000,
      requestsPerSlot: dice.pick([2, 100]),
      entriesPerMessage: dice.pick([2, 64]),
      ...{ bytesPerSlot: 1_000, bytesPerMessage: 4_000, bytesPerSnapshot: Number.POSITIVE_INFINITY },
      ...boundsOf(dice.pick([20, 60, 4_000])),
      slotsPerSnapshot: dice.pick([5, 20, 1_000]),
      slotsKept: dice.pick([3, 10, 30]),
      bytesKept: dice.pick([400, Number.POSITIVE_INFINITY]),
      slotsBehind: dice.pick([2, 10]),
    },
    placement: drawPlacement(dice, replicas),
    keys: KEYS.slice(0, dice.pick([2, 2, 3, 5])),
    clients: dice.integer(3, 7),
    lanes: dice.pick([1, 1, 2]),
    thinkMs: dice.pick([5, 15, 40]),
    writeShare: dice.pick([0.15, 0.4, 0.6]),
    links: {
      lossChance: isLossy ? dice.between(0, dice.pick([0.03, 0.2])) : 0,
      duplicateChance: isLossy ? dice.between(0, 0.2) : 0,
      delayMs: [0.1, tripMs],
      slowChance: isLossy ? dice.between(0, 0.1) : 0,
      slowMs: [electionMs / 10, leaseMs * dice.pick([0.4, 1, 2.5])],
    },
    calmLinks: { lossChance: 0, duplicateChance: 0, slowChance: 0, delayMs: [0.1, Math.min(3, tripMs)] },
    lateMs: dice.pick([0, 0.5, 5]),
    syncMs: dice.pick([[0.1, 1] as const, [0.5, 6] as const, [2, 20] as const]),
    troubleMs: [20, dice.pick([150, 500])],
    stormMs: dice.between(1_500, 3_000),
    placementMs: dice.pick([undefined, dice.pick([10, 40, 150])]),
    oneSidedShare: dice.pick([0, 0.5, 1]),
  };
}
