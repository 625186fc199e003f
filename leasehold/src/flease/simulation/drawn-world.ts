/**
 * A world drawn from a seed: how many members, how short the leases, how far apart the clocks, how bad the network.
 * Margins are as thin as the documentation allows.
 *
 * One world in eight is *wide*: large groups, many kinds of faults at once, several wrong clocks, hundreds of
 * resources acquired in one turn. Separate dice decide which, so that all other seeds stay as they were.
 */

import type { LinkFaults } from '../../sim/network.ts';
import { Random } from '../../sim/random.ts';
import { type ResolvedFleaseDurations, resolveFleaseDurations } from '../core/options.ts';

export interface DrawnWorld {
  readonly members: number;
  readonly durations: ResolvedFleaseDurations;
  readonly resources: readonly string[];
  readonly callersEach: number;
  readonly links: Partial<LinkFaults>;
  readonly calmLinks: Partial<LinkFaults>;
  readonly lateMs: number;
  readonly turnMs: number;
  /** The longest idle time of a caller. */
  readonly idleMs: number;
  readonly holdMs: readonly number[];
  /** How long it may take to tell one member of a change of the group. */
  readonly operatorMs: number;
  /** From one trouble to the next. */
  readonly troubleMs: readonly [number, number];
  /** How long faults go on. */
  readonly chaosMs: number;
  /** From this many attempts under way, a member asks only a majority. */
  readonly busyFrom: number;
  /** The number of kinds of faults; undefined: a few. */
  readonly troubleKinds: number | undefined;
  /** How many clocks may be wrong at once; never those of a majority. */
  readonly wrongClocksMost: number;
  /** Resources that bulk callers acquire. */
  readonly bulkResources: readonly string[];
}

/** The share of wide worlds. */
const WIDE_SHARE = 1 / 8;

export function drawWorld(seed: number): DrawnWorld {
  const drawn = drawUsual(new Random(seed, 'drawn'));
  const dice = new Random(seed, 'wide');
  return dice.chance(WIDE_SHARE) ? widened(drawn, dice) : drawn;
}

function widened(drawn: DrawnWorld, dice: Random): DrawnWorld {
  const members = dice.pick([3, 3, 5, 7, 9, 9, 11, 15]);
  const bulk = members <= 3 ? dice.integer(100, 250) : 0;
  const { leaseMs } = drawn.durations;
  return {
    ...drawn,
    members,
    callersEach: members > 7 ? 1 : drawn.callersEach,
    bulkResources: Array.from({ length: bulk }, (_, place) => `bulk${place + 1}`),
    turnMs: bulk > 0 ? 0.3 : drawn.turnMs,
    troubleKinds: dice.pick([5, 7, 9, 12]),
    wrongClocksMost: dice.pick([1, 2, members]),
    // A large world, or one with many faults, shows as much in less time.
    chaosMs: leaseMs * (members > 7 || bulk > 0 ? dice.between(5, 8) : dice.between(12, 20)),
  };
}

function drawDurations(dice: Random): ResolvedFleaseDurations {
  const leaseMs = Math.round(dice.between(400, 2_000));
  const clockSkewMs = dice.pick([
    2,
    dice.between(2, leaseMs / 20),
    dice.between(leaseMs / 20, leaseMs / 4),
    dice.between(leaseMs / 4, leaseMs * 0.45),
    leaseMs * 0.45,
  ]);
  const answerTimeoutMs = (leaseMs / 2 - clockSkewMs) * dice.between(0.3, 1);
  const noticeMs = Math.min(leaseMs * dice.between(0.02, 0.2), leaseMs * 0.599 - answerTimeoutMs);
  return resolveFleaseDurations({ leaseMs, clockSkewMs, answerTimeoutMs, noticeMs });
}

function drawUsual(dice: Random): DrawnWorld {
  const durations = drawDurations(dice);
  const { leaseMs, answerTimeoutMs } = durations;
  const lossy = dice.chance(0.8);
  const tripMs = answerTimeoutMs / 5;
  return {
    durations,
    members: dice.pick([1, 2, 3, 3, 3, 3, 3, 3, 4, 5, 5, 7]),
    resources: Array.from({ length: dice.pick([1, 1, 2, 4]) }, (_, place) => `r${place + 1}`),
    callersEach: dice.pick([1, 1, 2, 3]),
    links: {
      lossChance: lossy ? dice.between(0, dice.pick([0.05, 0.3])) : 0,
      duplicateChance: lossy ? dice.between(0, 0.3) : 0,
      delayMs: dice.chance(0.3) ? [0.01, 0.2] : [0.1, Math.max(1, tripMs * dice.between(0.1, 1.5))],
      slowChance: lossy ? dice.between(0, 0.15) : 0,
      slowMs: [answerTimeoutMs / 4, leaseMs * dice.pick([0.6, 1.2, 3])],
    },
    calmLinks: {
      ...{ lossChance: 0, duplicateChance: 0, slowChance: 0 },
      delayMs: [0.01, Math.min(dice.pick([0.2, 5]), tripMs * 0.6)],
    },
    lateMs: dice.pick([0, 0.5, 2]),
    turnMs: dice.pick([0, 0, 0.3]),
    idleMs: leaseMs * dice.pick([0.02, 0.2, 1]),
    holdMs: [leaseMs * 0.1, leaseMs * dice.pick([0.1, 1, 4]), leaseMs * dice.pick([0.1, 2, 8])],
    operatorMs: leaseMs * dice.pick([0.5, 3, 6]),
    troubleMs: [leaseMs * 0.05, leaseMs * dice.pick([0.5, 2, 4])],
    chaosMs: leaseMs * dice.between(15, 25),
    busyFrom: dice.pick([0, 1, 2, Number.POSITIVE_INFINITY]),
    ...{ troubleKinds: undefined, wrongClocksMost: 1, bulkResources: [] },
  };
}
