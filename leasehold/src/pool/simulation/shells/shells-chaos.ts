/**
 * One seed: one Manager and a few applications that come, leave, crash, stand still, sleep and are cut off, on lossy links
 * and with clocks that drift. At the end all comes right, and every key is served by one of them.
 */

import { consistentHashing } from '../../core/policy/consistent-hashing.ts';
import { Random } from '../../../sim/random.ts';
import { drawDurations } from '../drawn-world.ts';
import { keyHash } from '../../../runtime/keys/hash.ts';
import { resolveMoves } from '../../shell/moves/moves-options.ts';
import { SimulatedLines } from '../moves/simulated-lines.ts';
import { Wishes } from '../moves/wishes.ts';
import { PoolWorld } from '../pool-world.ts';
import { ItemsLedger } from './items-ledger.ts';
import { Ledger } from './ledger.ts';
import { ShellOwner, type ShellMoving } from './shell-owner.ts';

const KEYS = ['alice', 'bob', 'carol', 'dave'];
/** Where keys move, in ranges: enough that most ranges have one. */
const KEYS_THAT_MOVE = [...KEYS, 'erin', 'frank', 'grace', 'heidi', 'ivan', 'judy'];

export class ShellsChaos {
  readonly pool: PoolWorld;
  readonly #dice: Random;
  readonly #ledger: Ledger;
  readonly #owners: ShellOwner[] = [];
  readonly #leaseMs: number;
  readonly #lateMs: number;
  #failure: { readonly error: unknown } | undefined;
  #isOver = false;
  /** Where keys belong, if they move. */
  readonly #wishes: Wishes | undefined;
  readonly #moving: ShellMoving | undefined;

