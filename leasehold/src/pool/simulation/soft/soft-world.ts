/**
 * Managers that elect each other and keep nothing, with owners and look-ups, watched by the checker of the pool.
 *
 * To the checker every term is a log of its own (`successive-logs.ts`).
 *
 * Wall clocks of Managers are within the skew of each other (`timekeeping.ts` of flease slews and steps them); all other
 * clocks run at rates of their own.
 */

import { Timekeeping, type Timekept } from '../../../flease/simulation/timekeeping.ts';
import type { Member } from '../../../flease/core/member.ts';
import type { Packet } from '../../../flease/core/messages.ts';
import { type ResolvedFleaseDurations, resolveFleaseDurations } from '../../../flease/core/options.ts';
import { SoftLog } from '../../../flease/core/soft-log.ts';
import type { FencedLog, Leadership } from '../../../log/log.ts';
import { SimClock } from '../../../sim/clock.ts';
import { type LinkFaults, Network } from '../../../sim/network.ts';
import type { SimRuntime } from '../../../sim/process.ts';
import type { Random } from '../../../sim/random.ts';
import { World } from '../../../sim/world.ts';
import type { PoolSettings } from '../../core/manager/settings.ts';
import { type ResolvedDurations, resolveDurations, takeoverHoldMs } from '../../core/options.ts';
import { consistentHashing } from '../../core/policy/consistent-hashing.ts';
import type { Policy } from '../../core/policy/policy.ts';
import { type Bounds, boundsOf } from '../bounds.ts';
import { Checker } from '../checker.ts';
import type { FatedWorld } from '../fate.ts';
import {
  LookupNode,
  ManagerNode,
  type NodeOptions,
  OwnerNode,
  type OwnerNodeOptions,
  type PoolMessage,
  type NodeDependencies,
  SupervisorNode,
} from '../nodes.ts';
import { Channels } from '../proofs.ts';
import { SuccessiveLogs } from '../successive-logs.ts';
import { GroupOperator } from './group-operator.ts';
import { OneLeader } from './one-leader.ts';
import { type SimulatedElectorate, simulatedElectorate } from './simulated-electorate.ts';

export interface SoftWorldOptions {
  readonly seed: number;
  readonly trace?: boolean | undefined;
  /** What Managers may be told to do: each is started with one of these, the first unless more is said. @default the default */
  readonly durations?: readonly [ResolvedDurations, ...ResolvedDurations[]] | undefined;
  readonly clockSkewMs?: number | undefined;
  /** How long every leader waits before it grants anything. @default as long as any of the durations need */
  readonly takeoverMs?: number | undefined;
  /** How many elect each other at first. @default 3 */
  readonly managers?: number | undefined;
  readonly pools?: readonly string[] | undefined;
  readonly links?: Partial<LinkFaults> | undefined;
  readonly groupLinks?: Partial<LinkFaults> | undefined;
  /** How far apart the rates of clocks may be: the fastest over the slowest. @default 1 */
  readonly rateSpread?: number | undefined;
  /** Whether the wall clocks of Managers are slewed and stepped, within the skew. @default false */
  readonly clocksWander?: boolean | undefined;
  readonly virtualNodes?: number | undefined;
  /** Where keys belong, and after which silence, in a pool whose keys move. */
  readonly movesPolicy?: Policy | undefined;
  readonly quietAfterMs?: number | undefined;
}

/** How one Manager is started, until somebody says otherwise. */
interface StartedWith {
  readonly durations: ResolvedDurations;
  readonly pools: ReadonlyMap<string, PoolSettings> | undefined;
  readonly takeoverMs: number;
}

/** All that ever are in the group; those that are not run nowhere. */
const NAMES: readonly string[] = Array.from({ length: 7 }, (_, index) => `manager-${index + 1}`);
const CALM: Partial<LinkFaults> = { lossChance: 0, duplicateChance: 0, slowChance: 0, delayMs: [1, 5] };
const EPOCH_MS = 1_750_000_000_000;

export class SoftWorld implements FatedWorld {
  readonly world: World;
  readonly network: Network<PoolMessage>;
  readonly groupNetwork: Network<Packet>;
  readonly checker: Checker;
  readonly durations: ResolvedDurations;
  readonly palette: readonly ResolvedDurations[];
  /** Of these, those that a successor has to wait for the least, and the longest. */
  readonly shortest: ResolvedDurations;
  readonly longest: ResolvedDurations;
  readonly group: ResolvedFleaseDurations;
  readonly bounds: Bounds;
  readonly operator: GroupOperator;
  readonly owners: OwnerNode[] = [];
  readonly lookups: LookupNode[] = [];
  readonly supervisor: SupervisorNode;
  readonly pools: readonly string[];
  readonly policy: Policy;
  readonly timekeeping: Timekeeping;
  #elected = 0;
  readonly #logs: SuccessiveLogs;
  #highestTerm = 0;
  readonly #nodes: readonly ManagerNode[];
  readonly #around: NodeDependencies;
  readonly #random: Random;
  readonly slowestRate: number;
  readonly fastestRate: number;
  readonly #startedWith = new Map<string, StartedWith>();
  readonly #electorates = new Map<string, SimulatedElectorate>();

