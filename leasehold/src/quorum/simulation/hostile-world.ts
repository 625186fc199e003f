/**
 * The course of a world: a storm (`sim/storm.ts`) in which a few kinds of trouble are played hard, and then nothing goes wrong any more.
 *
 * The storm aims at the instants at which a lease or a hold ends, as the processes themselves will see that instant. In some worlds the holders
 * of the keys change all the time besides.
 */

import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import type { Instant } from '../../runtime/time.ts';
import type { Random } from '../../sim/random.ts';
import { Storm } from '../../sim/storm.ts';
import { commonTroubles } from '../../sim/storm-troubles.ts';
import { SUSPENSION_NOTICED_MS } from '../core/leases.ts';
import { ballotTroubles } from './ballot-troubles.ts';
import { seeCalm } from './calm.ts';
import { diskTroubles } from './disk-troubles.ts';
import { drawPlacement, drawPlacementChange } from './drawn-world.ts';
import { leaseTroubles } from './lease-troubles.ts';
import { memberTroubles } from './member-troubles.ts';
import type { ReplicaNode } from './node.ts';
import type { QuorumWorld } from './quorum-world.ts';

/** How likely each kind of trouble is in a world, in proportion. */
const WEIGHTS: Readonly<Record<string, number>> = {
  crash: 2,
  'crash all': 2,
  pause: 1,
  suspension: 4,
  'short suspension': 0.5,
  'late timers': 0.5,
  'stuck disk': 1,
  'cut link': 0.5,
  'one-way cut': 1,
  'cut off': 1,
  partition: 1,
  'lost messages': 1,
  'late messages': 1,
  'slow link': 1,
  'repeated messages': 1,
  'clock rate': 0.5,
  'clocks apart': 1,
  'wall clock step': 0.3,
  release: 1,
  'reader cut off': 12,
  transfer: 1,
  'new leader': 1,
  'changing majorities': 10,
  damage: 5,
  restore: 2,
  copy: 8,
  'lost disk': 1,
  double: 1,
  add: 1,
  remove: 4,
  'late change': 1,
  stranger: 1,
};

/** So many kinds in a world. */
const KINDS = [1, 2, 2, 3, 4];

/** Everything goes wrong for a while. */
export function worsen(quorum: QuorumWorld): void {
  const { world, drawn } = quorum;
  const random = world.random.fork('storm');
  const storm = new Storm<ReplicaNode>({
    random,
    weights: WEIGHTS,
    common: commonTroubles(),
    own: {
      ...leaseTroubles(quorum),
      ...ballotTroubles(quorum),
      ...diskTroubles(quorum),
      ...memberTroubles(quorum),
    },
    everyMs: drawn.troubleMs,
    kinds: KINDS,
    ground: {
      world,
      victims: () => quorum.operator.members.filter(({ isLost }) => !isLost),
      favourites: () => (quorum.operator.leader === undefined ? [] : [quorum.operator.leader]),
      networks: [{ network: quorum.replicas, peers: () => quorum.nodes.map(({ storage }) => storage) }],
      leaseMs: drawn.durations.leaseMs,
      suspensionToleranceMs: SUSPENSION_NOTICED_MS,
      clockRates: [CLOCK_RATE_BOUND ** -0.5, CLOCK_RATE_BOUND ** 0.5],
      deadlines: () => deadlines(quorum),
    },
  });
  quorum.start();
  const dice = world.random.fork('probes');
  const probes = world.every([1, 6], () => probe(quorum, dice));
  world.run({ untilMs: drawn.durations.electionMs * random.between(1, 6) });
  storm.begin();
  const { placementMs } = drawn;
  if (placementMs !== undefined) world.count('worlds whose holders change all the time');
  const placements =
    placementMs === undefined
      ? undefined
      : world.every([1, 2 * placementMs], () => changePlacement(quorum, storm));
  world.run({ untilMs: world.trueMs + drawn.stormMs });
  placements?.[Symbol.dispose]();
  storm.end();
  probes[Symbol.dispose]();
}

/** Nothing goes wrong any more. */
export function calm(quorum: QuorumWorld): void {
  seeCalm(quorum, quorum.world.random.fork('calm'));
}

/** Reads wherever a replica may answer by itself: clients that wait for other answers would miss most of the instants that matter. */
function probe({ nodes, drawn }: QuorumWorld, random: Random): void {
  const several = random.chance(0.2);
  const keys = several ? random.shuffle(drawn.keys).slice(0, 2) : [random.pick(drawn.keys)];
  random.pick(nodes).probe(keys);
}

function changePlacement({ operator }: QuorumWorld, { random }: Storm<ReplicaNode>): void {
  const { leader, nodes } = operator;
  const placement = random.chance(0.5)
    ? drawPlacement(random, nodes.length)
    : drawPlacementChange(random, nodes.length);
  leader?.reconfigure({ kind: 'placement', placement });
}

/** The true times at which the leases of holders and the holds of grantors end, each by the clock of its process. */
function* deadlines({ nodes }: QuorumWorld): Iterable<number> {
  for (const { replica, process } of nodes) {
    if (replica === undefined) continue;
    const { leases } = replica.view;
    const at = (instant: Instant): number => process.clock.trueMsOf(instant);
    for (const { until } of leases.held(process.now())) yield at(until);
    const hold = leases.nextExpiry(process.now());
    if (hold !== undefined) yield at(hold);
  }
}
