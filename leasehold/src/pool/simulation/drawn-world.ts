/**
 * A world drawn from a seed: the size, durations with margins as thin as the documentation allows, the
 * network and the log. There are three kinds:
 *
 *  - *hostile*: whatever can go wrong goes wrong.
 *  - *calm*: owners come and go, the log may be slow, and once the leader changes. No lease may lapse.
 *  - *restored*: hostile, and the store is put back from an older backup.
 */

import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import type { Random } from '../../sim/random.ts';
import { clockRateBound, type ResolvedDurations, resolveDurations } from '../core/options.ts';
import { consistentHashing } from '../core/policy/consistent-hashing.ts';
import type { PoolWorldOptions } from './pool-world.ts';

export type Kind = 'hostile' | 'calm' | 'restored';

export interface DrawnWorld {
  readonly kind: Kind;
  /** Its Managers have different durations. */
  readonly differ: boolean;
  readonly options: PoolWorldOptions & { readonly reconfigured: readonly ResolvedDurations[] };
  readonly pools: readonly string[];
  /** How long faults go on. */
  readonly chaosMs: number;
  /** How long etcd is without a leader of its own when it is made to change it. */
  readonly logElectionMs: number;
}

/** So many trips to the log and back, one after the other, until a successor leads: its watch brings the news, it looks, is granted a lease, is elected, reads the small keys, the snapshot and the batches. */
const TRIPS = 13;

export interface Drawn {
  readonly durations: ResolvedDurations;
  /** How much faster one clock may run than another: as the hold that was drawn has it, or by the toolkit's bound. */
  readonly rate: number;
}

export interface LeaderChangeRules {
  /** How much of a leader change it may take. */
  readonly leaderLeaseShare?: number;
  /** It is this one: what a log was opened with stays. */
  readonly leaderLeaseMs?: number;
  /** Look-ups must not call themselves cut off during a leader change: they also wait for two rounds of probes then, which a dead Manager does not answer. */
  readonly outlastsLeaderChange?: boolean;
}

/** Durations that just obey the rules: every margin is drawn, and often nothing is left of it. */
export function drawDurations(
  dice: Random,
  leaseMs: number,
  { leaderLeaseShare = 1, leaderLeaseMs = 0, outlastsLeaderChange = false }: LeaderChangeRules = {},
): Drawn {
  const renewEveryMs = leaseMs / dice.between(4, 8);
  const retryMs = renewEveryMs / dice.between(1.5, 4);
  const leaderChangeMostMs = leaseMs - renewEveryMs - 2 * retryMs;
  const leaderChangeMs = Math.max(leaderLeaseMs, leaderChangeMostMs * dice.between(0.6, 1));
  const marginMs = leaseMs * dice.between(0.02, 0.12);
  const toleranceMs = marginMs * dice.between(0.05, 0.5);
  const hasHold = dice.chance(0.6);
  const syncEveryMs = dice.between(2, 6) * renewEveryMs;
  const leaderlessMs = outlastsLeaderChange ? CLOCK_RATE_BOUND * (leaderChangeMs + 12 * retryMs) : 0;
  const durations = resolveDurations({
    leaseMs,
    holdMs: hasHold ? leaseMs + marginMs : undefined,
    renewEveryMs,
    retryMs,
    leaderChangeMs,
    leaderLeaseMs:
      leaderLeaseMs || Math.min(leaderChangeMs * leaderLeaseShare, leaseMs * dice.between(0.15, 0.5)),
    revokeTimeoutMs: leaseMs * dice.between(0.1, 0.5),
    syncEveryMs,
    staleAfterMs: syncEveryMs + 2 * retryMs + Math.max(leaderlessMs, dice.between(0, 2) * syncEveryMs),
    suspensionToleranceMs: toleranceMs,
  });
  return { durations, rate: hasHold ? clockRateBound(durations) : CLOCK_RATE_BOUND };
}

