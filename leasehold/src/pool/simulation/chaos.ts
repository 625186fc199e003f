/**
 * A hostile world drawn from a seed (`drawn-world.ts`), and everything that can go wrong in it, going wrong.
 * The leader changes in every one of them. At the end the faults stop, and within the stated time all must
 * be well.
 */

import { Random } from '../../sim/random.ts';
import { type DrawnWorld, drawWorld } from './drawn-world.ts';
import { Fate } from './fate.ts';
import { LeaderChanges, WAYS } from './leader-changes.ts';
import { LeaderFaults } from './leader-faults.ts';
import { MemberFaults } from './member-faults.ts';
import { PoolWorld } from './pool-world.ts';
import { Restoring } from './restoring.ts';

export class Chaos {
  readonly pool: PoolWorld;
  readonly #drawn: DrawnWorld;
  readonly #fate: Fate;
  readonly #members: MemberFaults;
  readonly #leaders: LeaderFaults;
  readonly #restoring: Restoring | undefined;

  constructor(seed: number, trace: boolean) {
    const dice = drawFor(seed);
    this.#drawn = drawWorld(dice, seed, trace);
    this.pool = new PoolWorld(this.#drawn.options);
    this.#fate = new Fate(this.pool, dice);
    this.#members = new MemberFaults(this.#fate, this.#drawn.pools);
    this.#leaders = new LeaderFaults(this.#fate, this.#members);
    this.#restoring = this.#drawn.kind === 'restored' ? new Restoring(this.#fate) : undefined;
  }

  run(): void {
    const { pool } = this;
    const { kind, differ, chaosMs } = this.#drawn;
    pool.world.count(`${kind} worlds`);
    if (differ) pool.world.count('worlds with different Managers');
    this.#populate();
    if (kind === 'calm') this.#unquiet();
    else this.#havoc();
    this.#restoring?.begin();
    this.#changeLeader();
    pool.world.at(chaosMs / 4, () => (pool.checker.calm = kind === 'calm'));
    pool.run(chaosMs);
    pool.checker.calm = false;
    this.#heal();
    pool.checker.settled();
    // A Manager that tolerates less has its owners notice what others had them overlook, and they lapse once.
    pool.checker.calm = !differ;
    this.#makeRoom();
    pool.checker.settled();
    if ((pool.world.counts.get('elections') ?? 0) > 1) pool.world.count('worlds whose leader changed');
    pool.world.count('events', pool.world.events);
  }

  /** The leader is told to step down, and nobody notices. */
  #makeRoom(): void {
    const { pool } = this;
    const { leader } = pool;
    leader?.stepDown();
    pool.run(pool.durations.leaseMs);
    leader?.standAgain();
    pool.run(pool.durations.leaseMs);
    if (this.#drawn.differ) pool.run(pool.bounds.lossMs); // Who lapsed has other numbers, and look-ups hear so in time.
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
    const { chaosMs, engineElectionMs } = this.#drawn;
    const { dice } = this.#fate;
    const changes = new LeaderChanges(this.#fate, engineElectionMs);
    const way = dice.pick(WAYS);
    this.pool.world.at(chaosMs * dice.between(0.3, 0.6), () => changes.force(way));
  }

  /** Owners come and go; nothing else. */
  #unquiet(): void {
    this.#fate.every(0.7, () => this.#members.addOwner());
    this.#fate.every(2, () => this.#members.leave());
  }

  #havoc(): void {
    const { dice } = this.#fate;
    const [members, leaders] = [this.#members, this.#leaders];
    const often = dice.between(0.3, 2);
    const faults: readonly [leases: number, fault: () => void][] = [
      [0.8, () => members.addOwner()],
      [3, () => members.leave()],
      [0.7, () => members.crashOwner()],
      [0.7, () => members.stopOwner()],
      [0.6, () => members.cutOwner()],
      [1.5, () => members.troubleLookup()],
      [4, () => members.slowAnswers()],
      [0.5, () => members.shortSuspension()],
      [1.5, () => members.drowsyOwner()],
      [1, () => members.troubleClock()],
      [1, () => leaders.troubleManager()],
      [1, () => leaders.cutManagerFromLog()],
      [1, () => leaders.staleLeader()],
      [3, () => leaders.briefLeader()],
      [3, () => leaders.lateOwner()],
      [1.2, () => leaders.sleepingCandidate()],
      [3, () => leaders.unknownOutcomes()],
      [3, () => leaders.deafStandby()],
      [1.2, () => leaders.dropLeader()],
      [3, () => leaders.changeEngineLeader()],
      [1.5, () => leaders.stopMember()],
      [4, () => leaders.engineDown()],
    ];
    for (const [leases, fault] of faults) if (dice.chance(0.7)) this.#fate.every(leases * often, fault);
    if (!this.#drawn.differ) return;
    // One that gave long leases is followed by one that would not wait for them.
    this.#fate.every(1.5, () => leaders.staleLeader());
    if (dice.chance(0.6)) leaders.longLeasesComeLate();
  }
}

/** Apart from the world's own chance, so that a change in either does not disturb the other. */
const drawFor = (seed: number): Random => new Random(seed).fork('chaos');