  constructor(options: SoftWorldOptions) {
    const { pools = ['pool'], rateSpread = 1 } = options;
    const palette = options.durations ?? [resolveDurations()];
    this.world = new World({ seed: options.seed, trace: options.trace });
    this.palette = palette;
    this.durations = palette[0];
    const byTakeover = [...palette].sort((a, b) => takeoverHoldMs(a) - takeoverHoldMs(b));
    this.shortest = byTakeover[0] ?? palette[0];
    this.longest = byTakeover.at(-1) ?? palette[0];
    this.pools = pools;
    this.slowestRate = 1 / Math.sqrt(rateSpread);
    this.fastestRate = Math.sqrt(rateSpread);
    const leaderLeaseMs = Math.min(...palette.map((durations) => durations.leaderLeaseMs));
    const { clockSkewMs = leaderLeaseMs / 10, takeoverMs = takeoverHoldMs(this.longest) } = options;
    this.group = resolveFleaseDurations({ leaseMs: leaderLeaseMs, clockSkewMs }, takeoverMs);
    this.#random = this.world.random.fork('soft world');
    this.network = new Network<PoolMessage>(this.world, { faults: options.links ?? CALM });
    this.groupNetwork = new Network<Packet>(this.world, {
      ...{ faults: options.groupLinks ?? CALM, name: 'group' },
    });
    this.timekeeping = new Timekeeping(this.world, clockSkewMs, 1 - this.slowestRate);
    this.bounds = boundsOf(palette);
    this.policy = consistentHashing({ virtualNodes: options.virtualNodes ?? 4 });
    this.checker = new Checker(this.world, this.bounds, this.policy);
    this.#logs = new SuccessiveLogs(this.world, this.checker, pools);
    this.#around = {
      ...{ world: this.world, network: this.network, observer: this.checker },
      ...{ durations: this.durations, managers: NAMES, channels: new Channels() },
    };
    this.#nodes = NAMES.map((name) => this.#manager(name, options));
    this.operator = new GroupOperator(this, this.#nodes, options.managers ?? 3);
    this.supervisor = new SupervisorNode(this.#around, {
      ...{ name: 'supervisor', clock: this.#clock(), lateMs: 0 },
    });
    new OneLeader(this.world, this.#nodes, this.bounds.suspensionToleranceMs);
    this.checker.owners = this.owners;
    this.checker.losses.lookups = this.lookups;
    this.checker.losses.latenessMs = 1;
  }

  /** Those that elect, and those that did before while that is not settled. */
  get managers(): readonly ManagerNode[] {
    return this.operator.nodes;
  }

  start(): void {
    for (const { process } of this.managers) process.start();
    this.supervisor.process.start();
  }

  /** From its next start on. What it says of the rest stays. */
  startWith(node: ManagerNode, changes: Partial<StartedWith>): void {
    this.#startedWith.set(node.name, { ...this.#startOf(node.name), ...changes });
  }

  /** The group member of a Manager that runs. */
  memberOf({ name, process }: ManagerNode): Member | undefined {
    return process.alive ? this.#electorates.get(name)?.member : undefined;
  }

  addOwner(name: string, more: Partial<Omit<OwnerNodeOptions, keyof NodeOptions>> = {}): OwnerNode {
    const node = new OwnerNode(this.#around, {
      ...{ name, clock: this.#clock(), lateMs: 0 },
      ...{ pool: 'pool', slowMs: 0, supervised: false, ...more },
    });
    this.owners.push(node);
    node.process.start();
    return node;
  }

  addLookup(name: string, more: { pool?: string; resumes?: boolean } = {}): LookupNode {
    const { pool = 'pool', resumes = false } = more;
    const node = new LookupNode(this.#around, {
      ...{ name, clock: this.#clock(), lateMs: 0, pool, resumes },
    });
    this.lookups.push(node);
    node.process.start();
    return node;
  }

  /** An owner dies; its supervisor, if it has one, sees it. */
  crashOwner(node: OwnerNode): void {
    node.process.crash();
    if (node.options.supervised) this.supervisor.reaped(node.secret);
  }

  /** The Manager that leads, as it sees it itself; of two, the one of the later term. */
  get leader(): ManagerNode | undefined {
    const leading = this.#nodes.filter(({ process, core }) => process.alive && core?.role === 'leading');
    return leading.sort((a, b) => (b.core?.term ?? 0) - (a.core?.term ?? 0))[0];
  }

  /** The log knows of no leader but the Manager that leads. */
  get confirmedLeader(): ManagerNode | undefined {
    return this.leader;
  }

  /** Cut from the other Managers and from nobody else. */
  cutFromGroup(node: ManagerNode): void {
    for (const name of NAMES) if (name !== node.name) this.groupNetwork.cutBoth(name, node.name);
  }

  healGroup(node: ManagerNode): void {
    for (const name of NAMES) if (name !== node.name) this.groupNetwork.heal(name, node.name);
  }

  /** Takes all faults away: from here on everything must come right. */
  heal(): void {
    this.network.heal();
    this.groupNetwork.heal();
    this.network.setFaults(CALM);
    this.groupNetwork.setFaults(CALM);
    this.timekeeping.rest();
    for (const { process } of [...this.managers, ...this.lookups]) {
      process.resume();
      if (!process.alive) process.start();
    }
    for (const { process } of this.owners) process.resume();
    for (const manager of this.managers) this.world.after(1, () => manager.standAgain());
  }

  /** How long after the last fault all is well: a silence, a dead leader's lease, a wait, and what it takes in any pool. */
  get settleMs(): number {
    const { recoveryMs, leaseMs, clockSkewMs, takeoverMs } = this.group;
    const waitMs = takeoverMs * this.fastestRate;
    return 2 * recoveryMs + 2 * (leaseMs + clockSkewMs) + waitMs + this.bounds.settleMs + 1_000;
  }

  get takeoverMs(): number {
    return this.group.takeoverMs;
  }

  run(ms: number): void {
    this.world.run({ untilMs: this.world.trueMs + ms });
  }

  /** Lets time pass until something is so, looking every 5 ms; fails if it never is. */
  until(what: string, isSo: () => boolean, withinMs: number): void {
    const end = this.world.trueMs + withinMs;
    while (!isSo()) {
      if (this.world.trueMs >= end) throw new Error(`after ${withinMs} ms still not: ${what}`);
      this.run(5);
    }
  }

  /** Everybody who lives serves, and all look-ups agree. */
  settle(): void {
    this.run(this.settleMs);
    this.checker.settled();
  }

  drawRate(): number {
    const { slowestRate, fastestRate } = this;
    return this.#random.pick([slowestRate, fastestRate, this.#random.between(slowestRate, fastestRate)]);
  }

  #startOf(name: string): StartedWith {
    const { durations, takeoverMs } = this;
    return this.#startedWith.get(name) ?? { durations, takeoverMs, pools: undefined };
  }

