/**
 * A storm: the part of a world's course in which things go wrong, drawn from the seed, and the end of all of it.
 *
 * **Few kinds, played hard** (swarm testing). A module lists its kinds of trouble in one table, `{ name: weight }`, those that every
 * world knows (`storm-troubles.ts`) and those of its own. A world draws one to six kinds by weight and plays these alone. If all kinds were in
 * every world, they would hide each other: a process that crashes every second never holds a lease that a slow clock could
 * outlast. With few kinds in each, every combination of a few has its worlds.
 *
 * **At the instants that matter.** Protocols break where a lease, a hold, a promise or an election ends, and a time drawn at random is almost
 * never near one of these. So a world names them (`deadlines`), and in most storms a share of the troubles begins, and ends, just before, at
 * or just after one of them:
 *
 *     drawn times    ──x────────x──────────────x────x──►
 *     deadlines      ─────────┆──────────┆────────────►
 *     aimed          ────────x┆x────────x┆x───────────►
 *
 * **Victims that have something to lose.** A world names its favourites (the leader, the holders of leases), and a drawn share of the
 * troubles befalls one of these.
 *
 * **The storm owns the healing.** Whatever a trouble breaks, it breaks for a time, by {@link Storm.lasts}: the undoing happens when the time is over or
 * when the storm ends, whichever is first, and once. So nothing outlives {@link Storm.end}: every process runs, no link is
 * cut or worse than usual, clocks run as before. What a protocol must achieve in the calm can be asked from that instant on.
 * Cuts are counted by link and direction: a link works again when the last of its cuts is over.
 */

import { assert } from '../runtime/assert.ts';
import { invalidOption } from '../runtime/errors.ts';
import type { CutOptions, LinkFaults, Network, Span } from './network.ts';
import type { SimProcess } from './process.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** A process that troubles befall. */
export interface Victim {
  /** Its name is its name in the networks. */
  readonly process: SimProcess;

  /** Begins a new incarnation, unless the process is alive or gone for good. */
  start(): void;

  crash(): void;

  /** @default {@link SimProcess.pause} */
  pause?(ms: number): void;

  /** @default {@link SimProcess.suspend} */
  suspend?(ms: number): void;

  /** Nothing is synced before this true time. @default there is no disk */
  stickDisk?(untilMs: number): void;
}

/** A network without its messages. */
export type StormNetwork = Pick<Network, 'cut' | 'restore' | 'faults' | 'setFaults' | 'resetFaults'>;

export interface Ground<V extends Victim> {
  readonly world: World;

  /** Those that troubles may befall now. */
  victims(): readonly V[];

  /** The victims with something to lose: leaders, holders of leases. @default none */
  favourites?(): readonly V[];

  readonly networks: readonly {
    readonly network: StormNetwork;
    /** The names between which links may be cut. */
    peers(): readonly string[];
  }[];

  /** The unit of durations: troubles that are over in a hundredth of a lease, or last for a hundred, show little. */
  readonly leaseMs: number;

  /** A machine that stood still for less need not notice. */
  readonly suspensionToleranceMs: number;

  /** The slowest and the fastest rate that the protocol allows for a clock. */
  readonly clockRates: readonly [slowest: number, fastest: number];

  /** The true times at which a lease, a hold, a promise or an election ends, as far as known now. @default none */
  deadlines?(): Iterable<number>;
}

export type Trouble<V extends Victim> = (victim: V, storm: Storm<V>) => void;

export interface StormOptions<V extends Victim> {
  readonly ground: Ground<V>;
  readonly random: Random;

  /** How likely each kind of trouble is in a world, in proportion. A kind that is not listed does not happen. */
  readonly weights: Readonly<Record<string, number>>;

  /** The troubles that all modules share (`storm-troubles.ts`). */
  readonly common: Readonly<Record<string, Trouble<V>>>;

  /** The troubles of this module alone. */
  readonly own?: Readonly<Record<string, Trouble<V>>>;

  /** From one trouble to the next. */
  readonly everyMs: Span;

  /** One of these is the number of kinds in a world. @default 1, 2, 3, 4 or 6 */
  readonly kinds?: readonly number[];
}

const KINDS = [1, 2, 3, 4, 6];
/** Deadlines that are further away than so many leases are not waited for. */
const HORIZON_LEASES = 2;
/** How far from a deadline, in leases, "just before" and "just after" are. */
const NEAR_LEASES = [0.002, 0.02, 0.1];
/** Some things must not happen while a trouble of several steps is under way; they do now and then. */
const SPOIL_CHANCE = 0.05;

