/**
 * Managers in a crash loop: whoever leads is killed after a while, before it has waited for a whole takeover hold, and
 * the next one begins. Meanwhile one owner is dead, and its keys have to be served all the same, within a stated time: each
 * term counts for the dead owner, cut down to whole steps (`manager/holds.ts`).
 *
 * A second owner is cut off for most of each term, and heard at its end, if at all. It must never be given up while its
 * lease runs, although each leader finds in the log how long the one before had not heard it. In the first change of leaders
 * the old one does not hear that it was dropped, and goes on renewing that owner for a leader lease.
 */

import type { Random } from '../../sim/random.ts';
import { type ResolvedDurations, reportWithinMs, takeoverHoldMs } from '../core/options.ts';
import type { ManagerNode, OwnerNode } from './nodes.ts';
import type { PoolWorld } from './pool-world.ts';

export class CrashLoop {
  readonly #pool: PoolWorld;
  readonly #dice: Random;
  /** By the slowest clock, and with time for messages. */
  readonly #stepMs: number;
  /** How long each leads. */
  readonly #termMs: number;
  readonly #takeoverMs: number;

  constructor(pool: PoolWorld, dice: Random) {
    this.#pool = pool;
    this.#dice = dice;
    const { allDurations, slowestRate } = pool;
    const longest = (of: (durations: ResolvedDurations) => number): number =>
      Math.max(...allDurations.map(of));
    this.#stepMs = longest(reportWithinMs) / slowestRate + 150;
    this.#takeoverMs = longest(takeoverHoldMs) / slowestRate;
    const shortest = Math.min(...allDurations.map(takeoverHoldMs));
    this.#termMs = Math.max(2.1 * this.#stepMs, shortest * dice.between(0.5, 0.95));
  }

  run(): void {
    const pool = this.#pool;
    const [dead, late] = pool.owners.filter(
      (node) => node.lives && !node.left && !node.leaving && !node.options.supervised,
    );
    if (dead === undefined || late === undefined || dead.pool !== late.pool || pool.managers.length < 2)
      return;
    pool.world.count('crash loops');
    this.#strandLeader(late);
    pool.crashOwner(dead);
    const isServed = (): boolean => !pool.checker.replayed.pool(dead.pool).members.has(dead.incarnation);
    // A term that is not whole at each end, and what is lost to steps: at most half of each.
    const termsMost = Math.ceil((2 * this.#takeoverMs) / this.#termMs) + 2;
    for (let terms = 0; !isServed(); terms += 1) {
      if (terms > termsMost)
        throw pool.world.broken(
          'dead-are-replaced',
          `${dead.name} is a member after ${terms} terms of ${Math.round(this.#termMs)} ms`,
        );
      this.#term(late);
    }
    this.#reconnect(late);
    pool.heal();
    pool.run(pool.settleMs);
  }

  /** The log drops the leader, which does not hear of it, and goes on renewing an owner that hears nobody else. */
  #strandLeader(late: OwnerNode): void {
    const pool = this.#pool;
    const { leader } = pool;
    if (leader === undefined) return;
    this.#cutOff(
      late,
      pool.managers.filter((node) => node !== leader),
    );
    pool.log.cut(leader.name);
    pool.log.dropLeader();
    pool.world.after(pool.durations.leaseMs, () => pool.log.restore(leader.name));
  }

  #term(late: OwnerNode): void {
    const pool = this.#pool;
    const { world, log } = pool;
    const { term } = log;
    pool.until(
      'somebody leads',
      () => (pool.leader?.core?.term ?? 0) >= term && pool.leader !== undefined,
      pool.settleMs,
    );
    const { leader } = pool;
    const hearsAt = this.#dice.chance(0.3) ? undefined : this.#dice.between(0.3, 1) * this.#termMs;
    if (hearsAt !== undefined) world.after(hearsAt, () => this.#reconnect(late));
    pool.run(this.#termMs);
    this.#cutOff(late, pool.managers);
    leader?.process.crash();
    log.dropLeader();
    world.after(
      this.#dice.between(1, 50),
      () => leader === undefined || leader.process.alive || leader.process.start(),
    );
  }

  #cutOff(node: OwnerNode, from: readonly ManagerNode[]): void {
    for (const { name } of from) this.#pool.network.cutBoth(node.name, name);
  }

  #reconnect(node: OwnerNode): void {
    for (const { name } of this.#pool.managers) this.#pool.network.heal(node.name, name);
  }
}
