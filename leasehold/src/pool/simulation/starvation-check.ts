/**
 * Is a healthy owner starved while faults go on elsewhere?
 *
 * An owner is *healthy* under a leader while both processes run, the links between them are open both ways, and the leader leads
 * without a gap and has spoken to the owner in this term. Then the owner may lapse only if its machine was suspended:
 *
 *     healthy  ├────────────────────────────────────────────────┤
 *              ├── lease and time to find the leader ──┤ from here on no lapse
 *
 * A lease that ends in the second part was renewed in the first, by this leader. Nothing that befalls others may end the
 * renewals: neither a batch of unknown outcome, nor owners that come, go and die.
 *
 * Links that lose messages can starve anybody, and a leader that is told of shorter leases may shorten those of its owners. So
 * only worlds without either are judged.
 */

import type { ManagerNode, OwnerNode } from './nodes.ts';
import type { PoolWorld } from './pool-world.ts';

interface Health {
  /** The leader and the term, and the owner's incarnation. */
  readonly under: string;
  readonly sinceMs: number;
}

export class StarvationCheck {
  readonly #pool: PoolWorld;
  readonly #healthy = new Map<OwnerNode, Health>();
  readonly #withinMs: number;

  constructor(pool: PoolWorld) {
    this.#pool = pool;
    const longestMs = pool.allDurations.map((d) => d.leaseMs + d.renewEveryMs + 4 * d.retryMs);
    this.#withinMs = Math.max(...longestMs) * pool.bounds.rate;
  }

  /** Looks at every owner from here on, often enough to miss nothing that could cost a lease. */
  begin(): void {
    this.#look();
    this.#pool.world.after(this.#pool.durations.retryMs / 2, () => this.begin());
  }

  /** An owner has lapsed. */
  lapsed(node: OwnerNode): void {
    const { world } = this.#pool;
    const health = this.#healthy.get(node);
    this.#healthy.delete(node);
    if (health === undefined || node.suspendedAtMs === world.trueMs) return;
    const forMs = world.trueMs - health.sinceMs;
    if (forMs <= this.#withinMs) return;
    throw world.broken(
      'nobody-starved',
      `the lease of ${node.name} lapsed, and nothing was wrong with it or its leader for ${forMs.toFixed(0)} ms`,
    );
  }

  #look(): void {
    const leader = this.#soundLeader();
    const { trueMs } = this.#pool.world;
    for (const node of this.#pool.owners) {
      const under =
        leader !== undefined && this.#isHealthy(node, leader)
          ? `${leader.name} ${leader.core?.term} ${node.incarnation}`
          : undefined;
      if (under === undefined) this.#healthy.delete(node);
      else if (this.#healthy.get(node)?.under !== under) this.#healthy.set(node, { under, sinceMs: trueMs });
      else this.#pool.world.count('looks at a healthy owner');
    }
  }

  /** The Manager that leads, if it may answer owners. */
  #soundLeader(): ManagerNode | undefined {
    const leader = this.#pool.confirmedLeader;
    if (leader === undefined || !leader.process.running || leader.isDazed) return undefined;
    const { leadsUntil, waitsUntil } = leader.core?.observe() ?? {};
    const mayAnswer = leadsUntil !== undefined && leadsUntil > leader.process.now();
    return mayAnswer && waitsUntil === undefined ? leader : undefined;
  }

  #isHealthy(node: OwnerNode, { name, core }: ManagerNode): boolean {
    const { network } = this.#pool;
    if (!node.process.running || node.leaving || node.core?.isAdmitted !== true) return false;
    if (node.core.seen?.term !== core?.term) return false;
    return !network.isCut(node.name, name) && !network.isCut(name, node.name);
  }
}
