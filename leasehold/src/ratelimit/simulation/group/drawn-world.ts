/**
 * The properties of a world in which servers of a group share a limit, drawn from the seed. Most worlds mix all faults. Some are drawn for one danger:
 *
 *  - `calm`: no faults, true clocks: how much of the limit is used.
 *  - `sleeping`: the owner of a key stands still; the others go on and spend; then the owner wakes with its bucket.
 *  - `there-and-back`: a server joins, gets keys, spends them and leaves, and the keys come back.
 *  - `leaving`: the owner of keys leaves while its tokens lie idle elsewhere, and then all spend.
 *  - `handing`: servers leave as planned, and hand their keys over while tokens are away and all spend.
 *  - `comes-over`: a server leaves its view for another, while the members that it left do not notice.
 *  - `one-hot`: nearly all requests come to one server for seconds, and faults of every kind: how much of the limit is used in storms.
 *  - `parted`: owner and borrower are parted from the rest, keep their tokens, and all spend when the rest has begun.
 */

import { CLOCK_RATE_BOUND } from '../../../runtime/clock-rates.ts';
import type { LinkFaults } from '../../../sim/network.ts';
import { Random } from '../../../sim/random.ts';
import { type Durations, resolveDurations } from '../../../membership/core/durations.ts';
import { type Rate, resolveRate } from '../../core/local/rate.ts';
import type { WhenLost } from '../../core/shared/messages.ts';
import type { CutOffPolicy } from '../../core/shared/when-cut-off.ts';

export type WorldKind =
  | 'mixed'
  | 'calm'
  | 'sleeping'
  | 'there-and-back'
  | 'leaving'
  | 'handing'
  | 'comes-over'
  | 'parted'
  | 'one-hot';

export interface DrawnWorld {
  readonly kind: WorldKind;
  readonly names: readonly string[];
  readonly durations: Durations;
  readonly rate: Rate;
  readonly whenLost: WhenLost;
  readonly whenCutOff: CutOffPolicy;
  readonly links: Partial<LinkFaults>;
  readonly rates: readonly number[];
  readonly lateMs: number;
  readonly faults: number;
  /** Requests of all servers together for each key, as a multiple of the limit. */
  readonly demand: number;
  readonly stormMs: number;
  /** Servers of the group that share no limits. */
  readonly strangers: readonly string[];
  /** Servers stop sharing and begin again, and stay in the group. */
  readonly sharersChange: boolean;
}

export const SLOWEST: number = 1 / Math.sqrt(CLOCK_RATE_BOUND);
export const FASTEST: number = Math.sqrt(CLOCK_RATE_BOUND);

const KINDS: readonly WorldKind[] = [
  ...Array<WorldKind>(6).fill('mixed'),
  ...(['calm', 'sleeping', 'there-and-back', 'leaving', 'comes-over', 'comes-over', 'parted'] as const),
  ...(['one-hot', 'one-hot', 'handing', 'handing'] as const),
];

export function drawWorld(seed: number): DrawnWorld {
  const random = new Random(seed).fork('drawn world');
  const kind = random.pick(KINDS);
  const size = sizeOf(kind, random);
  const names = Array.from({ length: size }, (_, index) => `s${index}`);
  const isCalm = kind === 'calm';
  const sharing = new Random(seed).fork('sharing');
  const canDiffer = size > 2 && (isCalm || kind === 'mixed');
  return {
    ...{ kind, names, durations: resolveDurations({ conflictMaxMs: 6_000 }) },
    rate: drawRate(kind, random),
    whenLost: whenLostOf(kind, random),
    whenCutOff: policyOf(kind, random),
    links: isCalm ? { delayMs: [0.5, 3] } : drawLinks(random),
    rates: names.map(() => (isCalm ? 1 : drawClockRate(random))),
    lateMs: isCalm ? 0 : random.pick([0, 0, 10, 40]),
    faults: faultsOf(kind, random),
    demand: demandOf(kind, random),
    stormMs: stormMsOf(kind),
    strangers: canDiffer && sharing.chance(0.3) ? [sharing.pick(names)] : [],
    sharersChange: kind === 'mixed' && sharing.chance(0.4),
  };
}

function faultsOf(kind: WorldKind, random: Random): number {
  if (kind === 'one-hot') return 10;
  return kind === 'mixed' ? random.integer(6, 14) : 0;
}

function stormMsOf(kind: WorldKind): number {
  if (kind === 'one-hot') return 36_000;
  return kind === 'mixed' || kind === 'sleeping' ? 20_000 : 17_000;
}

function demandOf(kind: WorldKind, random: Random): number {
  if (kind === 'one-hot') return 1.3;
  // So little that some of what is borrowed is not used.
  if (kind === 'leaving' || kind === 'parted') return 0.6;
  return kind === 'calm' ? random.pick([0.7, 1.4]) : random.pick([0.8, 1.5, 3]);
}

function whenLostOf(kind: WorldKind, random: Random): WhenLost {
  if (kind === 'leaving') return 'full';
  return kind === 'sleeping' || kind === 'there-and-back' ? 'empty' : random.pick(['full', 'empty']);
}

/** Closed where the use of the limit is measured. */
function policyOf(kind: WorldKind, random: Random): CutOffPolicy {
  if (kind === 'calm' || kind === 'one-hot') return { kind: 'closed' };
  const forMs = random.pick([300, 1_500, 15_000]);
  return random.pick<CutOffPolicy>([{ kind: 'closed' }, { kind: 'share', maxServers: undefined, forMs }]);
}

function sizeOf(kind: WorldKind, random: Random): number {
  if (kind === 'comes-over') return 4;
  return kind === 'leaving' ? 5 : random.integer(kind === 'mixed' ? 2 : 3, 5);
}

/** Often at the very ends of what is allowed. */
export const drawClockRate = (random: Random): number =>
  random.pick([SLOWEST, FASTEST, 1, random.between(SLOWEST, FASTEST)]);

function drawRate(kind: WorldKind, random: Random): Rate {
  // A bucket that takes as long to fill as a change of views.
  // Batches are large beside the part of one server.
  if (kind === 'leaving') return resolveRate({ limit: 600, burst: 60 });
  if (kind === 'parted') return resolveRate({ limit: 100, burst: 100 });
  if (kind === 'one-hot') return resolveRate({ limit: 40, burst: 40 });
  if (kind !== 'mixed' && kind !== 'calm') return resolveRate({ limit: 40, burst: 160 });
  return resolveRate(
    random.pick([
      { limit: 60, burst: 40 },
      { limit: 40, burst: 160 },
      { limit: 60, burst: 8 },
    ]),
  );
}

const drawLinks = (random: Random): Partial<LinkFaults> => ({
  delayMs: [0.5, 10],
  lossChance: random.pick([0, 0, 0.02]),
  duplicateChance: random.pick([0, 0.1, 0.4]),
  slowChance: random.pick([0, 0.02, 0.05]),
  slowMs: [50, 500],
});
