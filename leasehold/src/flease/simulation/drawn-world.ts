/**
 * A world drawn from a seed: how many members, how short the leases, how far apart the clocks, how bad the network.
 * Margins are as thin as the documentation allows.
 */

import type { LinkFaults } from '../../sim/network.ts';
import type { Random } from '../../sim/random.ts';
import { type ResolvedFleaseDurations, resolveFleaseDurations } from '../options.ts';

export interface DrawnWorld {
  readonly members: number;
  readonly durations: ResolvedFleaseDurations;
  readonly resources: readonly string[];
  readonly callersEach: number;
  readonly links: Partial<LinkFaults>;
  readonly calmLinks: Partial<LinkFaults>;
  readonly lateMs: number;
  readonly turnMs: number;
  /** How long a caller does nothing, up to. */
  readonly idleMs: number;
  readonly holdMs: readonly number[];
  /** How long it may take to tell one member of a change of the group. */
  readonly operatorMs: number;
  /** From one trouble to the next. */
  readonly troubleMs: readonly [number, number];
  /** How long faults go on. */
  readonly chaosMs: number;
  /** With so many attempts under way a member asks no more others than it has to. */
  readonly busyFrom: number;
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
  const answerMs = (leaseMs / 2 - clockSkewMs) * dice.between(0.3, 1);
  const noticeMs = Math.min(leaseMs * dice.between(0.02, 0.2), leaseMs * 0.599 - answerMs);
  return resolveFleaseDurations({ leaseMs, clockSkewMs, answerMs, noticeMs });
}

export function drawWorld(dice: Random): DrawnWorld {
  const durations = drawDurations(dice);
  const { leaseMs, answerMs } = durations;
  const lossy = dice.chance(0.8);
  const tripMs = answerMs / 5;
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
      slowMs: [answerMs / 4, leaseMs * dice.pick([0.6, 1.2, 3])],
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
  };
}