  constructor(seed: number, trace: boolean) {
    const dice = new Random(seed).fork('shells');
    this.#dice = dice;
    const moves = new Random(seed).fork('shells, moves');
    this.#wishes = moves.chance(0.6) ? new Wishes(12) : undefined;
    this.#leaseMs = dice.between(1_500, 4_000);
    this.#lateMs = dice.pick([0, 2, 20]);
    const { durations, rate } = drawDurations(dice, this.#leaseMs, { leaderLeaseShare: 0.5 });
    const isLossy = dice.chance(0.5);
    this.pool = new PoolWorld({
      ...{ seed, trace, durations, managers: 1, checked: false, isFirstStart: () => true },
      policy: consistentHashing({ virtualNodes: dice.pick([1, 2, 4]) }),
      ...{ movesPolicy: this.#wishes, quietAfterMs: 0.1 * this.#leaseMs },
      leaderKeyMs: durations.leaderLeaseMs,
      links: {
        lossChance: isLossy ? dice.between(0, 0.2) : 0,
        duplicateChance: isLossy ? dice.between(0, 0.2) : 0,
        delayMs: [0.1, dice.between(2, durations.retryMs / 2)],
      },
      rateSpread: rate,
      lateMs: this.#lateMs,
    });
    this.#ledger = new Ledger(this.pool.world, this.#wishes !== undefined);
    this.#moving = this.#wishes && this.#drawMoving(moves);
    this.pool.world.afterEach(() => {
      if (this.#failure !== undefined) throw this.#failure.error;
    });
  }

  #drawMoving(moves: Random): ShellMoving {
    const { world, log } = this.pool;
    world.count('worlds with moves');
    const rules = resolveMoves({
      ...{ stopTimeoutMs: moves.pick([30, 100, 400]), ackTimeoutMs: moves.pick([60, 250]) },
      drainTimeoutMs: this.#leaseMs,
    });
    if (rules === undefined) throw new Error('moves are on');
    const items = new ItemsLedger(
      world,
      KEYS_THAT_MOVE.map((key) => keyHash(key)),
    );
    log.onCommit = (batch) => items.committed(batch);
    return { lines: new SimulatedLines({ world, delayMs: moves.between(0.5, 20) }), rules, items };
  }

  /** Keys belong elsewhere; owners drain; connections between owners break. */
  #move(wishes: Wishes, { lines }: ShellMoving): void {
    this.#every(0.2, () => {
      wishes.epoch += 1;
    });
    this.#every(0.8, () => {
      lines.cut();
    });
    this.#every(1.2, () => {
      this.pool.world.count('drains');
      this.#some()?.drain(this.#leases(0.05, 1), this.#dice.pick(['lose', 'stay']));
    });
  }

  async run(): Promise<void> {
    const { pool } = this;
    if (this.#wishes !== undefined && this.#moving !== undefined) this.#move(this.#wishes, this.#moving);
    pool.start();
    for (let owners = this.#dice.integer(2, 4); owners > 0; owners -= 1) this.#addOwner();
    this.#every(1.5, () => this.#addOwner());
    this.#every(2, () => this.#some()?.leave());
    this.#every(1, () => this.#restart(this.#some()));
    this.#every(1, () => this.#some()?.process.pause(this.#leases(0.1, 1.5)));
    this.#every(1, () => this.#some()?.process.suspend(this.#leases(0.1, 1.5)));
    this.#every(1, () => this.#cut(this.#some()));
    this.#every(3, () => this.#restartManager());
    await this.#play(this.#leases(8, 12));
    this.#isOver = true;
    if (this.#wishes !== undefined) this.#wishes.epoch = 0;
    pool.heal();
    for (const { process } of this.#owners) process.resume();
    this.#addOwner();
    await this.#play(pool.settleMs + this.#leaseMs);
    this.#settled();
    pool.world.count('events', pool.world.events);
  }

  get #keys(): readonly string[] {
    return this.#moving === undefined ? KEYS : KEYS_THAT_MOVE;
  }

  #settled(): void {
    const { world } = this.pool;
    for (const owner of this.#owners) {
      const since = owner.oldestCallMs;
      if (since !== undefined && world.trueMs - since > 2 * this.#leaseMs)
        throw world.broken('answered', `${owner.process.name} waits for a call since ${since.toFixed(0)}`);
    }
    for (const key of this.#keys) {
      const serving = this.#owners.filter((owner) => owner.serves(key)).map(({ process }) => process.name);
      if (serving.length !== 1)
        throw world.broken('answered', `${key} is served by ${serving.join(' and ') || 'nobody'}`);
    }
  }

  #addOwner(): void {
    if (this.#owners.filter(({ process }) => process.alive).length >= 5) return;
    const owner = new ShellOwner(this.pool.dependencies, {
      ...{ name: `server-${this.#owners.length + 1}`, clock: this.pool.clock(), lateMs: this.#lateMs },
      ...{
        keys: this.#keys,
        ledger: this.#ledger,
        workMs: this.#leases(0.05, 0.6),
        idleMs: this.#leases(0.02, 0.2),
      },
      upcallMs: this.#leases(0, 0.2),
      moving: this.#moving,
      failed: (error) => (this.#failure ??= { error }),
    });
    this.#owners.push(owner);
    owner.process.start();
  }

  #restart(owner: ShellOwner | undefined): void {
    owner?.process.crash();
    this.pool.world.after(this.#leases(0, 1), () => owner?.process.alive || owner?.process.start());
  }

  #restartManager(): void {
    const [manager] = this.pool.managers;
    manager?.process.crash();
    this.pool.world.after(this.#leases(0, 0.5), () => manager?.process.alive || manager?.process.start());
  }

  /** Neither hears the other; or only one of them does not. */
  #cut(owner: ShellOwner | undefined): void {
    const [manager] = this.pool.managers;
    if (owner === undefined || manager === undefined) return;
    const { network, world } = this.pool;
    const directions = [
      [owner.process.name, manager.name],
      [manager.name, owner.process.name],
    ] as const;
    const chosen = this.#dice.chance(0.5) ? directions : [this.#dice.pick(directions)];
    for (const [from, to] of chosen) network.cut(from, to);
    world.after(this.#leases(0.2, 2), () => network.heal(owner.process.name, manager.name));
  }

  #some(): ShellOwner | undefined {
    const alive = this.#owners.filter(({ process }) => process.alive);
    return alive.length === 0 ? undefined : this.#dice.pick(alive);
  }

  #every(leases: number, act: () => void): void {
    const soon = (): void => {
      this.pool.world.after(this.#leases(0, 2 * leases), () => {
        if (this.#isOver) return;
        act();
        soon();
      });
    };
    soon();
  }

  #leases(low: number, high: number): number {
    return this.#dice.between(low, high) * this.#leaseMs;
  }

  async #play(ms: number): Promise<void> {
    await this.pool.world.runAsync({ untilMs: this.pool.world.trueMs + ms, drain });
  }
}

/** As many turns as the longest chain of promises in a shell needs, and some. */
async function drain(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await undefined;
}
