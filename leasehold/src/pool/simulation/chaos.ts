/**
 * A hostile world drawn from a seed: its size, its durations with margins as thin as the
 * documentation allows, its network and log, and then everything that can go wrong, going wrong.
 * At the end the faults stop, and within the stated time all must be well.
 */

import { Random } from '../../sim/random.ts';
import { clockRateBound, type ResolvedDurations, resolveDurations } from '../options.ts';
import { consistentHashing } from '../policy/consistent-hashing.ts';
import { ENGINE, PoolWorld } from './pool-world.ts';
import type { OwnerNode } from './nodes.ts';

/** Durations that just obey the rules: every margin is drawn, and often nothing is left of it. */
export function drawDurations(dice: Random): ResolvedDurations {
  const leaseMs = dice.between(1_500, 5_000);
  const renewEveryMs = leaseMs / dice.between(4, 8);
  const retryMs = renewEveryMs / dice.between(1.5, 4);
  const leaderChangeMs = (leaseMs - renewEveryMs - 2 * retryMs) * dice.between(0.6, 1);
  const holdMs = leaseMs * dice.between(1.02, 1.12);
  const syncEveryMs = dice.between(2, 6) * renewEveryMs;
  return resolveDurations({
    leaseMs,
    holdMs,
    renewEveryMs,
    retryMs,
    leaderChangeMs,
    leaderLeaseMs: Math.min(leaderChangeMs, leaseMs * dice.between(0.15, 0.5)),
    revokeWithinMs: leaseMs * dice.between(0.1, 0.5),
    syncEveryMs,
    staleAfterMs: syncEveryMs + 2 * retryMs + dice.between(0, 2) * syncEveryMs,
    suspensionToleranceMs: (holdMs - leaseMs) * dice.between(0.05, 0.5),
  });
}

export class Chaos {
  readonly pool: PoolWorld;
  readonly #dice: Random;
  readonly #durations: ResolvedDurations;
  /** Nothing fails but the log is slow and owners come and go: no lease may lapse. */
  readonly isCalm: boolean;
  readonly #chaosMs: number;
  readonly #pools: readonly string[];
  #over = false;

  constructor(seed: number, trace: boolean) {
    const dice = drawFor(seed);
    this.#dice = dice;
    this.isCalm = dice.chance(0.15);
    const durations = drawDurations(dice);
    this.#durations = durations;
    this.#chaosMs = durations.leaseMs * dice.between(6, 12);
    this.#pools = dice.chance(0.25) ? ['pool', 'other'] : ['pool'];
    const virtualNodes = dice.pick([1, 2, 3, 4, 8, 8, 16, 64]);
    const lossy = !this.isCalm && dice.chance(0.7);
    const slowLog = dice.chance(0.5);
    const logDelayMs = slowLog ? durations.leaderLeaseMs / 6 : 5;
    this.pool = new PoolWorld({
      seed,
      trace,
      durations,
      policy: consistentHashing({ virtualNodes }),
      managers: this.isCalm ? 1 : dice.pick([1, 2, 3, 3, 3]),
      leaderKeyMs: durations.leaderLeaseMs * dice.between(1, 1.3),
      links: {
        lossChance: lossy ? dice.between(0, dice.pick([0.1, 0.2, 0.4])) : 0,
        duplicateChance: lossy ? dice.between(0, 0.2) : 0,
        delayMs: [0.1, this.isCalm ? 10 : dice.between(2, durations.retryMs / 2)],
        slowChance: lossy ? dice.between(0, 0.1) : 0,
        slowMs: [durations.retryMs, durations.leaseMs * 2],
      },
      logLinks: {
        lossChance: lossy ? dice.between(0, 0.15) : 0,
        delayMs: [0.1, logDelayMs],
        slowChance: this.isCalm ? 0 : dice.between(0, 0.1),
        slowMs: [logDelayMs, durations.leaderLeaseMs * 2],
      },
      refuseChance: dice.chance(0.5) ? dice.between(0, 0.3) : 0,
      maxSpansPerBatch: dice.chance(0.3) ? virtualNodes * dice.integer(1, 3) : 4_096,
      compactEveryBatches: dice.pick([2, 5, 20, 1_000]),
      rateSpread: dice.chance(0.3) ? 1 : clockRateBound(durations),
      lateMs: this.isCalm ? 1 : dice.pick([0, 2, 20]),
    });
  }