export function drawWorld(dice: Random, seed: number, trace: boolean): DrawnWorld {
  const draw = dice.next();
  const kind: Kind = draw < 0.15 ? 'calm' : draw < 0.27 ? 'restored' : 'hostile';
  const isCalm = kind === 'calm';
  const leaseMs = dice.between(1_500, 5_000);
  const rules = { leaderLeaseShare: isCalm ? 0.5 : 1, outlastsLeaderChange: isCalm };
  const drawn = drawDurations(dice, leaseMs, rules);
  const { durations } = drawn;
  const managers = dice.pick([2, 3, 3, 3]);
  const differ = dice.chance(0.4) && !isCalm;
  const drawnForManagers = Array.from({ length: managers }, (_, index) =>
    differ && index > 0 ? drawDurations(dice, leaseMs * dice.pick([0.5, 1, 2])) : drawn,
  );
  const managerDurations = drawnForManagers.map((one) => one.durations);
  const pools = dice.chance(0.25) ? ['pool', 'other'] : ['pool'];
  const longer = (): Drawn =>
    drawDurations(dice, leaseMs * dice.between(1.5, 3), {
      ...{ leaderLeaseMs: durations.leaderLeaseMs, outlastsLeaderChange: isCalm },
    });
  const isReconfigured = !isCalm && !differ && dice.chance(0.3);
  const later = isReconfigured ? [longer(), longer()] : [];
  const ofTheOther = !differ && pools.length > 1 ? [longer()] : [];
  const drawnForAll = [...drawnForManagers, ...later, ...ofTheOther];
  const rate = Math.min(...drawnForAll.map((one) => one.rate));
  const leaderLeaseMs = Math.max(...managerDurations.map((d) => d.leaderLeaseMs));
  const lossy = !isCalm && dice.chance(0.7);
  const slowLog = dice.chance(0.5);
  const logDelayMs = slowLog ? leaderLeaseMs / (isCalm ? 24 : 6) : 5;
  const leaderKeyMs = leaderLeaseMs * dice.between(1, isCalm ? 1.15 : 1.3);
  // A look-up or an owner that never hears of the leader cannot witness that the store was put back.
  const hasPartialLists = kind === 'hostile' && dice.chance(0.2);
  const virtualNodes = dice.pick([1, 2, 3, 4, 8, 8, 16, 64]);
  return {
    ...{ kind, differ },
    pools,
    chaosMs: durations.leaseMs * dice.between(6, 12),
    logElectionMs: (durations.leaderChangeMs / Math.sqrt(rate) - TRIPS * logDelayMs) * dice.between(0.2, 0.8),
    options: {
      ...{ seed, trace, durations, managers, managerDurations, leaderKeyMs },
      reconfigured: isReconfigured ? [durations, ...later.map((one) => one.durations)] : [],
      poolDurations: new Map(ofTheOther.map((one) => ['other', one.durations])),
      allDurations: drawnForAll.map((one) => one.durations),
      policy: consistentHashing({ virtualNodes }),
      sweepMs: leaderKeyMs * dice.between(0.01, 0.25),
      links: {
        lossChance: lossy ? dice.between(0, dice.pick([0.1, 0.2, 0.4])) : 0,
        duplicateChance: lossy ? dice.between(0, 0.2) : 0,
        delayMs: [0.1, isCalm ? 10 : dice.between(2, durations.retryMs / 2)],
        slowChance: lossy ? dice.between(0, 0.1) : 0,
        slowMs: [durations.retryMs, durations.leaseMs * 2],
      },
      logLinks: {
        lossChance: lossy ? dice.between(0, 0.15) : 0,
        delayMs: [0.1, logDelayMs],
        slowChance: isCalm ? 0 : dice.between(0, 0.1),
        slowMs: leaderLeaseMs * 2,
      },
      partialListChance: hasPartialLists ? 0.4 : 0,
      refuseChance: dice.chance(0.5) ? dice.between(0, 0.3) : 0,
      maxSpansPerBatch: dice.chance(0.3) ? virtualNodes * dice.integer(1, 3) : 4_096,
      compactEveryBatches: dice.pick([2, 5, 20, 1_000]),
      rateSpread: dice.chance(0.3) ? 1 : rate,
      lateMs: isCalm ? 1 : dice.pick([0, 2, 20]),
    },
  };
}
