/**
 * What a world is like, drawn from its seed: how many servers, how bad the network, how the clocks run. Most worlds mix all faults.
 * Some are drawn for one danger that is rare in the mixture.
 *
 *  - `slow-pair`: two servers and a network on which half of the messages take up to one and a half seconds: a lease counted from
 *    an answer outlives the promise.
 *  - `drifting`: two servers, one with the slowest and one with the fastest clock allowed. The slow one is paused and the fast
 *    one proposes to go on alone in the same moment: a promise that is too short ends before the lease that rests on it.
 *  - `deaf-middle`: two servers that reach each other only through a third, which forwards nothing.
 *  - `data-lost`: the messages of one server are lost, and nothing else is.
 *
 * In one world of five, views come from a registry in etcd. Half of these are drawn for the danger that the registry alone is against:
 *
 *  - `usurped`: a server acts; its way to etcd is slow or cut while etcd ends its lease early, and another server, which cannot reach the first, registers.
 *
 * One world of 24 is drawn for a machine with too few processors:
 *
 *  - `stalled`: timers are late, and processes stand still now and then (`stalls.ts`).
 *
 * One world of twelve has troubles of clients only (`client-troubles.ts`).
 *
 * Two worlds of 25 play one of the stories of `stories.ts`, and one of 25 is drawn for a store that goes back:
 *
 *  - `restored`: two or three servers, parted, of which one side is registered; etcd is put back from a backup (`restored-etcd.ts`).
 */

import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import type { LinkFaults } from '../../sim/network.ts';
import { Random } from '../../sim/random.ts';
import { type Durations, resolveDurations } from '../core/durations.ts';

export type WorldKind =
  | 'mixed'
  | 'slow-pair'
  | 'drifting'
  | 'deaf-middle'
  | 'data-lost'
  | 'usurped'
  | 'restored'
  | 'stalled';

export interface DrawnClient {
  readonly name: string;
  readonly rate: number;
  /** The name under which the process joins, if that is another one. */
  readonly as?: string;
}

/** How late timers are in a stalled world, at most. */
export const TIMERS_LATE_MS = 200;

/** A process with this at the end of its name is another one of the client whose name is before. */
export const SECOND = ' again';

export type Story = 'unheard-change' | 'two-suspensions' | 'first-views-lost' | 'unacknowledged';

export interface DrawnWorld {
  readonly kind: WorldKind;
  /** Whether views come from a registry; then, whether an address stays the same after a restart. */
  readonly registry?: { readonly hasLastingAddress: boolean } | undefined;
  readonly names: readonly string[];
  /** The clients, each with the rate of its clock. */
  readonly clients?: readonly DrawnClient[] | undefined;
  readonly durations: Durations;
  readonly links: Partial<LinkFaults>;
  /** How fast each server's clock runs; the fastest at most {@link CLOCK_RATE_BOUND} times as fast as the slowest. */
  readonly rates: readonly number[];
  readonly lateMs: number;
  readonly faults: number;
  readonly chaosMs: number;
  /** A server of a client restarts and leaves again and again, and nothing else goes wrong: no other draw meets this in so short a time. */
  readonly hasRestarts?: true;
  /** Only clients have troubles (`client-troubles.ts`). */
  readonly hasClientTroubles?: true;
  /** A story that is played again and again (`stories.ts`), and nothing else goes wrong. */
  readonly story?: Story;
}

/** One seed in so many draws a world in which processes only wait for a processor. */
const STALLED_OF_SEEDS = 24;

/** One seed in so many draws such a world; the worlds of all others stay as they were. */
const RESTARTS_OF_SEEDS = 24;
const RESTORED_OF_SEEDS = 25;
const STORY_OF_SEEDS = 25;
const CLIENT_TROUBLES_OF_SEEDS = 12;

const SLOWEST = 1 / Math.sqrt(CLOCK_RATE_BOUND);
const FASTEST = Math.sqrt(CLOCK_RATE_BOUND);

