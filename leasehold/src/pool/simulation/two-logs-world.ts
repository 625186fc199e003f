/**
 * Two Managers with separate logs in one list, drawn from a seed. There are three kinds:
 *
 *  - *divided*: both lead. Owners hold nothing once they have heard of both, and none says that the Managers agree. Then an operator
 *    stops one of the two, and everybody follows the other. Until then messages may get lost, or one Manager may come to answer too late
 *    for the round of probes; if no message gets lost, no key ever has two owners.
 *  - *replaced*: the first Manager is gone for good, and the second begins a new log and waits. Owners follow it, and nobody is
 *    told that the Managers disagree.
 *  - *copied*: the second Manager leads a copy of the first one's log. The copy is made while the first leads, or while none does, and
 *    then both lead in one term. One owner may reach only the second. No key ever has two owners. If neither Manager halts, owners
 *    that reach both hold nothing in the end. Then an operator recovers one of the two logs, and everybody follows that one.
 *
 * A message takes less than a quarter of the time that a round of probes waits. An owner that reaches only one of two Managers
 * cannot know of the other, so where messages get lost, key by key only the end is judged. That an owner which knows of both hears
 * nothing of one for a whole hold has a chance of one in a hundred thousand worlds: it asks twelve times.
 */

import { SimClock } from '../../sim/clock.ts';
import { Network } from '../../sim/network.ts';
import { Random } from '../../sim/random.ts';
import { World } from '../../sim/world.ts';
import { formatRange } from '../../runtime/keys/range.ts';
import { type ResolvedDurations, resolveDurations, takeoverHoldMs } from '../core/options.ts';
import type { OwnerEffect } from '../core/owner/owner.ts';
import { consistentHashing } from '../core/policy/consistent-hashing.ts';
import {
  type CarriedIncarnation,
  type Carrier,
  LookupNode,
  ManagerNode,
  type ManagerNodeOptions,
  type Observer,
  OwnerNode,
  type PoolMessage,
  type NodeDependencies,
} from './nodes.ts';
import { PoolLog } from './pool-log.ts';
import { Channels } from './proofs.ts';

const NAMES = ['manager-1', 'manager-2'] as const;

/** Apart from the chance of other worlds, which therefore stay as they are. */
const drawFor = (seed: number): Random => new Random(seed).fork('two logs');

/** Whether this seed is such a world. */
export const hasTwoLogs = (seed: number): boolean => drawFor(seed).chance(0.12);

type Kind = 'divided' | 'replaced' | 'copied';

/** What owners of such a world do beside. */
export interface Beside {
  readonly settings: Pick<ManagerNodeOptions['settings'], 'movesPolicy' | 'quietAfterMs'>;
  readonly carry: (one: CarriedIncarnation) => Carrier;
  /** Set while the world comes to rest, because it is about to be judged. */
  isResting: boolean;
}

export class TwoLogsWorld {
  readonly world: World;
  readonly #dice: Random;
  readonly #durations: ResolvedDurations;
  readonly #kind: Kind;
  readonly #isLossy: boolean;
  readonly #network: Network<PoolMessage>;
  readonly #logs: PoolLog[] = [];
  readonly #managers: readonly ManagerNode[];
  readonly #owners: OwnerNode[] = [];
  /** Both are led, and nobody has stopped a Manager. */
  #areBothLed = false;
  /** It reaches only the second Manager, so it cannot know of the first. */
  #cutOff: OwnerNode | undefined;
  readonly #lookups: LookupNode[] = [];
  readonly #around: NodeDependencies;
  readonly #versions = new Map<OwnerNode, unknown>();

  readonly #beside: Beside | undefined;

