/** What goes wrong around Managers that elect each other: most of it with the one that leads. */

import type { Random } from '../../../sim/random.ts';
import { World } from '../../../sim/world.ts';
import { clockRateBound, resolveDurations } from '../../options.ts';
import type { ManagerNode } from '../nodes.ts';
import { type SoftFault, SoftWorld } from './soft-world.ts';

const OWNERS = 3;
const LOOKUPS = 2;
/** How long faults go on, in leases. */
const CHAOS_LEASES = 40;

type Trouble = (soft: SoftWorld, random: Random) => void;

/** A world of this seed, with everything going wrong that may. */
export function drawSoftWorld(seed: number, fault?: SoftFault, trace = false): SoftWorld {
  const dice = new World({ seed }).random.fork('soft chaos');
  const leaseMs = dice.between(1_500, 4_000);
  const leaderLeaseMs = leaseMs * dice.between(0.15, 0.5);
  const renewEveryMs = leaseMs / dice.between(5, 8);
  const durations = {
    ...{ leaseMs, renewEveryMs, leaderLeaseMs, leaderChangeMs: leaseMs * 0.5 },
    holdMs: leaseMs * dice.between(1.02, 1.12),
    syncEveryMs: 2 * renewEveryMs,
    staleAfterMs: leaseMs * dice.between(1, 6),
  };
  const lossChance = dice.pick([0, 0.02, 0.1]);
  const links = { lossChance, duplicateChance: lossChance, delayMs: [0.5, leaderLeaseMs / 40] as const };
  return new SoftWorld({
    ...{ seed, trace, durations, links, groupLinks: links, fault },
    clockSkewMs: leaderLeaseMs * dice.pick([0.02, 0.1, 0.24]),
    rateSpread: clockRateBound(resolveDurations(durations)),
  });
}

/** Lets everything go wrong for a while, then nothing any more, and looks whether all is well. */
export function endure(soft: SoftWorld): void {
  const { world, durations } = soft;
  const random = world.random.fork('chaos');
  soft.start();
  for (let index = 1; index <= OWNERS; index += 1) soft.addOwner(`owner-${index}`);
  for (let index = 1; index <= LOOKUPS; index += 1) soft.addLookup(`look-up-${index}`);
  soft.run(soft.settleMs);
  const endMs = world.trueMs + CHAOS_LEASES * durations.leaseMs;
  while (world.trueMs < endMs) {
    random.pick(TROUBLES)(soft, random);
    soft.run(durations.leaseMs * random.pick([random.between(0.05, 0.5), random.between(1, 6)]));
  }
  soft.heal();
  soft.settle();
}

const leaderOrAny = (soft: SoftWorld, random: Random): ManagerNode =>
  soft.leader ?? random.pick(soft.managers);

const TROUBLES: readonly Trouble[] = [
  function dies(soft, random) {
    const node = leaderOrAny(soft, random);
    node.process.crash();
    soft.world.count('managers that died');
    soft.world.after(random.between(0, 3) * soft.group.leaseMs, () => {
      if (!node.process.alive) node.process.start();
    });
  },
  function isCutFromGroup(soft, random) {
    const node = leaderOrAny(soft, random);
    soft.cutFromGroup(node);
    soft.world.count('leaders cut off');
    soft.world.after(random.between(0.2, 5) * soft.group.leaseMs, () => soft.healGroup(node));
  },
  function isHeardButDoesNotHear(soft, random) {
    const node = leaderOrAny(soft, random);
    for (const { name } of soft.managers) if (name !== node.name) soft.groupNetwork.cut(name, node.name);
    soft.world.after(random.between(0.2, 5) * soft.group.leaseMs, () => soft.healGroup(node));
  },
  function stands(soft, random) {
    leaderOrAny(soft, random).process.pause(random.between(0.1, 4) * soft.group.leaseMs);
    soft.world.count('pauses');
  },
  function sleeps(soft, random) {
    leaderOrAny(soft, random).process.suspend(random.between(0.1, 4) * soft.group.leaseMs);
    soft.world.count('suspensions');
  },
  function stepsDown(soft, random) {
    const node = leaderOrAny(soft, random);
    node.stepDown();
    soft.world.after(random.between(0.1, 3) * soft.group.leaseMs, () => node.standAgain());
  },
  function clockIsSet(soft, random) {
    soft.setClock(random.pick(soft.managers));
    soft.world.count('clocks set');
  },
  function ownerDies(soft, random) {
    const { process } = random.pick(soft.owners);
    process.crash();
    soft.world.after(random.between(0, 1) * soft.durations.leaseMs, () => {
      if (!process.alive) process.start();
    });
  },
  function ownerStands(soft, random) {
    random.pick(soft.owners).process.pause(random.between(0.1, 2) * soft.durations.leaseMs);
  },
  function ownerIsCutOff(soft, random) {
    const { name } = random.pick(soft.owners);
    for (const manager of soft.managers) soft.network.cutBoth(name, manager.name);
    soft.world.after(random.between(0.1, 3) * soft.durations.leaseMs, () => {
      for (const manager of soft.managers) soft.network.heal(name, manager.name);
    });
  },
];
