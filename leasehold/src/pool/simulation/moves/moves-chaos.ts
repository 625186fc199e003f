/**
 * A hostile world of moves, drawn from a seed: keys belong elsewhere in each epoch, owners drain, and everything that goes wrong in the pool's worlds
 * goes wrong here too, more often in the middle of a move. There are two kinds: in a *clean* one Managers fail, messages
 * are lost and owners drain, but no owner fails, and nothing may be lost.
 */

import { CLOCK_RATE_BOUND } from '../../../runtime/clock-rates.ts';
import { Random } from '../../../sim/random.ts';
import type { World } from '../../../sim/world.ts';
import { consistentHashing } from '../../core/policy/consistent-hashing.ts';
import { drawDurations } from '../drawn-world.ts';
import { Fate } from '../fate.ts';
import { LeaderFaults } from '../leader-faults.ts';
import { MemberFaults } from '../member-faults.ts';
import type { OwnerNode } from '../nodes.ts';
import { MovesWorld } from './moves-world.ts';
import { unsettled } from './unsettled.ts';
import { Wishes } from './wishes.ts';

const MOST_OWNERS = 16;
/** The longest pause after moves that failed, and some more. */
const LAST_PAUSE_MS = 40_000;

export class MovesChaos {
  readonly pool: MovesWorld;
  readonly #fate: Fate<MovesWorld>;
  readonly #members: MemberFaults;
  readonly #leaders: LeaderFaults;
  readonly #isClean: boolean;
  readonly #wishes: Wishes;

  constructor(seed: number, trace: boolean) {
    const dice = new Random(seed).fork('moves chaos');
    this.#isClean = dice.chance(0.35);
    [this.pool, this.#wishes] = drawMovesWorld(dice, seed, trace, this.#isClean);
    this.#fate = new Fate(this.pool, dice);
    this.#members = new MemberFaults(this.#fate, ['pool']);
    this.#leaders = new LeaderFaults(this.#fate, this.#members);
  }

  get world(): World {
    return this.pool.world;
  }

  run(): void {
    const { pool } = this;
    const { dice, leaseMs } = this.#fate;
    const chaosMs = leaseMs * dice.between(6, 10);
    pool.world.count(this.#isClean ? 'clean worlds' : 'hostile worlds');
    pool.start();
    for (let index = dice.integer(3, 5); index > 0; index -= 1)
      this.#fate.after(0, 0.3, () => this.#addOwner());
    for (let index = dice.integer(1, 2); index > 0; index -= 1)
      this.#fate.after(0, 1, () => this.#members.addLookup());
    this.#clients();
    this.#unrest();
    pool.run(1.5 * leaseMs);
    if (this.#isClean) this.#clean();
    else this.#havoc();
    pool.run(chaosMs);
    pool.check.isClean = false;
    this.#heal();
    pool.world.count('events', pool.world.events);
  }

  #addOwner(): void {
    if (this.pool.owners.length < MOST_OWNERS) this.#members.addOwner();
  }

  #clients(): void {
    const again = (): void => {
      if (this.#fate.isOver) return;
      this.pool.client();
      this.pool.world.after(this.#fate.dice.between(0.5, 8), again);
    };
    again();
  }

  /** What is no fault: the policy changes its mind, and owners drain and come. */
  #unrest(): void {
    const { pool } = this;
    const { dice } = this.#fate;
    pool.onFirstImport = (node) => {
      if (this.#fate.isOver || this.#staying.length < 3 || !dice.chance(0.25)) return;
      this.#fate.did('owners that drain before they have keys', node.name);
      pool.world.after(dice.between(0, 60), () => pool.carrierOf(node)?.drain(this.#drainMs));
    };
    this.#fate.every(0.5, () => {
      this.#wishes.epoch += 1;
    });
    this.#fate.every(0.9, () => this.#drain());
    this.#fate.every(2, () => this.#overlap());
    this.#fate.every(2, () => this.#takeBack());
    this.#fate.every(1, () => this.#restartLeft());
    this.#fate.every(1.5, () => {
      const { carriers } = pool;
      const node = carriers.length === 0 ? undefined : dice.pick(carriers).node;
      const isCordoned = dice.chance(0.3);
      node?.tell((core, now) => core.cordon(isCordoned, now));
    });
  }

  get #staying(): readonly OwnerNode[] {
    return this.pool.carriers
      .filter(({ node, carrier }) => !node.left && !node.leaving && carrier.drainUntil === undefined)
      .map(({ node }) => node);
  }

