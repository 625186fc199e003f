/**
 * A world with a log, Managers, owners and look-ups in it, all watched by the checker, and nothing
 * going wrong by itself. Scenarios and chaos do things to it.
 */

import type { FencedLog } from '../../log/log.ts';
import { SimClock } from '../../sim/clock.ts';
import { type LinkFaults, Network } from '../../sim/network.ts';
import type { SimRuntime } from '../../sim/process.ts';
import type { Random } from '../../sim/random.ts';
import { World } from '../../sim/world.ts';
import type { ResolvedDurations } from '../core/options.ts';
import type { Policy } from '../core/policy/policy.ts';
import { type Bounds, boundsOf } from './bounds.ts';
import { Checker } from './checker.ts';
import {
  LookupNode,
  ManagerNode,
  type NodeOptions,
  type Observer,
  OwnerNode,
  type OwnerNodeOptions,
  type PoolMessage,
  type NodeDependencies,
  SupervisorNode,
} from './nodes.ts';
import { type LogLinks, PoolLog } from './pool-log.ts';
import { Channels } from './proofs.ts';

export interface PoolWorldOptions {
  readonly seed: number;
  readonly trace?: boolean | undefined;
  readonly durations: ResolvedDurations;
  readonly policy: Policy;
  /** Where keys belong, and after which silence, in a pool whose keys move. */
  readonly movesPolicy?: Policy | undefined;
  readonly quietAfterMs?: number | undefined;
  readonly managers: number;
  /** Those of each Manager, if they are not alike. */
  readonly managerDurations?: readonly ResolvedDurations[] | undefined;
  /** Those of pools that have their own. */
  readonly poolDurations?: ReadonlyMap<string, ResolvedDurations> | undefined;
  /** What Managers are told while they run, in turn; none: nothing. The first is what they start with. */
  readonly reconfigured?: readonly ResolvedDurations[] | undefined;
  /** All that there are or will be, if more than these. */
  readonly allDurations?: readonly ResolvedDurations[] | undefined;
  /** How long etcd keeps a leader that it does not hear. */
  readonly leaderKeyMs: number;
  /** By how much more at the most, until it looks. @default 0 */
  readonly sweepMs?: number | undefined;
  readonly links?: Partial<LinkFaults> | undefined;
  readonly logLinks?: LogLinks | undefined;
  readonly refuseChance?: number | undefined;
  readonly maxSpansPerBatch?: number | undefined;
  readonly compactEveryBatches?: number | undefined;
  /** How far apart clock rates may be: the fastest over the slowest. 1: all alike. */
  readonly rateSpread?: number | undefined;
  readonly lateMs?: number | undefined;
  /** How probable it is that an incarnation of an owner or a look-up is told of some of the Managers only. @default 0 */
  readonly partialListChance?: number | undefined;
  /** Whether all Managers run on one machine, and share its clocks. @default false */
  readonly oneMachine?: boolean | undefined;
  /** Whether a Manager that starts now is told that no log was before. @default never */
  readonly isFirstStart?: (() => boolean) | undefined;
  readonly sizeOf?: ((message: PoolMessage) => number) | undefined;
  readonly frozen?: boolean | undefined;
  /** Whether the checker watches; a world of thousands is too large for it. @default true */
  readonly checked?: boolean | undefined;
}

/** A Manager that starts, and opens the log. */
export interface Opening {
  readonly name: string;
  readonly durations: ResolvedDurations;
  readonly runtime: SimRuntime;
  /** Ends this incarnation: the Manager cannot go on with its log. */
  strayed(): void;
}

const UNWATCHED: Observer = {
  managerSends() {},
  managerHeard() {},
  managerCommitted() {},
  ownerChanged() {},
  lookupLost() {},
  lookupMoved() {},
};

export class PoolWorld {
  readonly world: World;
  readonly network: Network<PoolMessage>;
  readonly channels: Channels = new Channels();
  readonly log: PoolLog;
  readonly checker: Checker;
  readonly durations: ResolvedDurations;
  /** Those of all Managers and pools, now or later. */
  readonly allDurations: readonly ResolvedDurations[];
  readonly bounds: Bounds;
  readonly managers: readonly ManagerNode[];
  readonly owners: OwnerNode[] = [];
  readonly lookups: LookupNode[] = [];
  readonly supervisor: SupervisorNode;
  readonly #around: NodeDependencies;
  readonly slowestRate: number;
  readonly fastestRate: number;
  readonly #random: Random;
  readonly #lateMs: number;
  readonly #options: PoolWorldOptions;