  run(): void {
    const { pool } = this;
    pool.start();
    const [ownersMost, lookupsMost] = this.#dice.chance(0.15) ? [20, 20] : [7, 5];
    for (let index = this.#dice.integer(1, ownersMost); index > 0; index -= 1)
      this.#after(0, 1, () => this.#addOwner());
    for (let index = this.#dice.integer(1, lookupsMost); index > 0; index -= 1)
      this.#after(0, 1, () => this.#addLookup());
    if (this.isCalm) this.#unquiet();
    else this.#havoc();
    pool.world.at(this.#chaosMs / 4, () => (pool.checker.calm = this.isCalm));
    pool.run(this.#chaosMs);
    this.#over = true;
    pool.checker.calm = false;
    pool.heal();
    for (const node of pool.owners) if (!node.process.alive && this.#dice.chance(0.5)) node.process.start();
    pool.run(pool.settleMs);
    this.#nobodyHalted();
    pool.checker.settled();
    pool.checker.calm = true;
    pool.run(2 * this.#durations.leaseMs);
    pool.checker.settled();
    pool.world.count('events', pool.world.events);
  }

  /** The log never went back in time here, so no Manager may think it did. */
  #nobodyHalted(): void {
    for (const { name, halted } of this.pool.managers) {
      if (halted !== undefined) throw this.pool.world.broken('settles', `${name} has halted: ${halted}`);
    }
  }

  /** Within so many leases from now, at random. */
  #after(low: number, high: number, act: () => void): void {
    const { leaseMs } = this.#durations;
    this.pool.world.after(this.#dice.between(low, high) * leaseMs, () => {
      if (!this.#over) act();
    });
  }

  #every(leases: number, act: () => void): void {
    const again = (): void => this.#after(0, 2 * leases, () => (act(), again()));
    again();
  }

  /** Tells in the story what was done to the world, and counts it. */
  #did(what: string, whom?: string): void {
    this.pool.world.count(what);
    this.pool.world.note('(fate)', { what, facts: { whom } });
  }

  #leases(low: number, high: number): number {
    return this.#dice.between(low, high) * this.#durations.leaseMs;
  }

  #addOwner(): void {
    const { pool } = this;
    if (pool.owners.length >= 20) return;
    pool.addOwner(`owner-${pool.owners.length + 1}`, {
      pool: this.#dice.pick(this.#pools),
      slowMs: this.#dice.pick([0, 0, this.#durations.retryMs, this.#durations.revokeWithinMs * 1.5]),
      supervised: this.#dice.chance(0.4),
    });
  }