/** One world of so many has a registry. */
const REGISTRY_EVERY = 5;
const REGISTRY_KINDS: readonly WorldKind[] = [
  ...Array<WorldKind>(4).fill('mixed'),
  ...Array<WorldKind>(4).fill('usurped'),
  ...(['slow-pair', 'data-lost'] as const),
];
const DANGERS: readonly WorldKind[] = ['slow-pair', 'drifting', 'deaf-middle', 'data-lost'];

export function drawWorld(seed: number): DrawnWorld {
  if (seed % RESTARTS_OF_SEEDS === 0) return drawRestarts(new Random(seed).fork('restarts'));
  if (seed % RESTORED_OF_SEEDS === 13) return drawRestored(new Random(seed).fork('restored'));
  if (seed % STORY_OF_SEEDS === 21) return drawStory(seed);
  if (seed % STORY_OF_SEEDS === 20) return drawLostFrames(seed);
  if (seed % STALLED_OF_SEEDS === 11) return drawStalled(new Random(seed).fork('stalled'));
  if (seed % CLIENT_TROUBLES_OF_SEEDS === 7)
    return drawClientTroubles(new Random(seed).fork('troubles of clients'));
  const random = new Random(seed).fork('drawn world');
  const hasRegistry = seed % REGISTRY_EVERY === 2;
  const drawn = random.pick<WorldKind>([...Array<WorldKind>(9).fill('mixed'), ...DANGERS]);
  const kind = hasRegistry ? random.pick<WorldKind>(REGISTRY_KINDS) : drawn;
  const size = hasRegistry && kind === 'data-lost' ? 2 : sizeOf(kind, random);
  const names = Array.from({ length: size }, (_, index) => `s${index}`);
  const inOrder = kind === 'mixed' && random.chance(0.3);
  return {
    kind,
    registry: hasRegistry ? { hasLastingAddress: random.chance(0.6) } : undefined,
    names,
    clients: seed % 2 === 0 ? drawClients(kind, new Random(seed).fork('clients')) : [],
    durations: resolveDurations({ conflictMaxMs: 6_000, ...(hasRegistry ? { doubtMs: 4_600 } : {}) }),
    links: linksOf(kind, inOrder, random),
    rates: names.map((_, index) =>
      kind === 'drifting' ? (index === 0 ? SLOWEST : FASTEST) : drawRate(random),
    ),
    lateMs: random.pick([0, 0, 20, 60]),
    faults: hasNoDrawnFaults(kind) ? 0 : random.integer(8, 22),
    chaosMs: 24_000,
  };
}

const quietWorld = (names: readonly string[]): Omit<DrawnWorld, 'kind' | 'rates'> => ({
  ...{ names, durations: resolveDurations({ conflictMaxMs: 6_000 }), links: { delayMs: [1, 20] } },
  ...{ lateMs: 0, faults: 0, chaosMs: 24_000 },
});

function drawRestarts(random: Random): DrawnWorld {
  const names = Array.from({ length: random.integer(2, 3) }, (_, index) => `s${index}`);
  const clients = [{ name: 'c0', rate: SLOWEST }];
  return { ...quietWorld(names), kind: 'mixed', clients, rates: names.map(() => FASTEST), hasRestarts: true };
}

function drawStalled(random: Random): DrawnWorld {
  const names = Array.from({ length: random.integer(2, 4) }, (_, index) => `s${index}`);
  return {
    ...quietWorld(names),
    kind: 'stalled',
    rates: names.map(() => drawRate(random)),
    lateMs: TIMERS_LATE_MS,
  };
}

function drawClientTroubles(random: Random): DrawnWorld {
  const names = Array.from({ length: random.integer(1, 3) }, (_, index) => `s${index}`);
  const clients: DrawnClient[] = Array.from({ length: random.integer(1, 2) }, (_, index) => ({
    name: `c${index}`,
    rate: drawRate(random),
  }));
  const second = { name: `c0${SECOND}`, as: 'c0', rate: drawRate(random) };
  return {
    ...{ ...quietWorld(names), kind: 'mixed', rates: names.map(() => drawRate(random)) },
    ...{ clients: [...clients, second], hasClientTroubles: true },
  };
}

