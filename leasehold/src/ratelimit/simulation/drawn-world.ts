/**
 * The properties of a world, drawn from the seed. Most worlds mix all faults. Some are drawn for one purpose:
 *
 *  - `calm`: no faults, true clocks: how much of the limit is used.
 *  - `flood`: no faults, small limits and many more requests than tokens: how many messages denials cost, and whether a server starves.
 *  - `hoard`: batches lie idle, while their owner's bucket fills again; then all spend at once.
 *  - `hand-over`: keys change their owner again and again while tokens are away.
 *  - `leaving`: owners leave as planned, one after the other, while tokens are away.
 */

import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import type { LinkFaults } from '../../sim/network.ts';
import { Random } from '../../sim/random.ts';
import { type Rate, resolveRate } from '../core/local/rate.ts';
import type { WhenLost } from '../core/shared/messages.ts';
import type { CutOffPolicy } from '../core/shared/when-cut-off.ts';

export type WorldKind = 'mixed' | 'calm' | 'flood' | 'hoard' | 'hand-over' | 'leaving';

export interface DrawnWorld {
  readonly kind: WorldKind;
  readonly names: readonly string[];
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
}

export const SLOWEST: number = 1 / Math.sqrt(CLOCK_RATE_BOUND);
export const FASTEST: number = Math.sqrt(CLOCK_RATE_BOUND);
export const WAIT_MS = 100;
/** Suspensions are noticed from here on. */
export const SUSPENSION_MS = 40;
/** Keys that lie in the same slot have the same owner. */
export const SLOTS = 3;

const KINDS: readonly WorldKind[] = [
  ...Array<WorldKind>(6).fill('mixed'),
  ...(['calm', 'flood', 'hoard', 'hoard', 'hand-over', 'hand-over', 'leaving', 'leaving'] as const),
];

export function drawWorld(seed: number): DrawnWorld {
  const random = new Random(seed).fork('drawn world');
  const kind = random.pick(KINDS);
  const size = random.integer(2, 5);
  const names = Array.from({ length: size }, (_, index) => `s${index}`);
  const isStill = kind === 'calm' || kind === 'flood';
  return {
    kind,
    names,
    rate: drawRate(kind, random),
    whenLost: random.pick(['full', 'full', 'empty']),
    whenCutOff: isStill ? { kind: 'closed' } : drawPolicy(size, random),
    links: linksOf(kind, random),
    rates: names.map(() => (isStill ? 1 : drawClockRate(random))),
    lateMs: isStill ? 0 : random.pick([0, 0, 10, 40]),
    faults: kind === 'mixed' ? random.integer(6, 16) : 0,
    demand: kind === 'flood' ? 20 : kind === 'hoard' ? 1.1 : random.pick([0.7, 1.4, 3]),
    stormMs: 12_000,
  };
}

/** Often at the very ends of what is allowed. */
export const drawClockRate = (random: Random): number =>
  random.pick([SLOWEST, FASTEST, 1, random.between(SLOWEST, FASTEST)]);

function drawRate(kind: WorldKind, random: Random): Rate {
  if (kind === 'flood') return resolveRate({ limit: 20, burst: random.pick([1, 5, 20]) });
  if (kind === 'hoard') return resolveRate({ limit: 150, burst: random.pick([30, 60]) });
  // A bucket that takes longer to fill than a lease lasts, and one that is full at once.
  return resolveRate(
    random.pick([
      { limit: 60, burst: 40 },
      { limit: 30, burst: 90 },
      { limit: 60, burst: 8 },
    ]),
  );
}

function drawPolicy(size: number, random: Random): CutOffPolicy {
  return random.pick<CutOffPolicy>([
    { kind: 'closed' },
    { kind: 'closed' },
    {
      kind: 'share',
      maxServers: random.pick([size, undefined, undefined]),
      forMs: random.pick([300, 700, 15_000]),
    },
    { kind: 'share', maxServers: undefined, forMs: 700 },
    { kind: 'open', factor: 0.5, forMs: 700 },
  ]);
}

function linksOf(kind: WorldKind, random: Random): Partial<LinkFaults> {
  if (kind === 'calm' || kind === 'flood') return { delayMs: [0.5, 3] };
  if (kind === 'hand-over' || kind === 'leaving')
    return { delayMs: [0.5, 10], slowChance: 0.2, slowMs: [50, 350] };
  if (random.chance(0.3)) {
    return { inOrder: true, delayMs: [0.5, 10], breakChance: 0.002, slowChance: 0.02, slowMs: [50, 600] };
  }
  return {
    delayMs: [0.5, 10],
    lossChance: random.pick([0, 0.05, 0.2]),
    duplicateChance: random.pick([0, 0.1, 0.4]),
    slowChance: random.pick([0, 0.05, 0.3]),
    slowMs: [50, 600],
  };
}