  constructor(options: PoolWorldOptions) {
    this.#options = options;
    const { seed, durations, policy, rateSpread = 1 } = options;
    this.world = new World({ seed, trace: options.trace });
    this.durations = durations;
    this.#random = this.world.random.fork('pool world');
    this.slowestRate = 1 / Math.sqrt(rateSpread);
    this.fastestRate = Math.sqrt(rateSpread);
    this.#lateMs = options.lateMs ?? 0;
    this.network = new Network<PoolMessage>(this.world, {
      faults: options.links,
      sizeOf: options.sizeOf,
      frozen: options.frozen,
    });
    this.allDurations = options.allDurations ?? options.managerDurations ?? [durations];
    this.bounds = boundsOf(this.allDurations);
    this.checker = new Checker(this.world, this.bounds, policy);
    this.checker.losses.latenessMs = 4 * this.#lateMs + 1;
    this.log = new PoolLog(this.world, {
      history: 'history-1',
      leaderKeyMs: options.leaderKeyMs,
      sweepMs: options.sweepMs,
      links: options.logLinks,
      refuseChance: options.refuseChance,
    });
    if (this.#isChecked) this.log.onCommit = (batch) => this.checker.committed(batch);
    const names = Array.from({ length: options.managers }, (_, index) => `manager-${index + 1}`);
    this.#around = {
      world: this.world,
      network: this.network,
      observer: this.#isChecked ? this.checker : UNWATCHED,
      durations,
      managers: names,
      listFor: (runtime) => this.#listFor(runtime, names),
      channels: this.channels,
    };
    const machine = options.oneMachine === true ? this.clock() : undefined;
    this.managers = names.map((name, index) =>
      this.#manager(name, options.managerDurations?.[index] ?? durations, machine ?? this.clock()),
    );
    this.supervisor = new SupervisorNode(this.#around, {
      name: 'supervisor',
      clock: this.clock(),
      lateMs: 0,
    });
    if (!this.#isChecked) return;
    this.checker.owners = this.owners;
    this.checker.losses.lookups = this.lookups;
  }

  /** For nodes of another kind. */
  get dependencies(): NodeDependencies {
    return this.#around;
  }

