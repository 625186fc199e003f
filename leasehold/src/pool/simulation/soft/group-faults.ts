/** What befalls Managers that elect each other: most of it the one that leads. Times are in leases of the group. */

import { InvalidArgumentError } from '../../../runtime/errors.ts';
import type { ManagerSettings, PoolSettings } from '../../core/manager/settings.ts';
import { type ResolvedDurations, resolveDurations, takeoverHoldMs } from '../../core/options.ts';
import type { Fate } from '../fate.ts';
import type { ManagerNode } from '../nodes.ts';
import type { SoftWorld } from './soft-world.ts';

type Told = Pick<ManagerSettings, 'durations' | 'pools'>;

export class GroupFaults {
  readonly #fate: Fate<SoftWorld>;

  constructor(fate: Fate<SoftWorld>) {
    this.#fate = fate;
  }

  /** Crashes, or ends in good order, and is there again after a while. */
  die(node: ManagerNode = this.#leaderOrAny()): void {
    this.#fate.did('managers that died', node.name);
    if (this.#fate.dice.chance(0.3) && node.process.running) node.end();
    else node.process.crash();
    this.#startAgain(node, 3);
  }

  /** All at once: none remembers anything. */
  powerCut(): void {
    this.#fate.did('power cuts');
    for (const node of this.#fate.pool.managers) {
      node.process.crash();
      this.#startAgain(node, 0.5);
    }
  }

  /** One after the other: at any time most of them are there, and soon none remembers anything. */
  rollingRestart(): void {
    const { pool, dice } = this.#fate;
    this.#fate.did('rolling restarts');
    const pauseMs = pool.group.recoveryMs * dice.pick([0.3, 1.2]);
    pool.managers.forEach((node, place) => {
      pool.world.after(place * pauseMs, () => {
        if (!this.#fate.isOver && pool.managers.includes(node)) node.process.restart();
      });
    });
  }

  cutOff(node: ManagerNode = this.#leaderOrAny()): void {
    const { pool } = this.#fate;
    this.#fate.did('managers cut off', node.name);
    pool.cutFromGroup(node);
    pool.world.after(this.#leases(0.2, 5), () => pool.healGroup(node));
  }

  deafen(node: ManagerNode = this.#leaderOrAny()): void {
    const { pool } = this.#fate;
    this.#fate.did('managers that hear nobody', node.name);
    for (const { name } of pool.managers) if (name !== node.name) pool.groupNetwork.cut(name, node.name);
    pool.world.after(this.#leases(0.2, 5), () => pool.healGroup(node));
  }

  pause(node: ManagerNode = this.#leaderOrAny()): void {
    this.#fate.did('manager pauses', node.name);
    node.process.pause(this.#leases(0.1, 4));
  }

  suspend(node: ManagerNode = this.#leaderOrAny()): void {
    this.#fate.did('manager suspensions', node.name);
    node.process.suspend(this.#leases(0.1, 4));
  }

  stepDown(node: ManagerNode = this.#leaderOrAny()): void {
    this.#fate.did('managers that step down', node.name);
    node.stepDown();
    this.#fate.pool.world.after(this.#leases(0.1, 3), () => node.standAgain());
  }

  /** Somebody changes the settings of one that runs, or of its next start. Above what was agreed on they are refused. */
  configure(node: ManagerNode = this.#leaderOrAny(), told: Told = this.#drawSettings()): void {
    const { world } = this.#fate.pool;
    if (!node.process.running) return;
    try {
      node.configure(told);
      world.count('settings changed');
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      world.count('settings refused');
      return;
    }
    if (this.#fate.dice.chance(0.3)) this.#fate.pool.startWith(node, told);
  }

  mistakeTakeover(): void {
    const { pool, dice } = this.#fate;
    const node = dice.pick(pool.managers);
    const shortestMs = takeoverHoldMs(pool.shortest);
    const takeoverMs = dice.pick([shortestMs, (shortestMs + pool.takeoverMs) / 2, pool.takeoverMs * 1.5]);
    if (takeoverMs === pool.takeoverMs) return;
    const forMs = dice.pick([this.#leases(0.5, 5), pool.takeoverMs * dice.between(0.5, 2)]);
    pool.operator.makeMistake(node, takeoverMs, forMs);
  }

  changeGroup(): void {
    this.#fate.pool.operator.changeGroup();
  }

  /**
   * An owner is given the longest lease that there is and then hears nobody, and its leader is gone: whoever leads next must
   * wait for a lease of which nobody knows.
   */
  stageTakeover(): void {
    const { pool, dice } = this.#fate;
    const { leader, network, takeoverMs } = pool;
    const node = this.#fate.someOwner();
    if (leader === undefined || node === undefined || this.#fate.isStaged) return;
    this.#fate.did('staged takeovers', node.name);
    this.#fate.setAside(node, takeoverMs / this.#fate.leaseMs);
    this.#fate.stage();
    this.configure(
      leader,
      dice.chance(0.35) ? this.#tooLong() : { durations: pool.longest, pools: undefined },
    );
    pool.world.after(pool.durations.leaseMs * dice.between(0.3, 1), () => {
      if (this.#fate.isOver) return;
      // It has just reported, or will not be heard again.
      for (const { name } of pool.managers) network.cutBoth(node.name, name);
      const takeover = takeoverMs / this.#fate.leaseMs;
      this.#fate.healAfter(takeover, 1.5 * takeover, node, pool.managers);
      dice.pick([() => this.die(leader), () => this.cutOff(leader), () => this.stepDown(leader)])();
    });
  }

  #drawSettings(): Told {
    const { pool, dice } = this.#fate;
    if (dice.chance(0.15)) return this.#tooLong();
    const draw = (): ResolvedDurations => dice.pick(pool.palette);
    if (dice.chance(0.5)) return { durations: draw(), pools: undefined };
    const pools = new Map<string, PoolSettings>(
      pool.pools.map((name) => [name, { durations: draw(), policy: pool.policy }]),
    );
    return { durations: draw(), pools };
  }

  /** With leases that a successor would not wait for. */
  #tooLong(): Told {
    const { durations, takeoverMs } = this.#fate.pool;
    const times = (4 * takeoverMs) / takeoverHoldMs(durations);
    const [leaseMs, holdMs] = [durations.leaseMs * times, durations.holdMs * times];
    return { durations: resolveDurations({ ...durations, leaseMs, holdMs }), pools: undefined };
  }

  #leaderOrAny(): ManagerNode {
    const { pool, dice } = this.#fate;
    return (dice.chance(0.8) ? pool.leader : undefined) ?? dice.pick(pool.managers);
  }

  #leases(low: number, high: number): number {
    return this.#fate.dice.between(low, high) * this.#fate.pool.group.leaseMs;
  }

  #startAgain(node: ManagerNode, leasesMost: number): void {
    const { pool } = this.#fate;
    pool.world.after(this.#leases(0, leasesMost), () => {
      if (!node.process.alive && pool.managers.includes(node)) node.process.start();
    });
  }
}
