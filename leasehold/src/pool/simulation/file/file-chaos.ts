/**
 * One seed of the default deployment. Three kinds of worlds:
 *
 *  - *calm*: owners come and go, and the only Manager is killed, or its machine loses power, and is back within the time that
 *    a lease allows for a change of leaders. No lease may lapse.
 *  - *claimed*: as calm, but each start of the Manager is called the first one, and is not: its directory is a new one each time.
 *    One owner of the log before, or more, reaches the new Manager; others are cut off with their leases, and new owners come.
 *  - *hostile*: whatever can go wrong goes wrong: with the disk, the lock and the directory too. At the end all comes right.
 */

import { Random } from '../../../sim/random.ts';
import { consistentHashing } from '../../core/policy/consistent-hashing.ts';
import { deafOwner } from '../deaf-owner.ts';
import { drawDurations } from '../drawn-world.ts';
import { Fate } from '../fate.ts';
import { Forger } from '../forger.ts';
import { MemberFaults } from '../member-faults.ts';
import type { OwnerNode } from '../nodes.ts';
import { FileWorld } from './file-world.ts';

/** How long it takes at most to open the log and to be elected: some dozens of short operations, and some syncs. */
const OPENING_MS = 150;

export class FileChaos {
  readonly pool: FileWorld;
  readonly #isCalm: boolean;
  /** Each start is called the first. */
  readonly #isClaimed: boolean;
  readonly #chaosMs: number;
  /** So long the Manager may be away in a calm world. */
  readonly #awayMs: number;
  readonly #fate: Fate<FileWorld>;
  readonly #members: MemberFaults;
  readonly #forger: Forger;