  constructor(seed: number, trace: boolean, beside?: (around: TwoLogsWorld) => Beside) {
    this.world = new World({ seed, trace });
    this.#dice = drawFor(seed).fork('world');
    const dice = this.#dice;
    this.#kind = dice.fork('kind').chance(0.4) ? 'copied' : dice.chance(0.6) ? 'divided' : 'replaced';
    const leaseMs = dice.between(1_500, 5_000);
    this.#durations = resolveDurations({
      ...{ leaseMs, renewEveryMs: leaseMs / dice.between(4, 8), syncEveryMs: leaseMs },
    });
    this.#isLossy = this.#kind === 'divided' && dice.chance(0.4);
    this.#network = new Network<PoolMessage>(this.world, {
      faults: {
        delayMs: [0.1, this.#durations.retryMs / 4],
        lossChance: this.#isLossy ? dice.between(0.05, 0.15) : 0,
      },
    });
    this.#around = {
      ...{
        world: this.world,
        network: this.#network,
        durations: this.#durations,
        managers: NAMES,
        channels: new Channels(),
      },
      observer: this.#observer(),
    };
    this.#beside = beside?.(this);
    this.#managers = NAMES.map((name, index) => this.#manager(name, index));
    if (!this.#isLossy) this.world.afterEach(() => this.#lookAtOwners());
  }

  get owners(): readonly OwnerNode[] {
    return this.#owners;
  }

  get leaseMs(): number {
    return this.#durations.leaseMs;
  }

  /** Whether messages get lost, so that an owner may not hear of both Managers for a while. */
  get isLossy(): boolean {
    return this.#isLossy;
  }

  run(): void {
    if (this.#kind === 'copied') this.#runCopied();
    else this.#runSeparate();
  }

  #runCopied(): void {
    const { world } = this;
    world.count('worlds with a copied log');
    const [first, second] = this.#managers as [ManagerNode, ManagerNode];
    const [original, copy] = this.#logs as [PoolLog, PoolLog];
    first.process.start();
    // All keys are free in a copy that was made before the first owner joined.
    const isOld = this.#dice.chance(0.25);
    if (isOld) {
      this.#wait(this.#leases(0.2, 0.5));
      copy.copy(original);
    }
    for (let count = this.#dice.integer(2, 4); count > 0; count -= 1)
      world.after(this.#leases(0, 1), () => this.#addOwner());
    for (let count = this.#dice.integer(0, 2); count > 0; count -= 1)
      world.after(this.#leases(0, 2), () => this.#addLookup());
    this.#wait(this.#leases(2, 3));
    if (!isOld && this.#dice.chance(0.4)) {
      first.process.crash();
      original.dropLeader();
      copy.copy(original);
      first.process.start();
    } else if (!isOld) copy.copy(original);
    if (this.#dice.chance(0.5)) {
      if (this.#dice.chance(0.5)) this.#addOwner();
      this.#wait(this.#leases(0, 2));
    }
    second.process.start();
    // A key that is free in the copy is granted at once, so only a copy with all keys leased may have such an owner.
    if (!isOld && this.#dice.chance(0.8)) this.#addCutOff(first);
    // An owner that starts just then may ask both before others have told the copy how far the original goes.
    for (let count = isOld ? 3 : this.#dice.integer(0, 1); count > 0; count -= 1)
      world.after(this.#leases(0, 0.15), () => this.#addOwner());
    this.#settle();
    if (first.halted === undefined && second.halted === undefined) this.#nothingIsHeld();
    else world.count('copies found out by position');
    this.#recover(this.#dice.integer(0, 1));
    this.#settleOnce();
    this.#allIsHeld();
  }

  #addCutOff(first: ManagerNode): void {
    this.#network.cutBoth(`owner-${this.#owners.length + 1}`, first.name);
    this.#cutOff = this.#addOwner();
  }

  /** Stops both Managers, raises the counters of one log above everything seen, and starts its Manager. */
  #recover(index: number): void {
    for (const { process } of this.#managers) if (process.alive) process.crash();
    const log = this.#logs[index];
    log?.dropLeader();
    log?.jump(
      Math.max(...this.#logs.map(({ term }) => term)) + 100,
      Math.max(...this.#logs.map(({ head }) => head)) + 1_000,
    );
    this.#network.heal();
    this.#managers[index]?.process.start();
  }

  #runSeparate(): void {
    const { world } = this;
    const { leaseMs } = this.#durations;
    const isDivided = this.#kind === 'divided';
    world.count(isDivided ? 'worlds with two leaders' : 'worlds with a new log');
    const [first, second] = this.#managers as [ManagerNode, ManagerNode];
    first.process.start();
    // Owners that start together, when both lead, are not warned by one that noticed before them.
    const isSudden = isDivided && this.#dice.chance(0.5);
    this.#areBothLed = isDivided;
    for (let count = this.#dice.integer(2, 5); count > 0; count -= 1)
      world.after(isSudden ? this.#leases(3, 3.02) : this.#leases(0, 2), () => this.#addOwner());
    for (let count = this.#dice.integer(0, 2); count > 0; count -= 1)
      world.after(this.#leases(0, 2), () => this.#addLookup());
    world.after(isDivided ? this.#leases(0, isSudden ? 1 : 3) : 3 * leaseMs, () => {
      if (!isDivided) first.process.crash();
      world.after(isDivided ? 0 : this.#leases(0, 0.5), () => second.process.start());
    });
    this.#wait(3.5 * leaseMs);
    this.#settle();
    if (!isDivided) {
      this.#allIsHeld();
      return;
    }
    this.#nothingIsHeld();
    if (!this.#isLossy && this.#dice.chance(0.5)) this.#answerLate(this.#dice.pick(this.#managers));
    this.#areBothLed = false;
    this.#dice.pick(this.#managers).process.crash();
    this.#network.setFaults({ lossChance: 0 });
    this.#settleOnce();
    this.#allIsHeld();
  }

  /** A Manager on a busy machine: for some time all its answers come after the round for which they are. */
  #answerLate({ name }: ManagerNode): void {
    this.world.count('answers too late');
    const slowMs = [this.#leases(0.35, 0.4), this.#leases(0.4, 0.5)] as const;
    for (const owner of this.#owners) this.#network.setFaults({ slowChance: 1, slowMs }, name, owner.name);
    this.#wait(this.#settleMs);
    this.#nothingIsHeld();
    for (const owner of this.#owners) this.#network.resetFaults(name, owner.name);
  }

  /** The leader of a new log waits, holds end, a disagreement is heard or ends, owners join and share the keys out. */
  get #settleMs(): number {
    return 2 * takeoverHoldMs(this.#durations) + 2 * this.#durations.leaseMs;
  }

  #settle(): void {
    if (this.#beside !== undefined) this.#beside.isResting = true;
    this.#wait(this.#settleMs);
  }

  /** One log is left: what owners do beside goes on with that one for a while. */
  #settleOnce(): void {
    if (this.#beside !== undefined) {
      this.#beside.isResting = false;
      this.#wait(this.#settleMs + 2 * this.#durations.leaseMs);
    }
    this.#settle();
  }

  #wait(ms: number): void {
    this.world.run({ untilMs: this.world.trueMs + ms });
  }

  #leases(least: number, most: number): number {
    return this.#durations.leaseMs * this.#dice.between(least, most);
  }

  #clock(): SimClock {
    return new SimClock({
      rate: 1,
      originMs: this.#dice.between(0, 1e7),
      uptimeOriginMs: this.#dice.between(1e4, 1e9),
    });
  }

  /** Each with a log of its own, which that of the second has begun anew. */
  #manager(name: string, index: number): ManagerNode {
    const { leaderLeaseMs, retryMs } = this.#durations;
    const log = new PoolLog(this.world, { history: `history-${index + 1}`, leaderKeyMs: leaderLeaseMs });
    this.#logs.push(log);
    const waits = this.#kind !== 'divided' || this.#dice.chance(0.5);
    if (index > 0 && waits) log.jump(0, 1_000);
    const node: ManagerNode = new ManagerNode(this.#around, {
      ...{ name, clock: this.#clock(), lateMs: 1 },
      settings: {
        policy: consistentHashing({ virtualNodes: 4 }),
        ...this.#beside?.settings,
        ...{ maxSpansPerBatch: 4_096, compactEveryBatches: 64 },
      },
      openLog: (runtime, strayed) => log.open(node.process, runtime, { leaderLeaseMs, retryMs, strayed }),
    });
    return node;
  }

  #addOwner(): OwnerNode {
    const node = new OwnerNode(this.#around, {
      ...{ name: `owner-${this.#owners.length + 1}`, clock: this.#clock(), lateMs: 1, pool: 'pool' },
      ...{ slowMs: 0, supervised: false, carry: this.#beside?.carry },
    });
    this.#owners.push(node);
    node.process.start();
    return node;
  }

  #addLookup(): void {
    const node = new LookupNode(this.#around, {
      ...{ name: `lookup-${this.#lookups.length + 1}`, clock: this.#clock(), lateMs: 1, pool: 'pool' },
      resumes: false,
    });
    this.#lookups.push(node);
    node.process.start();
  }

  #observer(): Observer {
    return {
      managerSends() {},
      managerHeard() {},
      managerCommitted() {},
      lookupLost() {},
      lookupMoved() {},
      ownerChanged: (node, effect) => this.#ownerChanged(node, effect),
    };
  }

  #ownerChanged({ name }: OwnerNode, effect: OwnerEffect): void {
    if (effect.do === 'agree' && this.#areBothLed)
      throw this.world.broken('one-owner', `${name} takes part again although two logs are led`);
    if (effect.do !== 'disagree') return;
    this.world.count('disagreements');
    if (this.#kind === 'replaced')
      throw this.world.broken('settles', `${name} takes a new log for a disagreement`);
  }

  /** No key is held by two owners, whichever log each of them follows. */
  #lookAtOwners(): void {
    const changed = this.#owners.filter((node) => {
      const version = node.core?.version;
      if (this.#versions.get(node) === version) return false;
      this.#versions.set(node, version);
      return true;
    });
    for (const one of changed)
      for (const other of this.#owners) if (one !== other) this.#shareNothing(one, other);
  }

  #shareNothing(one: OwnerNode, other: OwnerNode): void {
    const serves = (node: OwnerNode) =>
      (node.core?.pieces ?? []).filter(({ start }) => node.check(start) !== undefined);
    for (const piece of serves(one))
      for (const rival of serves(other))
        if (piece.start < rival.end && rival.start < piece.end)
          throw this.world.broken(
            'one-owner',
            `${one.name} and ${other.name} both hold ${formatRange(piece)}`,
          );
  }

  #nothingIsHeld(): void {
    for (const { name, core } of this.#owners.filter((node) => node !== this.#cutOff))
      if ((core?.held.length ?? 0) > 0)
        throw this.world.broken('one-owner', `${name} holds keys although two logs are led`);
    if (this.#isLossy) return; // A look-up asks once a lease, so its answers may all have got lost.
    for (const { name, core } of this.#lookups)
      if (core?.hasTable)
        throw this.world.broken('one-owner', `${name} has a table although two logs are led`);
  }

  #allIsHeld(): void {
    const held = this.#owners.flatMap(({ core }) => core?.held ?? []);
    const keys = held.reduce((sum, { start, end }) => sum + end - start, 0n);
    if (keys !== 1n << 64n) throw this.world.broken('settles', `owners hold ${keys} of 2^64 keys`);
    for (const { name, core } of this.#lookups)
      if (!core?.hasTable) throw this.world.broken('settles', `${name} has no table`);
  }
}