  get #isChecked(): boolean {
    return this.#options.checked ?? true;
  }

  #manager(name: string, durations: ResolvedDurations, clock: SimClock): ManagerNode {
    const { policy, maxSpansPerBatch = 4_096, compactEveryBatches = 64, poolDurations = [] } = this.#options;
    const pools = new Map([...poolDurations].map(([pool, its]) => [pool, { durations: its, policy }]));
    const { isFirstStart = () => false } = this.#options;
    return new ManagerNode(this.#around, {
      ...{ name, durations, clock, lateMs: this.#lateMs },
      settings: {
        ...{ movesPolicy: this.#options.movesPolicy, quietAfterMs: this.#options.quietAfterMs },
        ...{ policy, pools, maxSpansPerBatch, compactEveryBatches, isLogShared: this.isLogShared },
        get firstStart() {
          return isFirstStart();
        },
      },
      openLog: (runtime, strayed) => this.openLog({ name, durations, runtime, strayed }),
    });
  }

  /** Whether all Managers of this world lead on one log. */
  protected get isLogShared(): boolean {
    return true;
  }

  /** The log of one incarnation of a Manager. */
  protected openLog({ name, durations, runtime, strayed }: Opening): FencedLog {
    const { leaderLeaseMs, retryMs } = durations;
    return this.log.open(this.manager(name).process, runtime, { leaderLeaseMs, retryMs, strayed });
  }

  /** All Managers, or some of them, in any order. */
  #listFor(runtime: SimRuntime, names: readonly string[]): readonly string[] {
    const { partialListChance = 0 } = this.#options;
    if (partialListChance === 0 || runtime.random() >= partialListChance) return names;
    const shuffled = names.map((name) => ({ name, at: runtime.random() })).sort((a, b) => a.at - b.at);
    const some = shuffled.slice(0, 1 + Math.floor(runtime.random() * names.length));
    return some.map(({ name }) => name);
  }

  /** Whether some owners and look-ups may not know all Managers. */
  get hasPartialLists(): boolean {
    return (this.#options.partialListChance ?? 0) > 0;
  }

  /** A machine's clocks: its own origins, and a rate that is often one of the extremes. */
  clock(): SimClock {
    return new SimClock({
      rate: this.drawRate(),
      originMs: this.#random.between(0, 1e7),
      uptimeOriginMs: this.#random.between(1e4, 1e9),
    });
  }

  drawRate(): number {
    const draw = this.#random.next();
    if (draw < 0.3) return this.slowestRate;
    return draw > 0.7 ? this.fastestRate : this.#random.between(this.slowestRate, this.fastestRate);
  }

  /** Whether Managers give, or will give, leases of different lengths in one pool. */
  get haveDifferentLeases(): boolean {
    const { managerDurations = [], reconfigured = [] } = this.#options;
    return new Set([this.durations, ...managerDurations, ...reconfigured]).size > 1;
  }

  /** Whether links lose nothing, and no Manager changes how long leases last. */
  get isReliable(): boolean {
    const { links: { lossChance = 0, slowChance = 0 } = {}, reconfigured = [] } = this.#options;
    return lossChance === 0 && slowChance === 0 && reconfigured.length === 0;
  }

  /** Starts Managers and the supervisor. */
  start(): void {
    for (const manager of this.managers) manager.process.start();
    this.supervisor.process.start();
  }

  addOwner(name: string, more: Partial<Omit<OwnerNodeOptions, keyof NodeOptions>> = {}): OwnerNode {
    const node = new OwnerNode(this.#around, {
      ...{ name, clock: this.clock(), lateMs: this.#lateMs },
      ...{ pool: 'pool', slowMs: 0, supervised: false, ...more },
    });
    this.owners.push(node);
    node.process.start();
    return node;
  }

  addLookup(name: string, more: { pool?: string; resumes?: boolean } = {}): LookupNode {
    const { pool = 'pool', resumes = false } = more;
    const node = new LookupNode(this.#around, {
      name,
      clock: this.clock(),
      lateMs: this.#lateMs,
      pool,
      resumes,
    });
    this.lookups.push(node);
    node.process.start();
    return node;
  }

  owner(name: string): OwnerNode {
    return found(this.owners, name);
  }

  lookup(name: string): LookupNode {
    return found(this.lookups, name);
  }

  manager(name: string): ManagerNode {
    return found(this.managers, name);
  }

  /** The Manager that leads, as it sees it itself; of two, the one of the later term. */
  get leader(): ManagerNode | undefined {
    const leading = this.managers.filter(({ process, core }) => process.alive && core?.role === 'leading');
    return leading.sort((a, b) => (b.core?.term ?? 0) - (a.core?.term ?? 0))[0];
  }

  /** The Manager that leads, if the log has it for its leader too. */
  get confirmedLeader(): ManagerNode | undefined {
    const { leader, log } = this;
    return leader !== undefined && log.leader?.startsWith(`${leader.name}.`) ? leader : undefined;
  }

  /** An owner dies; its supervisor, if it has one, sees it. */
  crashOwner(node: OwnerNode): void {
    node.process.crash();
    if (node.options.supervised) this.supervisor.reaped(node.secret);
  }

  /** Lets time pass until something is so, looking every 5 ms; fails if it never is. */
  until(what: string, isSo: () => boolean, withinMs: number): void {
    const end = this.world.trueMs + withinMs;
    while (!isSo()) {
      if (this.world.trueMs >= end)
        throw new Error(
          `after ${withinMs} ms still not: ${what}\n${this.world.story().slice(-20).join('\n')}`,
        );
      this.world.run({ untilMs: Math.min(end, this.world.trueMs + 5) });
    }
  }

  run(ms: number): void {
    this.world.run({ untilMs: this.world.trueMs + ms });
  }

  /** Takes all faults away but what single links were given: from here on everything must come right. */
  heal(): void {
    this.network.heal();
    this.network.setFaults({ lossChance: 0, duplicateChance: 0, slowChance: 0, delayMs: [1, 5] });
    this.log.heal();
    for (const { process } of [...this.managers, ...this.lookups, this.supervisor]) {
      process.resume();
      if (!process.alive) process.start();
    }
    for (const { process } of this.owners) process.resume();
    // When all that a Manager was told while it was stopped has come to it.
    for (const manager of this.managers) this.world.after(1, () => manager.standAgain());
  }

  /**
   * How long after the last fault everything has come right: etcd forgets a dead leader, a
   * successor waits out what it found, an owner that was almost expired is, keys are recalled from
   * one who uses all its time, and some messages pass.
   */
  get settleMs(): number {
    const { leaderKeyMs, sweepMs = 0 } = this.#options;
    return leaderKeyMs + sweepMs + this.bounds.settleMs + 1_000;
  }
}

function found<T extends { readonly name: string }>(nodes: readonly T[], name: string): T {
  const node = nodes.find((other) => other.name === name);
  if (node === undefined) throw new Error(`there is no ${name}`);
  return node;
}
