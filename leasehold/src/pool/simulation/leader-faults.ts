/**
 * What befalls Managers, above all the one that leads, the log that they share, and the supervisor.
 */

import type { LogBatch } from '../../log/log.ts';
import { type ResolvedDurations, takeoverHoldMs } from '../core/options.ts';
import { decodeBatch } from '../core/state.ts';
import type { Fate } from './fate.ts';
import type { MemberFaults } from './member-faults.ts';
import type { ManagerNode, OwnerNode } from './nodes.ts';
import type { Asked } from './pool-log.ts';

export class LeaderFaults {
  readonly #fate: Fate;
  readonly #members: MemberFaults;
  /** Until then a longer lease may run that the log alone knows of. */
  #shortensUntilMs = 0;

  constructor(fate: Fate, members: MemberFaults) {
    this.#fate = fate;
    this.#members = members;
  }

  troubleManager(): void {
    const { pool, dice } = this.#fate;
    if (this.#fate.holdsBack()) return;
    const { managers, leader, world } = pool;
    const node = dice.chance(0.6) && leader !== undefined ? leader : dice.pick(managers);
    const { process } = node;
    if (!process.alive) {
      process.start();
      return;
    }
    world.count('manager troubles');
    const ms = this.#fate.leases(0.05, 1.2);
    switch (dice.pick(['crash', 'crash', 'pause', 'suspend', 'step-down'] as const)) {
      case 'crash':
        process.crash();
        this.#fate.after(0, 1, () => process.alive || process.start());
        break;
      case 'pause':
        process.pause(ms);
        break;
      case 'suspend':
        process.suspend(ms);
        break;
      case 'step-down':
        node.stepDown();
        this.#fate.after(0, 1, () => node.standAgain());
    }
  }

  cutManagerFromLog(): void {
    const { pool, dice } = this.#fate;
    if (this.#fate.holdsBack()) return;
    const { managers, leader, log } = pool;
    const node = dice.chance(0.5) && leader !== undefined ? leader : dice.pick(managers);
    log.cut(node.name, dice.pick(['answers', 'both', 'both'] as const));
    this.#fate.after(0.05, 2, () => log.restore(node.name));
  }

  /**
   * The log drops a leader that does not hear of it and goes on for a leader lease, renewing owners
   * that cannot reach anybody else. It does not hear of it because it is cut off, because it
   * reaches only a member that has been replaced and calls its lease alive, or because the last answer takes long to come.
   */
  staleLeader(): void {
    const { pool, dice } = this.#fate;
    const { log } = pool;
    const { leader } = this.#fate;
    if (leader === undefined || this.#fate.holdsBack()) return;
    this.#fate.did('stale leaders', leader.name);
    this.#fate.stage();
    this.#fate.divide(leader, 0.5);
    this.#anotherKindSucceeds(leader);
    switch (dice.pick(['cut off', 'stranded', 'answered late'] as const)) {
      case 'cut off':
        log.cut(leader.name);
        this.#fate.after(1.3, 2.5, () => log.restore(leader.name));
        log.dropLeader();
        break;
      case 'stranded':
        log.strand(leader.name, this.#fate.leases(0.5, 2));
        log.dropLeader();
        break;
      case 'answered late':
        this.#fate.onceAsked(
          leader.name,
          ({ ask }) => ask === 'confirm',
          0.5,
          () => this.#dropBeforeItHears(leader),
        );
    }
  }

  /** It is about to be told that it leads, and will be told nothing else. */
  #dropBeforeItHears(leader: ManagerNode): void {
    const { log, world } = this.#fate.pool;
    const { leaderLeaseMs } = leader.durations;
    log.delayAnswers(leader.name, [0.35 * leaderLeaseMs, 0.48 * leaderLeaseMs]);
    // The answer that is on its way now comes, and no later one does.
    world.after(0, () => log.dropLeader());
    world.after(0.5 * leaderLeaseMs, () => log.cut(leader.name));
    this.#fate.after(1.3, 2.5, () => {
      log.delayAnswers(leader.name, [0, 0]);
      log.restore(leader.name);
    });
  }

  /**
   * If Managers differ, the next to lead is one that would by itself not wait for as long as this one's leases
   * last; or, if this one's are short, one with long leases.
   */
  #anotherKindSucceeds(leader: ManagerNode): void {
    const others = this.#fate.pool.managers.filter((manager) => manager !== leader);
    const next = this.#extreme(others, leader === this.#extreme(this.#fate.pool.managers, 1) ? -1 : 1);
    for (const { process, durations } of others)
      if (takeoverHoldMs(durations) !== takeoverHoldMs(next.durations))
        process.pause(this.#fate.leases(0.2, 0.4));
  }