export class Storm<V extends Victim = Victim> {
  readonly ground: Ground<V>;
  readonly random: Random;
  /** The kinds of trouble of this world. */
  readonly kinds: readonly string[];
  readonly #troubles: Readonly<Record<string, Trouble<V>>>;
  readonly #everyMs: Span;
  /** The share of the troubles that is aimed at a deadline. */
  readonly #aimedShare: number;
  /** The share of the troubles that befalls a favourite. */
  readonly #favouriteShare: number;
  /** What is broken, and how to undo it. */
  readonly #broken = new Map<unknown, { readonly undo: () => void; readonly timer: Disposable }>();
  readonly #cuts = new Map<StormNetwork, Map<string, number>>();
  readonly #spared = new Map<V, number>();
  #stagedUntilMs = 0;
  #next: Disposable | undefined;
  #state: 'before' | 'blows' | 'over' = 'before';

  constructor({ ground, random, weights, common, own = {}, everyMs, kinds = KINDS }: StormOptions<V>) {
    this.ground = ground;
    this.random = random;
    this.#troubles = { ...common, ...own };
    for (const name of Object.keys(weights))
      if (!(name in this.#troubles)) throw invalidOption('weights', name, 'there is no such trouble');
    for (const name of Object.keys(own))
      if (!(name in weights)) throw invalidOption('weights', name, 'the trouble has no weight');
    this.kinds = drawKinds(random, weights, random.pick(kinds));
    this.#everyMs = everyMs;
    this.#aimedShare = ground.deadlines === undefined ? 0 : random.pick([0, 0.5, 0.9]);
    this.#favouriteShare = random.pick([0.3, 0.7]);
  }

  /** From now on things go wrong. */
  begin(): void {
    assert(this.#state === 'before', 'a storm begins once');
    this.#state = 'blows';
    this.#draw();
  }

  /** From now on nothing goes wrong, and nothing is broken any more. */
  end(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#next?.[Symbol.dispose]();
    for (const what of [...this.#broken.keys()]) this.#undo(what);
    for (const { process } of this.ground.victims()) {
      process.resume();
      process.clock.resume(this.ground.world.trueMs);
    }
  }

  get isOver(): boolean {
    return this.#state === 'over';
  }

  /**
   * Something is broken for so long (Infinity: until the storm ends) or until the storm ends; then `undo` happens, once. If the same thing is
   * broken again meanwhile, the last time decides how long, and the first how it was before.
   */
  lasts(ms: number, undo: () => void, what: unknown = undo): void {
    const known = this.#broken.get(what);
    known?.timer[Symbol.dispose]();
    const timer = this.ground.world.after(ms, () => this.#undo(what));
    this.#broken.set(what, { undo: known?.undo ?? undo, timer });
  }

  /** The next step of a trouble, unless the storm is over by then. */
  after(ms: number, act: () => void): void {
    this.ground.world.after(ms, () => {
      if (!this.isOver) act();
    });
  }

  /** A duration of up to so many leases, short ones more often; or until just about a deadline. */
  lasting(leases: number): number {
    const { world, leaseMs } = this.ground;
    const aimedMs = this.random.chance(this.#aimedShare) ? this.#aim() : undefined;
    if (aimedMs !== undefined) return Math.max(0, aimedMs - world.trueMs);
    return leaseMs * this.random.between(0, this.random.pick([leases / 4, leases]));
  }

  /** A victim that is not spared; mostly one with something to lose. Undefined if there is none. */
  pickVictim(): V | undefined {
    const { world } = this.ground;
    const isFree = (victim: V): boolean => (this.#spared.get(victim) ?? 0) <= world.trueMs;
    const favourites = this.random.chance(this.#favouriteShare)
      ? (this.ground.favourites?.() ?? []).filter(isFree)
      : [];
    const victims = favourites.length > 0 ? favourites : this.ground.victims().filter(isFree);
    return victims.length === 0 ? undefined : this.random.pick(victims);
  }

  /** For so long no other trouble befalls this victim. */
  spare(victim: V, ms: number): void {
    this.#spared.set(victim, this.ground.world.trueMs + ms);
  }

  /** A trouble of several steps has begun: for so long most others are left out. */
  stage(ms: number): void {
    this.#stagedUntilMs = this.ground.world.trueMs + ms;
  }

  /** Crashes a process that runs; the next incarnation begins after a time. */
  crash(victim: V, awayMs: number = this.random.pick([0, 1, this.lasting(1)])): void {
    if (!victim.process.alive) return;
    victim.crash();
    const { incarnation } = victim.process;
    this.lasts(awayMs, () => {
      if (victim.process.incarnation === incarnation) victim.start();
    });
  }

  pause(victim: V, ms: number): void {
    if (victim.pause === undefined) victim.process.pause(ms);
    else victim.pause(ms);
  }

  suspend(victim: V, ms: number): void {
    if (victim.suspend === undefined) victim.process.suspend(ms);
    else victim.suspend(ms);
  }

  /** The clock of this victim runs at this rate until another rate is set, or until the storm ends. */
  setRate({ process }: V, rate: number): void {
    const before = process.clock.rate;
    process.setRate(rate);
    this.lasts(Number.POSITIVE_INFINITY, () => process.setRate(before), `rate of ${process.name}`);
  }

  /** Nothing passes from the one to the other, in this network, for so long. */
  cut(network: StormNetwork, from: string, to: string, forMs: number, options: CutOptions = {}): void {
    const cuts = this.#cuts.get(network) ?? new Map<string, number>();
    this.#cuts.set(network, cuts);
    const link = `${from} > ${to}`;
    cuts.set(link, (cuts.get(link) ?? 0) + 1);
    network.cut(from, to, options);
    this.lasts(forMs, () => {
      const left = (cuts.get(link) ?? 1) - 1;
      cuts.set(link, left);
      if (left === 0) network.restore(from, to);
    });
  }

  cutBoth(network: StormNetwork, one: string, other: string, forMs: number, options: CutOptions = {}): void {
    this.cut(network, one, other, forMs, options);
    this.cut(network, other, one, forMs, options);
  }

  /** All links of this network are worse for so long. */
  spoil(network: StormNetwork, faults: Partial<LinkFaults>, forMs: number): void {
    const before = network.faults;
    network.setFaults(faults);
    this.lasts(forMs, () => network.setFaults(before), network);
  }

  /** One direction of one link is worse than the network for so long. */
  spoilLink(
    network: StormNetwork,
    [from, to]: readonly [from: string, to: string],
    faults: Partial<LinkFaults>,
    forMs: number,
  ): void {
    network.setFaults(faults, from, to);
    this.lasts(forMs, () => network.resetFaults(from, to));
  }

  #undo(what: unknown): void {
    const broken = this.#broken.get(what);
    if (broken === undefined) return;
    this.#broken.delete(what);
    broken.timer[Symbol.dispose]();
    broken.undo();
  }

  #draw(): void {
    const { world } = this.ground;
    this.#next = world.after(this.random.between(...this.#everyMs), () => {
      const aimedMs = this.random.chance(this.#aimedShare) ? this.#aim() : undefined;
      if (aimedMs === undefined) this.#strike();
      else this.after(aimedMs - world.trueMs, () => this.#strike());
      this.#draw();
    });
  }

  #strike(): void {
    const { world } = this.ground;
    if (world.trueMs < this.#stagedUntilMs && !this.random.chance(SPOIL_CHANCE)) return;
    const kind = this.random.pick(this.kinds);
    const victim = this.pickVictim();
    if (victim === undefined) return;
    world.count(`trouble: ${kind}`);
    if (world.tracing) world.note(victim.process.name, { what: 'trouble', facts: { kind } });
    this.#troubles[kind]?.(victim, this);
  }

  /** A true time just before, at, or just after a deadline that is not far; undefined if there is none. */
  #aim(): number | undefined {
    const { world, leaseMs } = this.ground;
    const untilMs = world.trueMs + HORIZON_LEASES * leaseMs;
    const near = [...(this.ground.deadlines?.() ?? [])].filter((at) => at > world.trueMs && at < untilMs);
    if (near.length === 0) return undefined;
    const offsetMs = this.random.pick([-1, 0, 1]) * leaseMs * this.random.pick(NEAR_LEASES);
    return this.random.pick(near) + offsetMs;
  }
}

/** So many different kinds, by weight. */
function drawKinds(random: Random, weights: Readonly<Record<string, number>>, count: number): string[] {
  const left = Object.entries(weights).filter(([, weight]) => weight > 0);
  const kinds: string[] = [];
  while (kinds.length < count && left.length > 0) {
    let at = random.between(
      0,
      left.reduce((sum, [, weight]) => sum + weight, 0),
    );
    const index = left.findIndex(([, weight]) => (at -= weight) < 0);
    kinds.push(...left.splice(index, 1).map(([kind]) => kind));
  }
  return kinds;
}
