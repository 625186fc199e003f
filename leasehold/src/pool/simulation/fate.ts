/**
 * What befalls a world, and when: by dice of its own, so that a change in them does not disturb the world's, and in
 * units of a lease, because a fault that is over in a hundredth of one, or lasts for a hundred, shows little.
 */

import type { Network, Span } from '../../sim/network.ts';
import type { Random } from '../../sim/random.ts';
import type { ManagerNode, OwnerNode } from './nodes.ts';
import type { Asked } from './pool-log.ts';
import type { PoolWorld } from './pool-world.ts';

/** A world that things befall: its Managers share a log, or keep nothing (`soft/`). */
export type FatedWorld = Pick<
  PoolWorld,
  'world' | 'network' | 'durations' | 'bounds' | 'managers' | 'owners' | 'lookups' | 'confirmedLeader'
> &
  Pick<PoolWorld, 'addOwner' | 'addLookup' | 'crashOwner' | 'drawRate' | 'slowestRate' | 'fastestRate'> & {
    readonly log?: PoolWorld['log'];
  };

export class Fate<Fated extends FatedWorld = PoolWorld> {
  readonly pool: Fated;
  readonly dice: Random;
  readonly leaseMs: number;
  #isOver = false;
  #stagedUntilMs = 0;
  #spoilChance = 0;
  #division: { readonly manager: ManagerNode; readonly chance: number; readonly untilMs: number } | undefined;
  readonly #setAside = new Set<OwnerNode>();
  readonly #listeners = new Set<(manager: string, asked: Asked) => void>();
  /** What puts slow links right again. */
  readonly #slow = new Set<() => void>();

  constructor(pool: Fated, dice: Random) {
    this.pool = pool;
    this.dice = dice;
    this.leaseMs = pool.durations.leaseMs;
    if (pool.log === undefined) return;
    pool.log.onAsk = (manager, asked) => {
      for (const listener of [...this.#listeners]) listener(manager, asked);
    };
  }

  /** Faults have stopped. */
  get isOver(): boolean {
    return this.#isOver;
  }

  stop(): void {
    this.#isOver = true;
    this.#listeners.clear();
    for (const putRight of this.#slow) putRight();
  }

  /** So many milliseconds. */
  leases(low: number, high: number): number {
    return this.dice.between(low, high) * this.leaseMs;
  }

  /** Within so many leases from now, at random, unless faults have stopped by then. */
  after(low: number, high: number, act: () => void): void {
    this.pool.world.after(this.leases(low, high), () => {
      if (!this.#isOver) act();
    });
  }

  every(leases: number, act: () => void): void {
    const again = (): void => this.after(0, 2 * leases, () => (act(), again()));
    again();
  }

  /** As soon as something is so; looks often. After so many leases it is done in any case. */
  when(isSo: () => boolean, withinLeases: number, act: () => void): void {
    const untilMs = this.pool.world.trueMs + withinLeases * this.leaseMs;
    const look = (): void => {
      if (this.#isOver) return;
      if (isSo() || this.pool.world.trueMs >= untilMs) act();
      else this.pool.world.after(5, look);
    };
    look();
  }

  /** The next time that a Manager asks this of the log, at the instant before it is carried out. */
  onceAsked(manager: string, isIt: (asked: Asked) => boolean, withinLeases: number, act: () => void): void {
    const listener = (asker: string, asked: Asked): void => {
      if (asker !== manager || !isIt(asked)) return;
      this.#listeners.delete(listener);
      act();
    };
    this.#listeners.add(listener);
    this.after(withinLeases, withinLeases, () => this.#listeners.delete(listener));
  }

  /** Tells in the story what was done to the world, and counts it. */
  did(what: string, whom?: string): void {
    this.pool.world.count(what);
    this.pool.world.note('(fate)', { what, facts: { whom } });
  }

  /**
   * Something has begun that shows when a successor has waited for all that its predecessor gave; what would
   * spoil it is mostly left out, or altogether.
   */
  stage(forMs: number = this.pool.bounds.takeoverMs): void {
    this.#stagedUntilMs = this.pool.world.trueMs + forMs;
    this.#spoilChance = this.dice.pick([0, 0.1]);
  }

  get isStaged(): boolean {
    return this.pool.world.trueMs < this.#stagedUntilMs;
  }

  /** Whether to leave the leader and the log alone for now. */
  holdsBack(): boolean {
    return this.isStaged && !this.dice.chance(this.#spoilChance);
  }

  /** For so many leases nothing else befalls this one. */
  setAside(node: OwnerNode, leases: number): void {
    this.#setAside.add(node);
    this.pool.world.after(leases * this.leaseMs, () => this.#setAside.delete(node));
  }

  someOwner(): OwnerNode | undefined {
    const alive = this.pool.owners.filter((node) => node.process.alive && !this.#setAside.has(node));
    return alive.length === 0 ? undefined : this.dice.pick(alive);
  }

  /** The Manager that leads, and that the log has for its leader too. */
  get leader(): ManagerNode | undefined {
    return this.pool.confirmedLeader;
  }

  /** For so many leases whatever goes this way takes so long. */
  slowDown<Message>(
    network: Network<Message>,
    [from, to]: readonly [from: string, to: string],
    delayMs: Span,
    [low, high]: readonly [low: number, high: number],
  ): void {
    network.setFaults({ delayMs }, from, to);
    const putRight = (): void => {
      this.#slow.delete(putRight);
      network.setFaults({ lossChance: 0, duplicateChance: 0, slowChance: 0, delayMs: [1, 5] }, from, to);
    };
    this.#slow.add(putRight);
    this.after(low, high, putRight);
  }

  /**
   * Until a successor has waited for all that this Manager gave, some reach it and no other, and the rest reach
   * the others and not it: so nobody can tell it of the successor. Who comes meanwhile is on a side too.
   */
  divide(manager: ManagerNode, chance: number): void {
    const { owners, lookups, world, bounds } = this.pool;
    this.#division = { manager, chance, untilMs: world.trueMs + bounds.takeoverMs };
    for (const node of [...owners, ...lookups]) this.takeSide(node);
  }

  takeSide(node: { readonly name: string }): void {
    if (this.#division === undefined || this.pool.world.trueMs >= this.#division.untilMs) return;
    const { manager, chance } = this.#division;
    const others = this.pool.managers.filter((other) => other !== manager);
    this.cutOff(node, this.dice.chance(chance) ? others : [manager]);
  }

  /** For as long somebody does not reach these. */
  cutOff(node: { readonly name: string }, managers: readonly ManagerNode[]): void {
    const { network, bounds } = this.pool;
    const takeover = bounds.takeoverMs / this.leaseMs;
    for (const { name } of managers) network.cutBoth(node.name, name, { dropInFlight: true });
    this.healAfter(takeover, 2 * takeover, node, managers);
  }

  /** Somebody reaches these again, but not while that would spoil something. */
  healAfter(
    low: number,
    high: number,
    node: { readonly name: string },
    managers: readonly ManagerNode[],
  ): void {
    this.after(low, high, () => {
      if (this.isStaged) return this.healAfter(0.1, 0.5, node, managers);
      for (const { name } of managers) this.pool.network.heal(node.name, name);
    });
  }
}