  /** The one with the longest leases (1), or the shortest (-1). */
  #extreme(managers: readonly ManagerNode[], sign: 1 | -1): ManagerNode {
    const of = ({ durations }: ManagerNode): number => sign * takeoverHoldMs(durations);
    return managers.reduce((most, manager) => (of(manager) > of(most) ? manager : most));
  }

  /** A Manager is told of other durations, mostly the one that leads. */
  reconfigure(choices: readonly ResolvedDurations[]): void {
    const { pool, dice } = this.#fate;
    if (pool.world.trueMs < this.#shortensUntilMs) return;
    const node = dice.chance(0.7) && pool.leader !== undefined ? pool.leader : dice.pick(pool.managers);
    this.#fate.did('reconfigurations', node.name);
    node.configure({ durations: dice.pick(choices) });
  }

  /**
   * A leader gives longer leases for a while. An owner that has one is cut off, the leader is told of shorter leases, writes
   * something, and dies. The successor can know of the longer lease from the log only.
   */
  shortenLeases([usual, ...longer]: readonly ResolvedDurations[]): void {
    const { leader, pool, dice } = this.#fate;
    if (leader === undefined || usual === undefined || this.#fate.holdsBack()) return;
    const longest = longer.reduce((a, b) => (takeoverHoldMs(a) > takeoverHoldMs(b) ? a : b), usual);
    const { world, bounds } = pool;
    this.#shortensUntilMs = world.trueMs + this.#fate.leaseMs;
    this.#fate.stage(this.#fate.leaseMs);
    for (const manager of pool.managers) manager.configure({ durations: usual });
    leader.configure({ durations: longest });
    const hasLongLease = ({ core, process }: OwnerNode): boolean =>
      process.running && core?.leaseMs === longest.leaseMs && core.held.length > 0;
    this.#fate.when(
      () => this.#fate.leader !== leader || pool.owners.some(hasLongLease),
      1,
      () => {
        const node = pool.owners.find(hasLongLease);
        if (this.#fate.leader !== leader || node === undefined) return;
        this.#fate.did('leases shortened', node.name);
        this.#fate.stage();
        this.#shortensUntilMs = world.trueMs + bounds.takeoverMs;
        this.#fate.setAside(node, bounds.takeoverMs / this.#fate.leaseMs);
        this.#fate.cutOff(node, pool.managers);
        leader.configure({ durations: usual });
        this.#members.addOwner(); // A batch, which says how long a successor must wait.
        this.#fate.after(0.05, 0.15, () => {
          leader.process.crash();
          this.#fate.after(1, 2, () => leader.process.alive || leader.process.start());
        });
        if (dice.chance(0.5)) this.#members.leave();
      },
    );
  }

  /** A supervisor dies: it forgets which deaths it has still to tell of, and sees none while it is gone. */
  killSupervisor(): void {
    const { process } = this.#fate.pool.supervisor;
    if (!process.alive) return;
    this.#fate.did('supervisors killed');
    process.crash();
    this.#fate.after(0, 3, () => process.alive || process.start());
  }

  /** A Manager that was just elected renews what it can, cannot write, and is dropped again. */
  briefLeader(): void {
    const { pool, dice } = this.#fate;
    if (!this.#fate.holdsBack()) this.#leadBriefly(dice.pick(pool.managers));
  }

  /** The one with the longest leases comes late, and leads before the log says how long those are. */
  longLeasesComeLate(): void {
    const longest = this.#extreme(this.#fate.pool.managers, 1);
    longest.process.crash();
    this.#fate.after(1.5, 4, () => {
      if (!longest.process.alive) longest.process.start();
      this.#fate.after(0.1, 0.3, () => this.#leadBriefly(longest));
    });
  }

  #leadBriefly(candidate: ManagerNode): void {
    const { managers, log, world } = this.#fate.pool;
    this.#fate.stage();
    this.#fate.divide(candidate, 0.5); // So that those who reach it are looking for it already.
    for (const { process } of managers.filter((manager) => manager !== candidate))
      process.pause(this.#fate.leases(0.1, 0.3));
    const isIt = ({ ask }: Asked): boolean => ask === 'read';
    this.#fate.onceAsked(candidate.name, isIt, 1, () => {
      this.#fate.did('brief leaders', candidate.name);
      this.#fate.stage();
      this.#anotherKindSucceeds(candidate);
      world.after(0, () => {
        log.cut(candidate.name);
        log.dropLeader();
      });
      this.#fate.after(1.3, 2.5, () => log.restore(candidate.name));
    });
    this.#fate.after(0.05, 0.1, () => log.dropLeader());
  }

  /** An owner does not hear what it was granted, and speaks again while its removal is being written. */
  lateOwner(): void {
    const { pool } = this.#fate;
    const { network, managers, owners, checker } = pool;
    this.#members.addOwner();
    const node = owners.at(-1);
    if (node === undefined || this.#fate.holdsBack()) return;
    const { incarnation } = node;
    const isGranted = (): boolean =>
      checker.truth.pool(node.pool).segments.some(({ owner }) => owner === incarnation);
    this.#fate.when(isGranted, 1, () => {
      const { leader } = this.#fate;
      if (!isGranted() || leader === undefined) return;
      this.#fate.did('late owners', node.name);
      this.#fate.stage();
      for (const { name } of managers) network.cutBoth(node.name, name, { dropInFlight: true });
      const heal = (): void => {
        for (const { name } of managers) network.heal(node.name, name);
      };
      this.#fate.after(2, 3, heal);
      const isIt = (asked: Asked): boolean => asked.ask === 'append' && removes(asked.batch, incarnation);
      this.#fate.onceAsked(leader.name, isIt, 2, () => {
        pool.log.withholdOutcomes(this.#fate.leases(0.2, 0.6));
        heal();
      });
    });
  }

  /** The log elects a Manager whose machine falls asleep before the answer comes. */
  sleepingCandidate(): void {
    const { pool } = this.#fate;
    const { managers, log, world } = pool;
    const { leader } = this.#fate;
    const candidate = managers.find((manager) => manager !== leader && manager.process.running);
    if (leader === undefined || candidate === undefined || this.#fate.holdsBack()) return;
    this.#fate.stage();
    for (const { process } of managers.filter((manager) => manager !== candidate))
      process.pause(this.#fate.leases(0.05, 0.2));
    const isIt = ({ ask }: Asked): boolean => ask === 'read';
    this.#fate.onceAsked(candidate.name, isIt, 0.5, () => {
      this.#fate.did('sleeping candidates', candidate.name);
      candidate.process.suspend(this.#fate.leases(0.4, 0.8));
      world.after(0, () => log.cut(candidate.name)); // The answer is on its way.
      this.#fate.after(1.5, 3, () => log.restore(candidate.name));
      this.#fate.divide(candidate, 0.7);
      this.#fate.after(0.1, 0.3, () => log.dropLeader());
    });
    log.dropLeader();
  }

  /** What the leader writes is written, and it does not hear so, while keys are lost. */
  unknownOutcomes(): void {
    const { pool } = this.#fate;
    const { leader } = this.#fate;
    if (leader === undefined || this.#fate.holdsBack()) return;
    this.#fate.did('outcomes withheld', leader.name);
    this.#fate.stage();
    pool.log.withholdOutcomes(this.#fate.leases(0.3, 2));
    const others = pool.managers.filter((manager) => manager !== leader);
    for (const node of pool.lookups) if (this.#fate.dice.chance(0.3)) this.#fate.cutOff(node, others);
    this.#loseSomething();
  }

  /** For longer than a lease the leader does not hear whether its batch is written; it leads on, and must renew. */
  stuckBatch(): void {
    const { pool, leader } = this.#fate;
    if (leader === undefined || this.#fate.holdsBack()) return;
    const forMs = this.#fate.leases(1.5, 2.5);
    this.#fate.did('batches stuck', leader.name);
    this.#fate.stage(forMs);
    pool.log.withholdOutcomes(forMs);
    this.#loseSomething();
  }

  /** A standby follows nothing for a while, and look-ups reach no other. */
  deafStandby(): void {
    const { pool, dice } = this.#fate;
    const standbys = pool.managers.filter((node) => node.core?.role === 'standby');
    if (standbys.length === 0 || this.#fate.holdsBack()) return;
    const standby = dice.pick(standbys);
    this.#fate.did('deaf standbys', standby.name);
    this.#fate.stage();
    pool.log.deafen(standby.name, this.#fate.leases(0.3, 2));
    const others = pool.managers.filter((manager) => manager !== standby);
    for (const node of pool.lookups) if (dice.chance(0.5)) this.#fate.cutOff(node, others);
    this.#loseSomething();
  }

  #loseSomething(): void {
    if (this.#fate.dice.chance(0.5)) this.#members.leave();
    else this.#members.crashOwner();
  }

  dropLeader(): void {
    if (this.#fate.holdsBack()) return;
    this.#fate.did('leaders dropped early');
    this.#fate.pool.log.dropLeader();
  }

  /** etcd changes its own leader; when the old one comes back, it may end the lease of ours. */
  changeLogLeader(): void {
    const { pool, dice } = this.#fate;
    if (this.#fate.holdsBack()) return;
    this.#fate.did('leader changes of etcd');
    pool.log.changeLeader(this.#fate.leases(0.02, 0.6));
    if (dice.chance(0.4)) this.#fate.after(0, 1.5, () => pool.log.dropLeader());
  }

  stopMember(): void {
    this.#fate.did('etcd members stopped');
    this.#fate.pool.log.stopMember(this.#fate.leases(0.1, 2));
  }

  logDown(): void {
    const { pool, dice } = this.#fate;
    if (this.#fate.holdsBack()) return;
    const { log } = pool;
    this.#fate.did('outages of the log');
    log.down = true;
    const isForgotten = dice.chance(0.4);
    this.#fate.after(0.1, 2, () => {
      log.down = false;
      if (isForgotten) log.dropLeader();
    });
  }
}

const removes = ({ bytes }: LogBatch, incarnation: string): boolean =>
  decodeBatch(bytes).pools.some(({ records }) =>
    records.some((record) => record.kind === 'leave' && record.incarnation === incarnation),
  );
