/**
 * Keys that move while Managers elect each other and keep nothing. Each leader begins a log of its own, so a failover loses everything, and look-ups are told so; in
 * between, and in spite of tickets and imports of a log that is gone, all promises of moves hold.
 */

import { CLOCK_RATE_BOUND } from '../../../runtime/clock-rates.ts';
import { Random } from '../../../sim/random.ts';
import type { World } from '../../../sim/world.ts';
import { resolveDurations } from '../../core/options.ts';
import { Fate } from '../fate.ts';
import { MemberFaults } from '../member-faults.ts';
import type { NodeOptions, OwnerNode, OwnerNodeOptions } from '../nodes.ts';
import { GroupFaults } from '../soft/group-faults.ts';
import { SoftWorld, type SoftWorldOptions } from '../soft/soft-world.ts';
import { Carriers } from './carriers.ts';
import { MovesCheck } from './moves-check.ts';
import { unsettled } from './unsettled.ts';
import { Wishes } from './wishes.ts';

type More = Partial<Omit<OwnerNodeOptions, keyof NodeOptions>>;

/** With owners that keep items. */
class CarryingWorld extends SoftWorld {
  readonly carriers: Carriers;
  readonly check: MovesCheck;

  constructor(options: SoftWorldOptions, lossChance: number) {
    super(options);
    this.carriers = new Carriers(
      this.world,
      { delayMs: [0.1, 5], lossChance, duplicateChance: lossChance },
      {
        wrote: (key, version) => this.check.wrote(key, version),
        told: (node, effect) => this.check.told(node, effect),
        tookUp: (node, spans) => this.check.tookUp(node, spans),
      },
    );
    this.check = new MovesCheck(
      this.world,
      this.checker,
      () => this.owners,
      (node) => this.carriers.of(node),
      this.durations.holdMs,
      (name) => this.managers.find((node) => node.name === name)?.wroteAtMs ?? 0,
    );
    this.check.isEachTermALog = true;
  }

  override addOwner(name: string, more: More = {}): OwnerNode {
    return super.addOwner(name, { ...more, carry: this.carriers.keeping() });
  }
}

export class SoftMoves {
  readonly world: World;
  readonly #soft: CarryingWorld;
  readonly #wishes = new Wishes(12);
  readonly #fate: Fate<CarryingWorld>;
  readonly #members: MemberFaults;
  readonly #group: GroupFaults;

  constructor(seed: number, trace: boolean) {
    const dice = new Random(seed).fork('soft moves');
    const leaseMs = dice.between(1_500, 3_000);
    const durations = resolveDurations({
      ...{ leaseMs, renewEveryMs: leaseMs / dice.between(5, 8), leaderChangeMs: leaseMs * 0.5 },
      ...{ syncEveryMs: leaseMs / 2, staleAfterMs: leaseMs * dice.between(1.5, 4) },
      leaderLeaseMs: leaseMs * dice.between(0.2, 0.5),
      revokeTimeoutMs: leaseMs * dice.between(0.1, 0.4),
    });
    const lossChance = dice.chance(0.5) ? dice.pick([0.02, 0.1]) : 0;
    const links = {
      ...{ lossChance, duplicateChance: lossChance },
      delayMs: [0.5, durations.leaderLeaseMs / 40] as const,
    };
    this.#soft = new CarryingWorld(
      {
        ...{ seed, trace, durations: [durations], links, groupLinks: links, managers: dice.pick([2, 3, 3]) },
        ...{ movesPolicy: this.#wishes, quietAfterMs: 0.2 * leaseMs, virtualNodes: dice.pick([1, 2]) },
        ...{ clockSkewMs: durations.leaderLeaseMs * 0.1, rateSpread: dice.pick([1, CLOCK_RATE_BOUND]) },
      },
      lossChance,
    );
    this.world = this.#soft.world;
    this.world.count('worlds without a log');
    this.#fate = new Fate(this.#soft, dice);
    this.#members = new MemberFaults(this.#fate, ['pool']);
    this.#group = new GroupFaults(this.#fate);
  }

  run(): void {
    const { dice, leaseMs } = this.#fate;
    const soft = this.#soft;
    soft.start();
    for (let owners = dice.integer(3, 4); owners > 0; owners -= 1) this.#members.addOwner();
    this.#members.addLookup();
    this.#clients();
    soft.run(soft.group.recoveryMs + soft.takeoverMs);
    this.#unrest();
    soft.run(leaseMs * dice.between(10, 14));
    this.#heal();
    this.world.count('events', this.world.events);
  }

  #clients(): void {
    if (this.#fate.isOver) return;
    this.#soft.carriers.client(this.#fate.dice, this.#soft.owners);
    this.world.after(this.#fate.dice.between(1, 12), () => this.#clients());
  }

  #unrest(): void {
    const [members, group] = [this.#members, this.#group];
    const faults: readonly [leases: number, fault: () => void][] = [
      [0.5, () => (this.#wishes.epoch += 1)],
      [0.7, () => this.#cordon()],
      [1.5, () => this.#drain()],
      [2.5, () => members.addOwner()],
      [4, () => members.crashOwner()],
      [4, () => members.stopOwner()],
      [4, () => members.cutOwner()],
      [4, () => members.shortSuspension()],
      [5, () => group.die()],
      [8, () => group.pause()],
      [8, () => group.stepDown()],
      [8, () => group.cutOff()],
    ];
    for (const [leases, fault] of faults) this.#fate.every(leases, fault);
  }

  #cordon(): void {
    const { dice } = this.#fate;
    const isCordoned = dice.chance(0.3);
    dice.pick(this.#soft.owners)?.tell((core, now) => core.cordon(isCordoned, now));
  }

  #drain(): void {
    const staying = this.#soft.carriers.running(this.#soft.owners).filter(({ node }) => !node.leaving);
    if (staying.length < 3) return;
    this.#fate.did('drains');
    this.#fate.dice.pick(staying).carrier.drain(this.#fate.leases(0.3, 4));
  }

  #heal(): void {
    const soft = this.#soft;
    this.#fate.stop();
    this.#wishes.epoch = 0;
    soft.heal();
    soft.carriers.network.heal();
    soft.carriers.network.setFaults({ lossChance: 0, duplicateChance: 0 });
    for (const node of soft.owners) {
      if (!node.process.alive) node.process.start();
      node.tell((core, now) => core.cordon(false, now));
    }
    soft.addOwner('the last');
    const untilMs = this.world.trueMs + 3 * soft.settleMs + LAST_PAUSE_MS;
    while (this.#unsettled() !== undefined && this.world.trueMs < untilMs) soft.run(soft.durations.leaseMs);
    const why = this.#unsettled();
    if (why !== undefined) throw this.world.broken('settles', why);
    soft.run(soft.bounds.lossMs);
    soft.checker.losses.settled();
  }

  #unsettled(): string | undefined {
    return unsettled(this.#soft.checker.replayed.pool('pool'), this.#soft.owners);
  }
}

/** The longest pause after moves that failed, and some more. */
const LAST_PAUSE_MS = 40_000;
