/**
 * An operator removes pools: at any time, when it must be refused because somebody is in it; and now and then after all its
 * owners were told to leave while a look-up is cut off, which then comes back to a pool without a past.
 *
 * It has a chance of its own, so that in worlds without removals everything happens as it did before there were any.
 */

import type { Random } from '../../sim/random.ts';
import type { Fate } from './fate.ts';

/** Of the worlds. */
const SHARE = 0.3;

export class Removals {
  readonly #fate: Fate;
  readonly #dice: Random;
  readonly #pools: readonly string[];

  constructor(fate: Fate, dice: Random, pools: readonly string[]) {
    this.#fate = fate;
    this.#dice = dice;
    this.#pools = pools;
  }

  begin(): void {
    if (!this.#dice.chance(SHARE)) return;
    this.#every(0.5, () => this.#remove(this.#dice.pick(this.#pools)));
    this.#every(2, () => this.#emptied(this.#dice.pick(this.#pools)));
  }

  #remove(pool: string): void {
    this.#fate.did('removals asked for', pool);
    for (const manager of this.#fate.pool.managers) manager.removePool(pool);
  }

  /** Everybody leaves, look-ups are away meanwhile, and the pool is removed as soon as it can be. */
  #emptied(pool: string): void {
    const { owners, lookups, managers, network } = this.#fate.pool;
    this.#fate.did('pools emptied', pool);
    const away = lookups.filter((node) => node.pool === pool && this.#dice.chance(0.7));
    for (const node of away) {
      for (const manager of managers) network.cutBoth(node.name, manager.name);
      this.#after(this.#dice.between(0.5, 4), () => {
        for (const manager of managers) network.heal(node.name, manager.name);
      });
    }
    for (const node of owners) if (node.options.pool === pool && node.process.running) node.leave();
    for (let leases = 0.1; leases < 2; leases += 0.1) this.#after(leases, () => this.#remove(pool));
  }

  #every(leases: number, act: () => void): void {
    this.#after(this.#dice.between(0, 2 * leases), () => {
      act();
      this.#every(leases, act);
    });
  }

  #after(leases: number, act: () => void): void {
    const { pool } = this.#fate;
    pool.world.after(leases * pool.durations.leaseMs, () => {
      if (!this.#fate.isOver) act();
    });
  }
}
