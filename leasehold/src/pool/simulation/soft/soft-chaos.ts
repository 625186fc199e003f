/**
 * One seed: Managers that elect each other and keep nothing, with everything going wrong that may. Two kinds of worlds:
 *
 *  - *hostile*: whatever can go wrong goes wrong, settings and the group change, and at the end all comes right.
 *  - *lowered*: an operator restarts the Managers one by one with a smaller `takeoverMs`, against the advice. While they hear each
 *    other that is covered: the restarted ones learn of the larger number (`flease/core/peer-table.ts`).
 */

import { Random } from '../../../sim/random.ts';
import {
  clockRateBound,
  type ResolvedDurations,
  resolveDurations,
  takeoverHoldMs,
} from '../../core/options.ts';
import { Fate } from '../fate.ts';
import { MemberFaults } from '../member-faults.ts';
import { GroupFaults } from './group-faults.ts';
import { SoftWorld } from './soft-world.ts';

type Palette = [ResolvedDurations, ...ResolvedDurations[]];

export class SoftChaos {
  readonly soft: SoftWorld;
  readonly #isLowered: boolean;
  readonly #chaosMs: number;
  readonly #fate: Fate<SoftWorld>;
  readonly #members: MemberFaults;
  readonly #group: GroupFaults;

  constructor(seed: number, trace: boolean) {
    const dice = new Random(seed).fork('soft chaos');
    this.#isLowered = dice.chance(0.18);
    const leaseMs = dice.between(1_500, 4_000);
    const durations = drawPalette(dice, leaseMs);
    const leaderLeaseMs = Math.min(...durations.map((one) => one.leaderLeaseMs));
    const isLossy = !this.#isLowered && dice.chance(0.7);
    const lossChance = isLossy ? dice.pick([0.02, 0.1, 0.2]) : 0;
    const links = {
      ...{ lossChance, duplicateChance: lossChance, delayMs: [0.5, leaderLeaseMs / 40] as const },
      slowChance: isLossy ? dice.between(0, 0.05) : 0,
      slowMs: [leaderLeaseMs / 10, leaderLeaseMs * 2] as const,
    };
    this.soft = new SoftWorld({
      ...{ seed, trace, durations, links, groupLinks: links },
      managers: this.#isLowered ? 3 : dice.pick([1, 2, 3, 3, 3, 3, 4, 5]),
      pools: dice.chance(0.3) ? ['pool', 'other'] : ['pool'],
      clockSkewMs: leaderLeaseMs * dice.pick([0.02, 0.1, 0.24]),
      takeoverMs: Math.max(...durations.map(takeoverHoldMs)) * dice.pick([1, 1, 1.2]),
      rateSpread: dice.chance(0.3) ? 1 : Math.min(...durations.map(clockRateBound)),
      clocksWander: true,
      virtualNodes: dice.pick([1, 2, 4, 8]),
    });
    this.#chaosMs = leaseMs * dice.between(8, 14);
    this.#fate = new Fate(this.soft, dice);
    this.#members = new MemberFaults(this.#fate, this.soft.pools);
    this.#group = new GroupFaults(this.#fate);
  }