  constructor(seed: number, trace: boolean) {
    const dice = new Random(seed).fork('file chaos');
    this.#isClaimed = new Random(seed).fork('claimed').chance(0.15);
    this.#isCalm = dice.chance(0.25) || this.#isClaimed;
    const leaseMs = dice.between(1_500, 4_000);
    const { durations, rate } = drawDurations(dice, leaseMs, { leaderLeaseShare: 0.5 });
    const pools = dice.chance(0.3) ? ['pool', 'other'] : ['pool'];
    const isLossy = !this.#isCalm && dice.chance(0.7);
    const { retryMs, leaderChangeMs, staleAfterMs, syncEveryMs } = durations;
    // Nobody else answers look-ups.
    const outlastedMs = Math.min(leaderChangeMs, staleAfterMs - syncEveryMs - 2 * retryMs);
    this.#awayMs = Math.max(0, outlastedMs / Math.sqrt(rate) - OPENING_MS);
    this.#chaosMs = leaseMs * dice.between(8, 14);
    this.pool = new FileWorld({
      ...{ seed, trace, durations, pools },
      policy: consistentHashing({ virtualNodes: dice.pick([1, 2, 4, 8]) }),
      managers: this.#isCalm ? 1 : dice.pick([1, 1, 2]),
      firstStart: this.#isClaimed ? 'always' : this.#isCalm || dice.chance(0.5) ? 'while-true' : 'never',
      restartMs: leaseMs * dice.pick([0.2, 0.6]),
      links: {
        lossChance: isLossy ? dice.between(0, 0.3) : 0,
        duplicateChance: isLossy ? dice.between(0, 0.2) : 0,
        delayMs: [0.1, this.#isCalm ? 10 : dice.between(2, retryMs / 2)],
        slowChance: isLossy ? dice.between(0, 0.1) : 0,
        slowMs: [retryMs, leaseMs * 2],
      },
      maxSpansPerBatch: dice.chance(0.3) ? dice.integer(8, 24) : 4_096,
      compactEveryBatches: dice.pick([2, 5, 20]),
      rateSpread: dice.chance(0.3) ? 1 : rate,
      lateMs: this.#isCalm ? 1 : dice.pick([0, 2, 20]),
      sectorBytes: dice.pick([64, 512]),
      preallocateBytes: dice.pick([0, 4_096]),
      slowSyncChance: this.#isCalm ? 0 : dice.pick([0, 0.05]),
    });
    this.#fate = new Fate(this.pool, dice);
    this.#members = new MemberFaults(this.#fate, pools);
    this.#forger = new Forger(this.#fate, dice.fork('forger'));
  }

  async run(): Promise<void> {
    const { pool } = this;
    const { dice } = this.#fate;
    const kind = this.#isClaimed ? 'claimed' : this.#isCalm ? 'calm' : 'hostile';
    pool.world.count(`${kind} worlds`);
    pool.start();
    for (let owners = dice.integer(1, 6); owners > 0; owners -= 1)
      this.#fate.after(0, 1, () => this.#members.addOwner());
    for (let lookups = dice.integer(1, 4); lookups > 0; lookups -= 1)
      this.#fate.after(0, 1, () => this.#members.addLookup());
    if (this.#isClaimed) this.#claimed();
    else if (this.#isCalm) this.#calm();
    else this.#havoc();
    await pool.play(this.#chaosMs);
    pool.checker.calm = false;
    this.#fate.stop();
    pool.heal();
    for (const { process } of pool.owners) if (!process.alive && dice.chance(0.5)) process.start();
    await pool.play(pool.settleMs);
    pool.checker.settled();
    for (const { name, halted } of pool.managers)
      if (halted !== undefined) throw pool.world.broken('settles', `${name} has halted: ${halted}`);
    pool.world.count('events', pool.world.events);
  }

  /** Only as much goes wrong as the durations allow for; and not again before all have renewed. */
  #calm(): void {
    const { pool } = this;
    const { dice } = this.#fate;
    this.#fate.every(0.7, () => this.#members.addOwner());
    this.#fate.every(2, () => this.#members.leave());
    const fall = (): void => {
      if (this.#fate.isOver) return;
      const awayMs = this.#awayMs * dice.between(0, 1);
      const [manager] = pool.managers;
      this.#fate.did('short restarts');
      if (manager !== undefined && dice.chance(0.5)) pool.end(manager, awayMs);
      else pool.cutPower(awayMs);
      pool.world.after(awayMs + pool.durations.leaseMs * dice.between(1, 3), fall);
    };
    pool.world.after(pool.durations.leaseMs * 2, () => {
      pool.checker.calm = true;
      fall();
    });
  }

  /**
   * The directory is replaced, and the Manager started again with the word that this is the first start. The witness is an owner
   * that holds keys and is never cut off: without one nobody could tell.
   */
  #claimed(): void {
    const { pool } = this;
    const { dice } = this.#fate;
    const cutOff = new Set<OwnerNode>();
    this.#fate.every(0.7, () => this.#members.addOwner());
    const restart = (): void => {
      if (this.#fate.isOver) return;
      const awayMs = this.#awayMs * dice.between(0, 1);
      const waitMs = pool.bounds.takeoverMs + pool.durations.leaseMs * dice.between(1, 2);
      const [manager] = pool.managers;
      const holders = pool.owners.filter((node) => !cutOff.has(node) && (node.core?.held.length ?? 0) > 0);
      if (manager === undefined || holders.length === 0) {
        pool.world.after(waitMs, restart);
        return;
      }
      this.#fate.did('first starts claimed');
      const witness = dice.pick(holders);
      for (const node of holders) {
        if (node === witness || dice.chance(0.4)) continue;
        cutOff.add(node);
        this.#fate.cutOff(node, pool.managers);
      }
      pool.replaceDirectory();
      pool.end(manager, awayMs);
      pool.world.after(awayMs * dice.between(0.5, 1), () => this.#members.addOwner());
      pool.world.after(awayMs + waitMs, restart);
    };
    pool.world.after(pool.durations.leaseMs * 2, restart);
  }

  #havoc(): void {
    const { pool } = this;
    const { dice } = this.#fate;
    const members = this.#members;
    const often = dice.between(0.3, 2);
    const some = (): (typeof pool.managers)[number] => dice.pick(pool.managers);
    const faults: readonly [leases: number, fault: () => void][] = [
      [0.8, () => members.addOwner()],
      [3, () => members.leave()],
      [1, () => members.crashOwner()],
      [1, () => members.forgeCertificate()],
      [1, () => members.stopOwner()],
      [1, () => members.cutOwner()],
      [1.5, () => members.troubleLookup()],
      [4, () => members.slowAnswers()],
      [0.5, () => members.shortSuspension()],
      [2, () => members.drowsyOwner()],
      [1, () => members.troubleClock([])],
      [2, () => members.slewedApart()],
      [2, () => deafOwner(this.#fate)],
      [0.5, () => this.#forger.strike()],
      [
        2,
        () =>
          this.#managerFault('managers killed', () =>
            pool.end(some(), this.#fate.leases(0, dice.pick([0.1, 0.6, 2]))),
          ),
      ],
      [2, () => this.#managerFault('power cuts', () => pool.cutPower())],
      [3, () => this.#managerFault('syncs failed', () => pool.disk.failNextSync())],
      [3, () => this.#managerFault('disks full', () => this.#fill())],
      [
        3,
        () => this.#managerFault('manager pauses', () => some().process.pause(this.#fate.leases(0.05, 1.2))),
      ],
      [
        3,
        () =>
          this.#managerFault('manager suspensions', () =>
            some().process.suspend(this.#fate.leases(0.05, 1.2)),
          ),
      ],
      [8, () => this.#managerFault('directories replaced', () => this.#replaceDirectory())],
    ];
    for (const [leases, fault] of faults) if (dice.chance(0.6)) this.#fate.every(leases * often, fault);
  }

  #managerFault(what: string, act: () => void): void {
    if (this.#fate.holdsBack()) return;
    this.#fate.did(what);
    act();
  }

  #fill(): void {
    const { disk } = this.pool;
    disk.capacityBytes = disk.usedBytes + this.#fate.dice.integer(0, 2_000);
    this.#fate.after(0.1, 1.5, () => (disk.capacityBytes = Number.POSITIVE_INFINITY));
  }

  /**
   * If there is a second Manager, it begins a log in the new directory, and grants keys to an owner that never speaks to the
   * Manager that led so far.
   */
  #replaceDirectory(): void {
    const { pool } = this;
    const { leader, owners, managers, bounds } = pool;
    pool.replaceDirectory();
    if (leader === undefined || managers.length === 1) return;
    this.#fate.stage(2 * bounds.takeoverMs);
    const before = owners.length;
    this.#members.addOwner();
    for (const newcomer of owners.slice(before)) this.#fate.cutOff(newcomer, [leader]);
  }
}
