/**
 * A hostile world drawn from a seed (`drawn-world.ts`), and everything that can go wrong in it, going wrong.
 * The leader changes in every one of them. At the end the faults stop, and within the stated time all must
 * be well.
 */

import { Random } from '../../sim/random.ts';
import { CrashLoop } from './crash-loop.ts';
import { deafOwner } from './deaf-owner.ts';
import { type DrawnWorld, drawWorld } from './drawn-world.ts';
import { Fate } from './fate.ts';
import { Forger } from './forger.ts';
import { LeaderChanges, WAYS } from './leader-changes.ts';
import { LeaderFaults } from './leader-faults.ts';
import { MemberFaults } from './member-faults.ts';
import { PoolWorld } from './pool-world.ts';
import { Removals } from './removals.ts';
import { Restoring } from './restoring.ts';
import { StarvationCheck } from './starvation-check.ts';

export class Chaos {
  readonly pool: PoolWorld;
  readonly #drawn: DrawnWorld;
  readonly #fate: Fate;
  readonly #members: MemberFaults;
  readonly #leaders: LeaderFaults;
  readonly #forger: Forger;
  readonly #removals: Removals;
  readonly #restoring: Restoring | undefined;

  constructor(seed: number, trace: boolean) {
    const dice = drawFor(seed);
    this.#drawn = drawWorld(dice, seed, trace);
    this.pool = new PoolWorld(this.#drawn.options);
    this.#fate = new Fate(this.pool, dice);
    this.#members = new MemberFaults(this.#fate, this.#drawn.pools);
    this.#leaders = new LeaderFaults(this.#fate, this.#members);
    this.#forger = new Forger(this.#fate, dice.fork('forger'));
    this.#removals = new Removals(this.#fate, dice.fork('removals'), this.#drawn.pools);
    this.#restoring = this.#drawn.kind === 'restored' ? new Restoring(this.#fate) : undefined;
  }

  run(): void {
    const { pool } = this;
    const { kind, differ, chaosMs } = this.#drawn;
    pool.world.count(`${kind} worlds`);
    if (differ) pool.world.count('worlds with different Managers');
    if (this.#drawn.options.reconfigured.length > 0) pool.world.count('worlds with changing settings');
    if (pool.hasPartialLists) pool.world.count('worlds with partial lists of Managers');
    this.#populate();
    if (kind === 'calm') this.#unquiet();
    else this.#havoc();
    if (kind !== 'calm') this.#removals.begin();
    this.#restoring?.begin();
    if (pool.isReliable && this.#restoring === undefined) this.#watchForStarvation();
    this.#changeLeader();
    pool.world.at(chaosMs / 4, () => (pool.checker.calm = kind === 'calm'));
    pool.run(chaosMs);
    pool.checker.calm = false;
    this.#heal();
    pool.checker.settled(pool.leader?.name);
    // A Manager that tolerates less has its owners notice what others had them overlook, and they lapse once. Nor does an
    // owner go on under a leader that it was never told of.
    pool.checker.calm = !this.#changesDurations && !pool.hasPartialLists;
    this.#makeRoom();
    pool.checker.settled(pool.leader?.name);
    pool.checker.calm = false;
    if (this.#fate.dice.chance(0.5)) this.#crashLoop();
    if ((pool.world.counts.get('elections') ?? 0) > 1) pool.world.count('worlds whose leader changed');
    pool.world.count('events', pool.world.events);
  }

  #watchForStarvation(): void {
    const { checker, world } = this.pool;
    world.count('worlds watched for starvation');
    checker.starvation = new StarvationCheck(this.pool);
    checker.starvation.begin();
  }

  /** Another leader may have other durations. */
  get #changesDurations(): boolean {
    return this.pool.haveDifferentLeases;
  }

  /** The leader is told to step down, and nobody notices. */
  #makeRoom(): void {
    const { pool } = this;
    const { leader } = pool;
    leader?.stepDown();
    pool.run(pool.durations.leaseMs);
    leader?.standAgain();
    pool.run(pool.durations.leaseMs);
    // Who lapsed has other numbers, and look-ups hear so in time.
    if (this.#changesDurations) pool.run(pool.bounds.lossMs);
    if (pool.hasPartialLists) pool.run(pool.settleMs);
  }

  #crashLoop(): void {
    new CrashLoop(this.pool, this.#fate.dice).run();
    this.#nobodyHasHalted();
    this.pool.checker.settled(this.pool.leader?.name);
  }

  #populate(): void {
    const { dice } = this.#fate;
    this.pool.start();
    const [ownersMost, lookupsMost] = dice.chance(0.15) ? [20, 20] : [7, 5];
    for (let index = dice.integer(1, ownersMost); index > 0; index -= 1)
      this.#fate.after(0, 1, () => this.#members.addOwner());
    for (let index = dice.integer(1, lookupsMost); index > 0; index -= 1)
      this.#fate.after(0, 1, () => this.#members.addLookup());
  }

  /** The faults stop, and all comes right. */
  #heal(): void {
    const { pool } = this;
    const restoring = this.#restoring;
    this.#fate.stop();
    pool.heal();
    for (const { process } of pool.owners) if (!process.alive && this.#fate.dice.chance(0.5)) process.start();
    pool.run(pool.settleMs);
    restoring?.mustBeNoticed();
    while (restoring?.isPending) pool.run(pool.durations.leaseMs);
    if (restoring !== undefined) {
      pool.heal();
      pool.run(pool.settleMs);
    }
    this.#nobodyHasHalted();
  }

  /** Where the log never went back in time, no Manager may think it did; and where it did, that is over. */
  #nobodyHasHalted(): void {
    for (const { name, halted } of this.pool.managers) {
      if (halted !== undefined) throw this.pool.world.broken('settles', `${name} has halted: ${halted}`);
    }
  }