  #manager(
    name: string,
    { clocksWander: wanders, movesPolicy, quietAfterMs }: SoftWorldOptions,
  ): ManagerNode {
    const { policy } = this;
    const startOf = (): StartedWith => this.#startOf(name);
    const node = new ManagerNode(this.#around, {
      ...{ name, lateMs: 0 },
      clock: new SimClock({
        originMs: this.#random.between(0, 1e7),
        uptimeOriginMs: this.#random.between(1e4, 1e9),
        wallOriginMs: EPOCH_MS + this.timekeeping.drawDeviationMs(),
      }),
      get durations() {
        return startOf().durations;
      },
      settings: {
        ...{
          policy,
          movesPolicy,
          quietAfterMs,
          maxSpansPerBatch: 4_096,
          compactEveryBatches: 64,
          isLogShared: true,
        },
        get pools() {
          return startOf().pools;
        },
        get groupTakeoverMs() {
          return startOf().takeoverMs;
        },
      },
      openLog: (runtime) => this.#watched(new SoftLog(this.#elect(name, runtime))),
    });
    if (wanders !== true) return node;
    const { world } = this;
    const kept: Timekept = {
      ...{ process: node.process, stoppedUntilMs: 0 },
      note: (what, facts) => world.note(name, { what, facts }),
    };
    this.timekeeping.keep(kept);
    return node;
  }

  #elect(name: string, runtime: SimRuntime): SimulatedElectorate {
    const electorate = simulatedElectorate(runtime, {
      ...{ id: name, view: this.operator.view, network: this.groupNetwork },
      durations: { ...this.group, takeoverMs: this.#startOf(name).takeoverMs },
      tells: (event) => {
        if (event.kind === 'settled') this.operator.heardOfSettling(event.view);
        if (event.kind === 'trouble') this.world.count(`trouble, ${event.trouble.why}`);
      },
    });
    this.#electorates.set(name, electorate);
    return electorate;
  }

  #watched(log: FencedLog): FencedLog {
    return {
      maxBatchBytes: log.maxBatchBytes,
      canBeFollowed: false,
      follow: (events) => log.follow(events),
      campaign: (candidate, events) =>
        log.campaign(candidate, {
          deposed: (reason) => events.deposed(reason),
          elected: (leadership, until) => events.elected(this.#leadership(leadership), until),
          extended: (until) => events.extended(until),
        }),
    };
  }

  #leadership(leadership: Leadership): Leadership {
    const { term } = leadership;
    if (term <= this.#highestTerm)
      throw this.world.broken('continuity', `term ${term} was given after term ${this.#highestTerm}`);
    this.#highestTerm = term;
    this.#elected += 1;
    const election = this.#elected;
    return {
      ...leadership,
      append: (batch, done) =>
        leadership.append(batch, (outcome) => {
          if (outcome === 'appended') this.#logs.committed(election, batch);
          done(outcome);
        }),
    };
  }

  #clock(): SimClock {
    return new SimClock({
      rate: this.drawRate(),
      originMs: this.#random.between(0, 1e7),
      uptimeOriginMs: this.#random.between(1e4, 1e9),
    });
  }
}