  run(): void {
    const { soft } = this;
    this.#populate();
    soft.run(soft.group.recoveryMs + soft.takeoverMs);
    if (this.#isLowered) this.#lower();
    else this.#havoc();
    soft.run(this.#chaosMs);
    this.#heal();
    soft.settle();
    soft.world.count('events', soft.world.events);
  }

  #populate(): void {
    const { soft } = this;
    const { dice } = this.#fate;
    for (const node of soft.managers) {
      if (!this.#isLowered && dice.chance(0.5)) soft.startWith(node, { durations: dice.pick(soft.palette) });
    }
    soft.start();
    for (let owners = dice.integer(1, 6); owners > 0; owners -= 1) this.#members.addOwner();
    for (let lookups = dice.integer(1, 4); lookups > 0; lookups -= 1) this.#members.addLookup();
  }

  #heal(): void {
    const { soft } = this;
    this.#fate.stop();
    soft.heal();
    for (const { process } of soft.owners) if (!process.alive && this.#fate.dice.chance(0.5)) process.start();
    const end = soft.world.trueMs + 10 * soft.settleMs;
    while (soft.operator.isBusy && soft.world.trueMs < end) soft.run(soft.group.leaseMs);
    if (soft.operator.isBusy) throw soft.world.broken('settles', 'a change of the group never ends');
    soft.heal(); // A Manager that was stopped may have been started meanwhile.
  }

  #havoc(): void {
    const { dice } = this.#fate;
    const [members, group] = [this.#members, this.#group];
    const often = dice.between(0.5, 2);
    const faults: readonly [leases: number, fault: () => void][] = [
      [2, () => members.addOwner()],
      [4, () => members.leave()],
      [2, () => members.crashOwner()],
      [1.5, () => members.stopOwner()],
      [1.5, () => members.cutOwner()],
      [2, () => members.troubleLookup()],
      [4, () => members.slowAnswers()],
      [1, () => members.shortSuspension()],
      [3, () => members.drowsyOwner()],
      [2, () => members.troubleClock([])],
      [4, () => group.die()],
      [12, () => group.powerCut()],
      [12, () => group.rollingRestart()],
      [5, () => group.cutOff()],
      [5, () => group.deafen()],
      [5, () => group.pause()],
      [5, () => group.suspend()],
      [8, () => group.stepDown()],
      [2, () => group.configure()],
      [5, () => group.mistakeTakeover()],
      [6, () => group.changeGroup()],
    ];
    for (const [leases, fault] of faults) if (dice.chance(0.6)) this.#fate.every(leases * often, fault);
    this.#fate.every(6, () => group.stageTakeover());
  }

  /** The leader gives the longest leases and is then gone for good with one owner; the others restart with a smaller number. */
  #lower(): void {
    const { soft } = this;
    const { leader, world, group, shortest, longest } = soft;
    const { dice } = this.#fate;
    if (leader === undefined) return;
    world.count('takeovers lowered');
    leader.configure({ durations: longest, pools: undefined });
    const others = soft.managers.filter((node) => node !== leader);
    const lower = (node: (typeof others)[number]): void => {
      soft.startWith(node, { durations: shortest, takeoverMs: takeoverHoldMs(shortest), pools: undefined });
      node.process.restart();
    };
    const startMs = soft.durations.leaseMs;
    const apartMs = group.leaseMs * dice.between(0.6, 1.2);
    others.forEach((node, place) => world.after(startMs + place * apartMs, () => lower(node)));
    world.after(startMs + apartMs, () => {
      leader.process.crash();
      for (const { name } of soft.owners)
        for (const manager of soft.managers) if (dice.chance(0.7)) soft.network.cutBoth(name, manager.name);
    });
    world.after(startMs + soft.takeoverMs * 1.2, () => {
      soft.network.heal();
      lower(leader);
    });
  }
}

/** Durations with thin margins: those that all begin with, shorter ones and longer ones. */
function drawPalette(dice: Random, leaseMs: number): Palette {
  const draw = (times: number): ResolvedDurations => drawDurations(dice, leaseMs * times);
  return [draw(1), draw(dice.between(0.5, 0.8)), draw(dice.pick([1.5, 2, 3]))];
}

function drawDurations(dice: Random, leaseMs: number): ResolvedDurations {
  const renewEveryMs = leaseMs / dice.between(5, 8);
  const syncEveryMs = 2 * renewEveryMs;
  return resolveDurations({
    ...{ leaseMs, renewEveryMs, syncEveryMs, leaderChangeMs: leaseMs * 0.5 },
    leaderLeaseMs: leaseMs * dice.between(0.2, 0.5),
    holdMs: leaseMs * dice.between(1.02, 1.25),
    staleAfterMs: leaseMs * dice.between(1, 6),
    revokeTimeoutMs: leaseMs * dice.between(0.1, 0.5),
  });
}
