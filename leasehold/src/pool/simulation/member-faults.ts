/**
 * What befalls owners, look-ups and the machines they run on.
 */

import { digest } from '../../runtime/digest.ts';
import type { ManagerNode } from './nodes.ts';
import type { Fate, FatedWorld } from './fate.ts';
import { FORGER } from './forger.ts';

export class MemberFaults {
  readonly #fate: Fate<FatedWorld>;
  readonly #pools: readonly string[];

  constructor(fate: Fate<FatedWorld>, pools: readonly string[]) {
    this.#fate = fate;
    this.#pools = pools;
  }

  addOwner(): void {
    const { pool, dice } = this.#fate;
    const { retryMs, revokeTimeoutMs } = pool.durations;
    if (pool.owners.length >= 20) return;
    const model = dice.chance(0.08) ? this.#fate.someOwner() : undefined;
    if (model !== undefined) this.#fate.did('namesakes', model.ownerName);
    const node = pool.addOwner(`owner-${pool.owners.length + 1}`, {
      pool: model?.pool ?? dice.pick(this.#pools),
      ownerName: model?.ownerName,
      slowMs: dice.pick([0, 0, retryMs, revokeTimeoutMs * 1.5]),
      supervised: dice.chance(0.4),
      locked: dice.chance(0.3),
    });
    this.#fate.takeSide(node);
  }

  addLookup(): void {
    const { pool, dice } = this.#fate;
    if (pool.lookups.length >= 20) return;
    const node = pool.addLookup(`lookup-${pool.lookups.length + 1}`, {
      pool: dice.pick(this.#pools),
      resumes: dice.chance(0.5),
    });
    this.#fate.takeSide(node);
  }

  leave(): void {
    const { pool, dice } = this.#fate;
    const staying = pool.owners.filter((node) => node.process.running && !node.leaving);
    if (staying.length === 0) return;
    const leavers = dice.chance(0.1) ? staying : [dice.pick(staying)];
    pool.world.count('leaves', leavers.length);
    for (const node of leavers) this.#fate.after(0, 0.02, () => node.leave());
  }

  crashOwner(): void {
    const { pool, dice } = this.#fate;
    const node = this.#fate.someOwner();
    if (node === undefined) return;
    pool.world.count('owner crashes');
    pool.crashOwner(node);
    if (dice.chance(0.8))
      this.#fate.after(0, dice.pick([0.02, 0.5, 2]), () => node.process.alive || node.process.start());
  }

  /** Somebody shows what it can know of a living owner, its proof, which is the digest of the secret; or makes a secret up. */
  forgeCertificate(): void {
    const { pool, dice } = this.#fate;
    const node = this.#fate.someOwner();
    if (node === undefined) return;
    this.#fate.did('certificates forged', node.name);
    const secret = dice.pick([digest(node.secret), `secret of ${node.name}`]);
    for (const { name } of pool.managers) pool.network.send(FORGER, name, { kind: 'certificate', secret });
  }

  stopOwner(): void {
    const { pool, dice } = this.#fate;
    const node = this.#fate.someOwner();
    if (node === undefined) return;
    const ms = this.#fate.leases(0.1, 2);
    if (dice.chance(0.5)) {
      pool.world.count('owner pauses');
      node.process.pause(ms);
      return;
    }
    pool.world.count('owner suspensions');
    node.process.suspend(ms);
    // Its wall clock is set meanwhile, as happens on waking; mostly by more than it has slept.
    if (dice.chance(0.5)) node.process.stepWall(dice.pick([-30_000, -30_000, 30_000]));
  }

  cutOwner(): void {
    const { pool, dice } = this.#fate;
    const node = this.#fate.someOwner();
    if (node === undefined || this.#fate.holdsBack()) return;
    this.#fate.did('owner cuts', node.name);
    const way = dice.pick(['to', 'from', 'both'] as const);
    const { network, managers } = pool;
    const cut = managers.filter(() => dice.chance(0.8));
    for (const manager of cut) {
      if (way !== 'from') network.cut(node.name, manager.name);
      if (way !== 'to') network.cut(manager.name, node.name);
    }
    this.#fate.healAfter(0.1, 2.5, node, cut);
  }

  /** What the Managers say to a look-up takes long. */
  slowAnswers(): void {
    const { pool, dice } = this.#fate;
    const { network, managers, lookups, durations } = pool;
    if (lookups.length === 0) return;
    const node = dice.pick(lookups);
    this.#fate.did('slow answers', node.name);
    for (const { name } of managers)
      this.#fate.slowDown(
        network,
        [name, node.name],
        [durations.retryMs, durations.staleAfterMs * 0.8],
        [1, 4],
      );
  }

  troubleLookup(): void {
    const { pool, dice } = this.#fate;
    const { lookups, network, managers } = pool;
    if (lookups.length === 0) return;
    const node = dice.pick(lookups);
    const { process } = node;
    if (!process.alive) {
      process.start();
      return;
    }
    switch (dice.pick(['crash', 'pause', 'suspend', 'cut', 'cut'] as const)) {
      case 'crash':
        process.crash();
        this.#fate.after(0, 0.5, () => process.alive || process.start());
        break;
      case 'pause':
        process.pause(this.#fate.leases(0.1, 3));
        break;
      case 'suspend':
        process.suspend(this.#fate.leases(0.1, 3));
        break;
      case 'cut':
        this.#fate.did('lookup cuts', node.name);
        for (const manager of managers) network.cutBoth(node.name, manager.name);
        this.#fate.healAfter(0.1, 6, node, managers);
    }
  }

  /** Again and again too short to be noticed, while the wall clock is being set and nobody answers. */
  drowsyOwner(): void {
    const { pool, dice } = this.#fate;
    const { managers, network, world, durations } = pool;
    const node = this.#fate.someOwner();
    if (node === undefined || this.#fate.holdsBack()) return;
    this.#fate.setAside(node, 2);
    this.#fate.stage();
    this.#fate.did('drowsy owners', node.name);
    // It must look at its clocks between two of them, or it would see both as one; and it does when it reports.
    const nextMs = 1.1 * durations.renewEveryMs;
    for (let atMs = 0; atMs < durations.leaseMs; atMs += nextMs) {
      world.after(atMs, () => {
        if (this.#fate.isOver || !node.process.running) return;
        node.process.suspend(0.95 * durations.suspensionToleranceMs);
        node.process.stepWall(dice.pick([-30_000, 30_000]));
      });
    }
    this.#fate.after(0, 0.2, () => {
      for (const manager of managers) network.cutBoth(node.name, manager.name);
    });
    this.#fate.healAfter(1.5, 2, node, managers);
  }

  /** Time daemons slew an owner's clock and the leader's in opposite directions, and the owner is cut off. */
  slewedApart(): void {
    const { managers, network, slowestRate, fastestRate } = this.#fate.pool;
    const { leader } = this.#fate;
    const node = this.#fate.someOwner();
    if (node === undefined || leader === undefined || this.#fate.holdsBack()) return;
    this.#fate.setAside(node, 2);
    this.#fate.stage();
    this.#fate.did('clocks slewed apart', node.name);
    node.process.setRate(slowestRate);
    leader.process.setRate(fastestRate);
    this.#fate.after(0.1, 0.3, () => {
      for (const manager of managers) network.cutBoth(node.name, manager.name);
    });
    this.#fate.healAfter(1.5, 2, node, managers);
  }

  /** Too short to be noticed: the margins must cover it. */
  shortSuspension(): void {
    const { pool, dice } = this.#fate;
    const { owners, managers, lookups, durations } = pool;
    const node = dice.pick([...owners, ...managers, ...lookups]);
    if (node.process.clock.suspended) return;
    node.process.suspend(dice.between(0, durations.suspensionToleranceMs));
  }

  /** Of Managers only where those need no clocks that agree. */
  troubleClock(managers: readonly ManagerNode[] = this.#fate.pool.managers): void {
    const { pool, dice } = this.#fate;
    const { owners, lookups } = pool;
    const nodes = [...owners, ...managers, ...lookups];
    if (nodes.length === 0) return;
    const node = dice.pick(nodes);
    if (dice.chance(0.5)) node.process.setRate(pool.drawRate());
    else node.process.stepWall(dice.between(-30_000, 30_000));
  }
}