  /** Once, in the middle, so that what was before it and what comes after it is there to be compared. */
  #changeLeader(): void {
    const { chaosMs, logElectionMs } = this.#drawn;
    const { dice } = this.#fate;
    const changes = new LeaderChanges(this.#fate, logElectionMs);
    const way = dice.pick(WAYS);
    this.pool.world.at(chaosMs * dice.between(0.3, 0.6), () => changes.force(way));
  }

  /** Owners come and go; nothing else. */
  #unquiet(): void {
    this.#fate.every(0.7, () => this.#members.addOwner());
    this.#fate.every(2, () => this.#members.leave());
  }

  /** Whatever befalls owners and the log, one leader leads for some time: so it shows whether healthy owners are renewed. */
  #steadyLeader(): void {
    const [members, leaders] = [this.#members, this.#leaders];
    this.pool.world.count('worlds with a steady leader');
    this.#unquiet();
    this.#fate.every(2, () => members.crashOwner());
    this.#fate.every(2, () => members.cutOwner());
    this.#fate.every(1, () => leaders.stuckBatch());
  }

  #havoc(): void {
    const { dice } = this.#fate;
    const [members, leaders] = [this.#members, this.#leaders];
    if (dice.chance(0.1)) {
      // Otherwise hardly any leader leads for long enough to show whether it keeps keys for one that does not hear.
      this.#unquiet();
      this.#fate.every(0.3, () => deafOwner(this.#fate));
      return;
    }
    if (this.pool.isReliable && dice.chance(0.3)) {
      this.#steadyLeader();
      return;
    }
    const often = dice.between(0.3, 2);
    const faults: readonly [leases: number, fault: () => void][] = [
      [0.8, () => members.addOwner()],
      [3, () => members.leave()],
      [0.7, () => members.crashOwner()],
      [3, () => leaders.killSupervisor()],
      [1, () => members.forgeCertificate()],
      [0.7, () => members.stopOwner()],
      [0.6, () => members.cutOwner()],
      [1.5, () => members.troubleLookup()],
      [4, () => members.slowAnswers()],
      [0.5, () => members.shortSuspension()],
      [1.5, () => members.drowsyOwner()],
      [1, () => members.troubleClock()],
      [2, () => members.slewedApart()],
      [1, () => leaders.troubleManager()],
      [1, () => leaders.cutManagerFromLog()],
      [1, () => leaders.staleLeader()],
      [3, () => leaders.briefLeader()],
      [3, () => leaders.lateOwner()],
      [1.2, () => leaders.sleepingCandidate()],
      [3, () => leaders.unknownOutcomes()],
      [3, () => leaders.deafStandby()],
      [1.2, () => leaders.dropLeader()],
      [3, () => leaders.changeLogLeader()],
      [1.5, () => leaders.stopMember()],
      [4, () => leaders.logDown()],
    ];
    this.#fate.every(0.5, () => this.#forger.strike());
    for (const [leases, fault] of faults) if (dice.chance(0.7)) this.#fate.every(leases * often, fault);
    const { reconfigured } = this.#drawn.options;
    if (reconfigured.length > 0) {
      this.#fate.every(2, () => leaders.reconfigure(reconfigured));
      this.#fate.every(0.7, () => leaders.shortenLeases(reconfigured));
    }
    if (!this.#drawn.differ) return;
    // One that gave long leases is followed by one that would not wait for them.
    this.#fate.every(1.5, () => leaders.staleLeader());
    if (dice.chance(0.6)) leaders.longLeasesComeLate();
  }
}

/** Apart from the world's own chance, so that a change in either does not disturb the other. */
const drawFor = (seed: number): Random => new Random(seed).fork('chaos');