function drawRestored(random: Random): DrawnWorld {
  const names = random.fork('a third server').chance(0.4) ? ['s0', 's1', 's2'] : ['s0', 's1'];
  return {
    ...{ ...quietWorld(names), kind: 'restored', registry: { hasLastingAddress: random.chance(0.5) } },
    durations: resolveDurations({ conflictMaxMs: 6_000, doubtMs: 4_600 }),
    ...{ chaosMs: 36_000, rates: names.map(() => drawRate(random)) },
    clients: random.chance(0.5) && names.length === 2 ? [{ name: 'c0', rate: SLOWEST }] : [],
  };
}

/** One story after the other, with the clocks at the ends of what is allowed. */
function drawStory(seed: number): DrawnWorld {
  const isUnheard = Math.floor(seed / STORY_OF_SEEDS) % 2 === 0;
  const names = isUnheard ? ['s0', 's1', 's2'] : ['s0', 's1'];
  return {
    ...{ ...quietWorld(names), kind: 'mixed', story: isUnheard ? 'unheard-change' : 'two-suspensions' },
    clients: isUnheard ? [] : [{ name: 'c0', rate: SLOWEST }],
    rates: names.map((_, index) => (index === 1 ? SLOWEST : FASTEST)),
  };
}

const hasNoDrawnFaults = (kind: WorldKind): boolean => kind !== 'mixed' && kind !== 'slow-pair';

/** One story after the other: the frame that is lost carries a view, or an acknowledgement. */
function drawLostFrames(seed: number): DrawnWorld {
  const random = new Random(seed).fork('lost frames');
  const isOfViews = Math.floor(seed / STORY_OF_SEEDS) % 2 === 0;
  const names = Array.from({ length: random.integer(isOfViews ? 1 : 2, 3) }, (_, index) => `s${index}`);
  const world = { ...quietWorld(names), kind: 'mixed', rates: names.map(() => drawRate(random)) } as const;
  if (isOfViews) {
    const clients = ['c0', 'c1'].map((name) => ({ name, rate: drawRate(random) }));
    return { ...world, clients, story: 'first-views-lost' };
  }
  return {
    ...{ ...world, registry: { hasLastingAddress: random.chance(0.5) }, story: 'unacknowledged' },
    durations: resolveDurations({ conflictMaxMs: 6_000, doubtMs: 4_600 }),
  };
}

function sizeOf(kind: WorldKind, random: Random): number {
  if (kind === 'mixed') return random.integer(2, 6);
  if (kind === 'usurped') return random.integer(2, 4);
  return kind === 'slow-pair' || kind === 'drifting' ? 2 : 3;
}

/** The worlds of odd seeds have no clients: views that clients change again and again hide what servers do wrong by themselves. */
function drawClients(kind: WorldKind, random: Random): { name: string; rate: number }[] {
  const count = kind === 'mixed' || kind === 'slow-pair' || kind === 'usurped' ? random.integer(1, 4) : 0;
  return Array.from({ length: count }, (_, index) => ({ name: `c${index}`, rate: drawRate(random) }));
}

/** Often at the very ends of what is allowed. */
export const drawRate = (random: Random): number =>
  random.pick([SLOWEST, FASTEST, 1, random.between(SLOWEST, FASTEST)]);

function linksOf(kind: WorldKind, inOrder: boolean, random: Random): Partial<LinkFaults> {
  if (hasNoDrawnFaults(kind)) return { delayMs: [1, 20] };
  const slowMs = [100, 1_500] as const;
  if (kind === 'slow-pair') return { delayMs: [1, 20], slowChance: 0.5, slowMs, lossChance: 0.02 };
  if (inOrder)
    return {
      inOrder: true,
      delayMs: [1, 20],
      breakChance: random.pick([0, 0.002]),
      slowChance: 0.02,
      slowMs,
    };
  return {
    delayMs: [1, 20],
    lossChance: random.pick([0, 0.05, 0.2]),
    duplicateChance: 0.05,
    slowChance: random.pick([0, 0.02, 0.3]),
    slowMs,
  };
}
