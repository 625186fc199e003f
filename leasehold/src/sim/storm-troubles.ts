/**
 * The troubles that every world knows, because they befall processes, machines and networks and not a protocol: what a storm plays (`storm.ts`).
 *
 * Each goes to the limit of what the documentation allows, and not beyond: clocks *at* the bound of their rates, suspensions just below what
 * a machine notices, messages later than any lease.
 */

import type { LinkFaults } from './network.ts';
import type { Storm, Trouble, Victim } from './storm.ts';

export type CommonTrouble =
  | 'crash'
  | 'crash all'
  | 'pause'
  | 'suspension'
  | 'short suspension'
  | 'late timers'
  | 'stuck disk'
  | 'cut link'
  | 'one-way cut'
  | 'cut off'
  | 'partition'
  | 'lost messages'
  | 'late messages'
  | 'slow link'
  | 'repeated messages'
  | 'clock rate'
  | 'clocks apart'
  | 'wall clock step';

/** A suspension that a machine need not notice lasts for at most so much of the tolerance. */
const JUST_BELOW = [0.5, 0.95, 0.999];
const WALL_STEP_MS = 30_000;

export function commonTroubles<V extends Victim>(): Readonly<Record<CommonTrouble, Trouble<V>>> {
  return {
    crash: (victim, storm) => storm.crash(victim),
    'crash all': (_, storm) => {
      for (const victim of storm.ground.victims()) storm.crash(victim);
    },
    pause: (victim, storm) => storm.pause(victim, storm.lasting(2)),
    suspension: (victim, storm) => storm.suspend(victim, storm.lasting(3)),
    'short suspension': (victim, storm) => {
      if (victim.process.clock.suspended) return;
      storm.suspend(victim, storm.ground.suspensionToleranceMs * storm.random.pick(JUST_BELOW));
    },
    'late timers': ({ process }, storm) => {
      const usualMs = process.lateMs;
      process.lateMs = storm.lasting(0.5);
      storm.lasts(storm.lasting(3), () => (process.lateMs = usualMs), `timers of ${process.name}`);
    },
    'stuck disk': (victim, storm) => {
      victim.stickDisk?.(storm.ground.world.trueMs + storm.lasting(3));
      storm.lasts(Number.POSITIVE_INFINITY, () => victim.stickDisk?.(0));
    },
    'cut link': ({ process }, storm) => cutLink(process.name, storm),
    'one-way cut': ({ process }, storm) => cutOneWay(process.name, storm),
    'cut off': ({ process }, storm) => cutOff(process.name, storm),
    partition: (_, storm) => divide(storm),
    'lost messages': (_, storm) =>
      spoil(storm, { lossChance: storm.random.between(0, 0.6), breakChance: 0.02 }),
    'late messages': (_, storm) =>
      spoil(storm, {
        slowChance: storm.random.between(0, 0.6),
        slowMs: [0, storm.ground.leaseMs * storm.random.pick([0.5, 2, 4])],
      }),
    'slow link': ({ process }, storm) => slowLink(process.name, storm),
    'repeated messages': (_, storm) =>
      spoil(storm, {
        duplicateChance: storm.random.between(0, 0.6),
        slowChance: storm.random.between(0, 0.2),
        slowMs: [0, storm.ground.leaseMs * storm.random.pick([0.5, 2])],
      }),
    'clock rate': (victim, storm) => {
      const [slowest, fastest] = storm.ground.clockRates;
      storm.setRate(victim, storm.random.pick([slowest, fastest, storm.random.between(slowest, fastest)]));
    },
    'clocks apart': (victim, storm) => {
      const [one, other] = storm.random.shuffle(storm.ground.clockRates) as [number, number];
      for (const each of storm.ground.victims()) storm.setRate(each, each === victim ? one : other);
    },
    'wall clock step': ({ process }, storm) => {
      const byMs = storm.random.pick([-1, 1, storm.random.between(-1, 1)]) * WALL_STEP_MS;
      process.stepWall(byMs);
      storm.lasts(Number.POSITIVE_INFINITY, () => process.stepWall(-byMs));
    },
  };
}

/** One link, mostly both ways. */
function cutLink<V extends Victim>(name: string, storm: Storm<V>): void {
  const { random, ground } = storm;
  const forMs = storm.lasting(3);
  const dropInFlight = random.chance(0.5);
  const [there, back] = random.pick([
    [true, true],
    [true, false],
    [false, true],
  ]);
  for (const { network, peers } of ground.networks) {
    const others = othersThan(name, peers());
    if (others.length === 0) continue;
    const other = random.pick(others);
    if (there === true) storm.cut(network, name, other, forMs, { dropInFlight });
    if (back === true) storm.cut(network, other, name, forMs, { dropInFlight });
  }
}

/** Most others no longer hear the victim; or the victim no longer hears them. */
function cutOneWay<V extends Victim>(name: string, storm: Storm<V>): void {
  const { random, ground } = storm;
  const forMs = storm.lasting(3);
  const isDeaf = random.chance(0.5);
  for (const { network, peers } of ground.networks)
    for (const other of othersThan(name, peers())) {
      if (random.chance(0.3)) continue;
      if (isDeaf) storm.cut(network, other, name, forMs);
      else storm.cut(network, name, other, forMs);
    }
}

function cutOff<V extends Victim>(name: string, storm: Storm<V>): void {
  const forMs = storm.lasting(3);
  const dropInFlight = storm.random.chance(0.5);
  for (const { network, peers } of storm.ground.networks)
    for (const other of othersThan(name, peers()))
      storm.cutBoth(network, name, other, forMs, { dropInFlight });
}

/** Two sides that do not reach each other, the same in every network. */
function divide<V extends Victim>(storm: Storm<V>): void {
  const { random, ground } = storm;
  const names = random.shuffle([...new Set(ground.networks.flatMap(({ peers }) => peers()))]);
  const side = new Set(names.slice(0, random.integer(1, Math.max(1, names.length - 1))));
  const forMs = storm.lasting(3);
  const dropInFlight = random.chance(0.5);
  for (const { network, peers } of ground.networks) {
    const here = peers().filter((name) => side.has(name));
    for (const one of here)
      for (const other of peers())
        if (!side.has(other)) storm.cutBoth(network, one, other, forMs, { dropInFlight });
  }
}

function spoil<V extends Victim>(storm: Storm<V>, faults: Partial<LinkFaults>): void {
  const forMs = storm.lasting(2);
  for (const { network } of storm.ground.networks) storm.spoil(network, faults, forMs);
}

/** What the victim says to another process takes long, or what it hears of that process. */
function slowLink<V extends Victim>(name: string, storm: Storm<V>): void {
  const { random, ground } = storm;
  const forMs = storm.lasting(3);
  const isHeard = random.chance(0.5);
  const slowMs = [0, ground.leaseMs * random.pick([0.5, 2])] as const;
  for (const { network, peers } of ground.networks) {
    const others = othersThan(name, peers());
    if (others.length === 0) continue;
    const other = random.pick(others);
    storm.spoilLink(network, isHeard ? [name, other] : [other, name], { slowChance: 0.9, slowMs }, forMs);
  }
}

/** A name that is not in the network has no links there. */
const othersThan = (name: string, peers: readonly string[]): readonly string[] =>
  peers.includes(name) ? peers.filter((other) => other !== name) : [];