  #addLookup(): void {
    const { pool } = this;
    if (pool.lookups.length >= 20) return;
    pool.addLookup(`lookup-${pool.lookups.length + 1}`, {
      pool: this.#dice.pick(this.#pools),
      resumes: this.#dice.chance(0.5),
    });
  }

  /** Owners come and go; nothing else. */
  #unquiet(): void {
    this.#every(0.7, () => this.#addOwner());
    this.#every(2, () => this.#leave());
  }

  #leave(): void {
    const staying = this.pool.owners.filter((node) => node.process.running && !node.leaving);
    if (staying.length === 0) return;
    const leavers = this.#dice.chance(0.1) ? staying : [this.#dice.pick(staying)];
    this.pool.world.count('leaves', leavers.length);
    for (const node of leavers) this.#after(0, 0.02, () => node.leave());
  }

  #havoc(): void {
    const dice = this.#dice;
    const often = dice.between(0.3, 2);
    const faults: readonly [number, () => void][] = [
      [0.8, () => this.#addOwner()],
      [3, () => this.#leave()],
      [0.7, () => this.#crashOwner()],
      [0.7, () => this.#stopOwner()],
      [0.6, () => this.#cutOwner()],
      [1.5, () => this.#troubleLookup()],
      [1, () => this.#troubleManager()],
      [1, () => this.#cutManagerFromLog()],
      [1.5, () => this.#staleLeader()],
      [0.5, () => this.#shortSuspension()],
      [2, () => this.#drowsyOwner()],
      [2, () => this.#sleepingCandidate()],
      [1.2, () => this.#dropLeader()],
      [4, () => this.#engineDown()],
      [1, () => this.#troubleClock()],
    ];
    for (const [leases, fault] of faults) if (dice.chance(0.75)) this.#every(leases * often, fault);
  }

  #someOwner(): OwnerNode | undefined {
    const alive = this.pool.owners.filter(({ process }) => process.alive);
    return alive.length === 0 ? undefined : this.#dice.pick(alive);
  }

  #crashOwner(): void {
    const node = this.#someOwner();
    if (node === undefined) return;
    this.pool.world.count('owner crashes');
    this.pool.crashOwner(node);
    if (this.#dice.chance(0.8))
      this.#after(0, this.#dice.pick([0.02, 0.5, 2]), () => node.process.alive || node.process.start());
  }

  #stopOwner(): void {
    const node = this.#someOwner();
    if (node === undefined) return;
    const ms = this.#leases(0.1, 2);
    if (this.#dice.chance(0.5)) {
      this.pool.world.count('owner pauses');
      node.process.pause(ms);
    } else {
      this.pool.world.count('owner suspensions');
      node.process.suspend(ms);
    }
  }

  #cutOwner(): void {
    const node = this.#someOwner();
    if (node === undefined) return;
    this.#did('owner cuts', node.name);
    const way = this.#dice.pick(['to', 'from', 'both'] as const);
    const { network, managers } = this.pool;
    const cut = managers.filter(() => this.#dice.chance(0.8));
    for (const manager of cut) {
      if (way !== 'from') network.cut(node.name, manager.name);
      if (way !== 'to') network.cut(manager.name, node.name);
    }
    this.#after(0.1, 2.5, () => {
      for (const manager of cut) network.heal(node.name, manager.name);
    });
  }

  #troubleLookup(): void {
    const { lookups, network, managers } = this.pool;
    if (lookups.length === 0) return;
    const node = this.#dice.pick(lookups);
    const { process } = node;
    if (!process.alive) {
      process.start();
      return;
    }
    switch (this.#dice.pick(['crash', 'pause', 'suspend', 'cut', 'cut'] as const)) {
      case 'crash':
        process.crash();
        this.#after(0, 0.5, () => process.alive || process.start());
        break;
      case 'pause':
        process.pause(this.#leases(0.1, 3));
        break;
      case 'suspend':
        process.suspend(this.#leases(0.1, 3));
        break;
      case 'cut':
        this.#did('lookup cuts', node.name);
        for (const manager of managers) network.cutBoth(node.name, manager.name);
        this.#after(0.1, 6, () => {
          for (const manager of managers) network.heal(node.name, manager.name);
        });
    }
  }

  #troubleManager(): void {
    const { managers, leader, world } = this.pool;
    const node = this.#dice.chance(0.6) && leader !== undefined ? leader : this.#dice.pick(managers);
    const { process } = node;
    if (!process.alive) {
      process.start();
      return;
    }
    world.count('manager troubles');
    const ms = this.#leases(0.05, 1.2);
    switch (this.#dice.pick(['crash', 'crash', 'pause', 'suspend'] as const)) {
      case 'crash':
        process.crash();
        this.#after(0, 1, () => process.alive || process.start());
        break;
      case 'pause':
        process.pause(ms);
        break;
      case 'suspend':
        process.suspend(ms);
    }
  }

  #cutManagerFromLog(): void {
    const { managers, leader, logNetwork } = this.pool;
    const node = this.#dice.chance(0.5) && leader !== undefined ? leader : this.#dice.pick(managers);
    const way = this.#dice.pick(['to', 'from', 'both'] as const);
    if (way !== 'from') logNetwork.cut(node.name, ENGINE);
    if (way !== 'to') logNetwork.cut(ENGINE, node.name);
    this.#after(0.05, 2, () => logNetwork.heal(node.name, ENGINE));
  }

  /**
   * The log drops a leader that does not hear of it and goes on for a leader lease, renewing an
   * owner that cannot reach anybody else.
   */
  #staleLeader(): void {
    const { leader, managers, network, logNetwork, engine } = this.pool;
    const node = this.#someOwner();
    if (leader === undefined || node === undefined) return;
    this.#did('stale leaders', leader.name);
    const others = managers.filter((manager) => manager !== leader);
    for (const other of others) network.cutBoth(node.name, other.name);
    logNetwork.cutBoth(leader.name, ENGINE);
    engine.dropLeader();
    this.#after(0.5, 2.5, () => {
      for (const other of others) network.heal(node.name, other.name);
      logNetwork.heal(leader.name, ENGINE);
    });
  }

  /** The log elects a Manager whose machine falls asleep before the answer comes. */
  #sleepingCandidate(): void {
    const { leader, managers, network, logNetwork, engine, world, owners } = this.pool;
    const candidate = managers.find((manager) => manager !== leader && manager.process.running);
    if (leader === undefined || candidate === undefined) return;
    leader.process.pause(this.#leases(0.1, 0.3));
    engine.dropLeader();
    logNetwork.setFaults({ delayMs: [20, 40] }, ENGINE, candidate.name);
    const others = managers.filter((manager) => manager !== candidate);
    const cut = owners.filter(() => this.#dice.chance(0.5));
    const watch = (tries: number): void => {
      if (tries === 0 || this.#over) return;
      if (!engine.leader?.startsWith(`${candidate.name}.`)) {
        world.after(5, () => watch(tries - 1));
        return;
      }
      this.#did('sleeping candidates', candidate.name);
      candidate.process.suspend(this.#leases(0.3, 0.9));
      logNetwork.cut(candidate.name, ENGINE);
      for (const owner of cut) for (const other of others) network.cutBoth(owner.name, other.name);
      this.#after(1, 2.5, () => {
        logNetwork.heal(candidate.name, ENGINE);
        for (const owner of cut) for (const other of others) network.heal(owner.name, other.name);
      });
    };
    watch(100);
  }

  /** Again and again too short to be noticed, while the wall clock is being set and nobody answers. */
  #drowsyOwner(): void {
    const node = this.#someOwner();
    if (node === undefined) return;
    this.#did('drowsy owners', node.name);
    const { managers, network, world } = this.pool;
    const nextMs = this.#durations.leaseMs / 10;
    for (let nap = 0; nap < 9; nap += 1) {
      world.after(nap * nextMs, () => {
        if (this.#over || !node.process.running) return;
        node.process.suspend(0.9 * this.#durations.suspensionToleranceMs);
        node.process.stepWall(this.#dice.pick([-30_000, 30_000]));
      });
    }
    this.#after(0, 0.2, () => {
      for (const manager of managers) network.cutBoth(node.name, manager.name);
    });
    this.#after(1.5, 2, () => {
      for (const manager of managers) network.heal(node.name, manager.name);
    });
  }

  /** Too short to be noticed: the margins must cover it. */
  #shortSuspension(): void {
    const { owners, managers, lookups } = this.pool;
    const node = this.#dice.pick([...owners, ...managers, ...lookups]);
    if (node.process.clock.suspended) return;
    node.process.suspend(this.#dice.between(0, this.#durations.suspensionToleranceMs));
  }

  #dropLeader(): void {
    this.#did('leaders dropped early');
    this.pool.engine.dropLeader();
  }

  #engineDown(): void {
    const { engine } = this.pool;
    this.#did('engine outages');
    engine.down = true;
    const thaws = this.#dice.chance(0.5);
    this.#after(0.1, 2, () => {
      if (thaws) engine.thaw();
      else engine.down = false;
    });
  }

  #troubleClock(): void {
    const { owners, managers, lookups } = this.pool;
    const node = this.#dice.pick([...owners, ...managers, ...lookups]);
    if (this.#dice.chance(0.5)) node.process.setRate(this.pool.drawRate());
    else node.process.stepWall(this.#dice.between(-30_000, 30_000));
  }
}

/** Apart from the world's own chance, so that a change in either does not disturb the other. */
const drawFor = (seed: number): Random => new Random(seed).fork('chaos');