  #drain(): void {
    const { pool } = this;
    const { dice } = this.#fate;
    const staying = this.#staying;
    if (staying.length < 3) return;
    const many = dice.chance(0.15) ? staying.slice(0, staying.length - 2) : [dice.pick(staying)];
    for (const node of many) {
      this.#fate.did('drains', node.name);
      pool.carrierOf(node)?.drain(this.#drainMs);
    }
  }

  /** In a clean world no deadline comes. */
  get #drainMs(): number {
    return this.#isClean ? 1_000 * this.#fate.leaseMs : this.#fate.leases(0.3, 4);
  }

  #takeBack(): void {
    const draining = this.pool.carriers.filter(
      ({ node, carrier }) => !node.left && !node.leaving && carrier.drainUntil !== undefined,
    );
    const found = draining.length === 0 ? undefined : this.#fate.dice.pick(draining);
    if (found === undefined) return;
    this.#fate.did('drains taken back', found.node.name);
    found.carrier.drain(undefined);
  }

  /** The next process under the name of one that drains. */
  #overlap(): void {
    const { pool, dice } = this.#fate;
    const draining = pool.carriers.filter(
      ({ node, carrier }) => !node.left && carrier.drainUntil !== undefined,
    );
    if (draining.length === 0 || pool.owners.length >= MOST_OWNERS) return;
    const { node } = dice.pick(draining);
    this.#fate.did('overlaps', node.ownerName);
    pool.addOwner(`owner-${pool.owners.length + 1}`, {
      ownerName: node.ownerName,
      slowMs: node.options.slowMs,
    });
  }

  #restartLeft(): void {
    const node = this.pool.owners.find(({ left, process }) => left && process.running);
    node?.process.restart();
  }

  /** Managers fail, and messages are lost. */
  #clean(): void {
    const { pool } = this;
    // What was asked back before keys could move is given back by then.
    pool.world.after(pool.durations.leaseMs, () => {
      pool.check.isClean = !this.#fate.isOver && pool.checker.replayed.pool('pool').hasMoves;
    });
    this.#fate.every(1.5, () => this.#leaders.dropLeader());
    this.#fate.every(2.5, () => this.#crashLeader());
    pool.onAbandon = () => this.#crashSometimes();
  }

  #crashLeader(): void {
    const { leader } = this.pool;
    if (leader === undefined) return;
    this.#fate.did('manager crashes', leader.name);
    leader.process.crash();
    this.#fate.after(0.01, 0.1, () => leader.process.alive || leader.process.start());
  }

  /** A source has given up a ticket: now and then the leader is gone before it hears of that. */
  #crashSometimes(): void {
    if (!this.#fate.isOver && this.#fate.dice.chance(0.1))
      this.pool.world.after(0, () => this.#crashLeader());
  }

  #havoc(): void {
    const { pool } = this;
    const { dice } = this.#fate;
    const [members, leaders] = [this.#members, this.#leaders];
    pool.onAbandon = () => this.#crashSometimes();
    pool.onHanded = (node) => this.#hitHanded(node);
    const often = dice.between(0.5, 2);
    const faults: readonly [leases: number, fault: () => void][] = [
      [1.2, () => this.#addOwner()],
      [3, () => members.leave()],
      [1, () => members.crashOwner()],
      [0.4, () => this.#hitBusy()],
      [0.7, () => this.#cutTransfers()],
      [0.8, () => this.#dropImports()],
      [0.8, () => this.#cannotMove()],
      [1, () => this.#giveUp()],
      [1, () => members.stopOwner()],
      [0.8, () => members.cutOwner()],
      [1, () => members.forgeCertificate()],
      [0.8, () => members.shortSuspension()],
      [2, () => members.drowsyOwner()],
      [1, () => members.troubleClock()],
      [2, () => members.slewedApart()],
      [1, () => this.#crashLeader()],
      [1.2, () => leaders.troubleManager()],
      [2, () => leaders.cutManagerFromLog()],
      [2, () => leaders.staleLeader()],
      [1.5, () => leaders.dropLeader()],
      [3, () => leaders.unknownOutcomes()],
      [4, () => leaders.logDown()],
    ];
    for (const [leases, fault] of faults) if (dice.chance(0.7)) this.#fate.every(leases * often, fault);
  }

  /** A crash or a cut in the middle of a hand-over. */
  #hitBusy(): void {
    const { pool, dice } = this.#fate;
    const busy = pool.carriers.filter(({ carrier }) => carrier.isBusy || carrier.hasHanded);
    if (busy.length === 0) return;
    const { node } = dice.pick(busy);
    this.#fate.did('owners hit in a move', node.name);
    switch (dice.pick(['crash', 'crash', 'cut', 'pause', 'suspend'] as const)) {
      case 'crash':
        pool.crashOwner(node);
        this.#fate.after(0, dice.pick([0.02, 0.5, 2]), () => node.process.alive || node.process.start());
        break;
      case 'cut':
        for (const { name } of pool.managers) pool.network.cutBoth(node.name, name);
        this.#fate.healAfter(0.1, 1.5, node, pool.managers);
        break;
      case 'pause':
        node.process.pause(this.#fate.leases(0.05, 1.3));
        break;
      case 'suspend':
        node.process.suspend(this.#fate.leases(0.05, 1.3));
    }
  }

  /** Something happens to the source, to the target's word or to the leader, right after keys were handed over. */
  #hitHanded(node: OwnerNode): void {
    const { pool, dice } = this.#fate;
    if (this.#fate.isOver || !dice.chance(0.12)) return;
    const how = dice.pick(['leave', 'leave', 'crash', 'leader'] as const);
    this.#fate.did('hand-overs disturbed', node.name);
    if (dice.chance(0.5)) {
      // What the others say comes later.
      const others = pool.owners.filter((other) => other !== node);
      for (const other of others) for (const { name } of pool.managers) pool.network.cut(other.name, name);
      this.#fate.after(0.05, 0.3, () => {
        for (const other of others) for (const { name } of pool.managers) pool.network.heal(other.name, name);
      });
    }
    pool.world.after(dice.between(0, 10), () => {
      if (how === 'leave' && node.process.running) node.leave();
      else if (how === 'crash') pool.crashOwner(node);
      if (how === 'leader' || dice.chance(0.3)) this.#crashLeader();
    });
    if (how === 'crash') this.#fate.after(0.05, 0.5, () => node.process.alive || node.process.start());
  }

  #cutTransfers(): void {
    const { pool, dice } = this.#fate;
    const [one, other] = [dice.pick(pool.owners), dice.pick(pool.owners)];
    if (one === undefined || other === undefined || one === other) return;
    this.#fate.did('transfers cut', `${one.name}, ${other.name}`);
    pool.transfers.cutBoth(one.name, other.name);
    this.#fate.after(0.02, 0.6, () => pool.transfers.heal(one.name, other.name));
  }

  #dropImports(): void {
    for (const { carrier } of this.pool.carriers)
      if (this.#fate.dice.chance(0.3) && carrier.dropImports()) this.#fate.did('imports dropped');
  }

  /** For a while state can be taken neither to this owner nor from it, so its keys are asked back. */
  #cannotMove(): void {
    const { pool, dice } = this.#fate;
    const found = pool.carriers.length === 0 ? undefined : dice.pick(pool.carriers);
    if (found === undefined) return;
    this.#fate.did('owners that cannot move', found.node.name);
    found.carrier.mayMove(false);
    this.#fate.after(0.05, 0.8, () => pool.carrierOf(found.node)?.mayMove(true));
  }

  /** The deadline of a drain comes in the middle of a hand-over. */
  #giveUp(): void {
    const { pool, dice } = this.#fate;
    const handing = pool.carriers.filter(({ node, carrier }) => carrier.hasHanded && !node.leaving);
    if (handing.length === 0) return;
    const { node } = dice.pick(handing);
    this.#fate.did('deadlines in a hand-over', node.name);
    node.leave();
  }

  /** Faults stop, and all comes right. */
  #heal(): void {
    const { pool } = this;
    this.#fate.stop();
    this.#wishes.epoch = 0;
    pool.heal();
    pool.transfers.heal();
    pool.transfers.setFaults({ lossChance: 0, duplicateChance: 0, slowChance: 0, delayMs: [1, 5] });
    for (const node of pool.owners) {
      if (!node.process.alive) node.process.start();
      node.tell((core, now) => core.cordon(false, now));
      pool.carrierOf(node)?.mayMove(true);
    }
    if (this.#staying.length === 0) pool.addOwner('the last');
    const untilMs = pool.world.trueMs + pool.settleMs + LAST_PAUSE_MS;
    while (this.#isUnsettled() !== undefined && pool.world.trueMs < untilMs) pool.run(pool.durations.leaseMs);
    const why = this.#isUnsettled();
    if (why !== undefined) throw pool.world.broken('settles', why);
    pool.run(pool.bounds.lossMs);
    pool.checker.losses.settled();
  }

  /** What is not as it should be, in a sentence. */
  #isUnsettled(): string | undefined {
    const { pool } = this;
    const table = pool.checker.replayed.pool('pool');
    const names = new Set([...table.members.values()].map(({ name }) => name));
    if (this.#isClean && names.size < table.members.size) return 'two members have one name';
    const why = unsettled(table, pool.owners);
    if (why !== undefined) return why;
    const forEver = pool.owners.find((node) => node.lives && !node.left && this.#drainsForEver(node));
    return forEver && `${forEver.incarnation} drains for ever`;
  }

  /** In a clean world every owner can take the keys of every other one. */
  #drainsForEver(node: OwnerNode): boolean {
    return this.#isClean && this.pool.carrierOf(node)?.drainUntil !== undefined;
  }
}

function drawMovesWorld(
  dice: Random,
  seed: number,
  trace: boolean,
  isClean: boolean,
): readonly [MovesWorld, Wishes] {
  const leaseMs = dice.between(1_500, 4_000);
  const drawn = drawDurations(dice, leaseMs, { leaderLeaseShare: isClean ? 0.5 : 1 });
  const { durations } = drawn;
  const { leaderLeaseMs } = durations;
  const logDelayMs = dice.chance(0.5) ? leaderLeaseMs / (isClean ? 24 : 8) : 5;
  const isLossy = dice.chance(0.6);
  const virtualNodes = dice.pick([1, 2, 2, 4]);
  const loss = dice.between(0, isClean ? 0.04 : dice.pick([0.1, 0.25]));
  const managers = dice.pick([2, 2, 3]);
  const wishes = new Wishes(dice.pick([8, 16]));
  const pool = new MovesWorld(
    {
      ...{ seed, trace, durations, managers },
      policy: consistentHashing({ virtualNodes }),
      movesPolicy: wishes,
      quietAfterMs: dice.pick([0, 0.2 * leaseMs]),
      leaderKeyMs: leaderLeaseMs * dice.between(1, isClean ? 1.15 : 1.3),
      sweepMs: leaderLeaseMs * dice.between(0.01, 0.2),
      links: {
        lossChance: isLossy ? loss : 0,
        duplicateChance: isLossy ? dice.between(0, 0.2) : 0,
        delayMs: [0.1, dice.between(2, durations.retryMs / 4)],
        slowChance: isLossy ? dice.between(0, isClean ? 0.01 : 0.08) : 0,
        slowMs: [durations.retryMs, isClean ? durations.retryMs : durations.leaseMs * 1.5],
      },
      transferLinks: {
        lossChance: isLossy ? loss : 0,
        duplicateChance: isLossy ? dice.between(0, 0.2) : 0,
        delayMs: [0.1, 5],
        slowChance: dice.chance(0.5) ? dice.between(0, 0.1) : 0,
        slowMs: [30, 600],
      },
      logLinks: { lossChance: isClean ? 0 : dice.between(0, 0.1), delayMs: [0.1, logDelayMs] },
      compactEveryBatches: dice.pick([2, 5, 1_000]),
      maxSpansPerBatch: dice.chance(0.2) ? dice.integer(2, 4) : 4_096,
      rateSpread: dice.chance(0.3) ? 1 : Math.min(drawn.rate, CLOCK_RATE_BOUND),
      lateMs: dice.pick([0, 2, 10]),
      withoutMovesChance: isClean || dice.chance(0.6) ? 0 : 0.3,
      otherFormChance: isClean || dice.chance(0.7) ? 0 : 0.3,
    },
    dice.fork('moves world'),
  );
  return [pool, wishes];
}
