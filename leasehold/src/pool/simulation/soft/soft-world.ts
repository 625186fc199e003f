/**
 * Managers that elect each other and keep nothing, with owners and look-ups, watched by the checker of the pool.
 *
 * To the checker every term is a log that was emptied and whose counters were raised: with the first commit of a
 * term all that was true before is forgotten, nobody may act under an earlier lease by then, and everything is lost, which
 * every look-up must report. What one that was deposed still commits, in its own memory, counts for nothing.
 *
 * Wall clocks of Managers are within the skew of each other; all other clocks run at rates of their own.
 */

import type { Packet } from '../../../flease/messages.ts';
import { type ResolvedFleaseDurations, resolveFleaseDurations } from '../../../flease/options.ts';
import { SoftLog } from '../../../flease/soft-log.ts';
import type { FencedLog, Leadership, LogBatch, LogStart } from '../../../log/log.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { type Instant, instant } from '../../../runtime/time.ts';
import { SimClock } from '../../../sim/clock.ts';
import { type LinkFaults, Network } from '../../../sim/network.ts';
import type { Random } from '../../../sim/random.ts';
import { World } from '../../../sim/world.ts';
import {
  type PoolDurations,
  type ResolvedDurations,
  resolveDurations,
  takeoverHoldMs,
} from '../../options.ts';
import { consistentHashing } from '../../policy/consistent-hashing.ts';
import { encodeSnapshot, ManagerState } from '../../state.ts';
import { type Bounds, boundsOf } from '../bounds.ts';
import { Checker } from '../checker.ts';
import { LookupNode, ManagerNode, OwnerNode, type PoolMessage, type Surroundings } from '../nodes.ts';
import { simulatedElectorate } from './simulated-electorate.ts';

/** What can be wrong with such a log, to see that it is noticed. */
export type SoftFault =
  /** The successor does not know that there is anything to wait for. */
  | 'does-not-wait'
  /** Numbers begin anew with every leader. */
  | 'numbers-restart'
  /** Every leader goes on with the history of the one before. */
  | 'one-history'
  /** A leader believes in its lease for as long as nobody tells it otherwise. */
  | 'endless-lease';

export interface SoftWorldOptions {
  readonly seed: number;
  readonly trace?: boolean | undefined;
  readonly durations?: PoolDurations | undefined;
  readonly clockSkewMs?: number | undefined;
  readonly links?: Partial<LinkFaults> | undefined;
  readonly groupLinks?: Partial<LinkFaults> | undefined;
  /** How far apart the rates of owners' clocks may be: the fastest over the slowest. @default 1 */
  readonly rateSpread?: number | undefined;
  readonly fault?: SoftFault | undefined;
}

const MANAGERS = ['manager-1', 'manager-2', 'manager-3'];
const POOL = 'pool';
const CALM: Partial<LinkFaults> = { lossChance: 0, duplicateChance: 0, slowChance: 0, delayMs: [1, 5] };
const EPOCH_MS = 1_750_000_000_000;
/** What a process makes of its wall clock is up to a millisecond off. */
const READING_MS = 1.001;

export class SoftWorld {
  readonly world: World;
  readonly network: Network<PoolMessage>;
  readonly groupNetwork: Network<Packet>;
  readonly checker: Checker;
  readonly durations: ResolvedDurations;
  readonly group: ResolvedFleaseDurations;
  readonly bounds: Bounds;
  readonly managers: readonly ManagerNode[];
  readonly owners: OwnerNode[] = [];
  readonly lookups: LookupNode[] = [];
  /** The latest term that committed anything. */
  term = 0;
  readonly #around: Surroundings;
  readonly #random: Random;
  readonly #options: SoftWorldOptions;
  readonly #forget: () => void;
  /** How far the wall clock of each Manager is from true time. */
  readonly #deviationsMs = new Map<string, number>();

  constructor(options: SoftWorldOptions) {
    this.#options = options;
    this.world = new World({ seed: options.seed, trace: options.trace });
    this.durations = resolveDurations(options.durations);
    const { leaderLeaseMs } = this.durations;
    this.group = resolveFleaseDurations({
      leaseMs: leaderLeaseMs,
      clockSkewMs: options.clockSkewMs ?? leaderLeaseMs / 10,
    });
    this.#random = this.world.random.fork('soft world');
    this.network = new Network<PoolMessage>(this.world, { faults: options.links ?? CALM });
    this.groupNetwork = new Network<Packet>(this.world, {
      ...{ faults: options.groupLinks ?? CALM, name: 'group' },
    });
    this.bounds = boundsOf([this.durations]);
    const policy = consistentHashing({ virtualNodes: 4 });
    this.checker = new Checker(this.world, this.bounds, policy);
    this.#forget = this.checker.truth.backup();
    this.#around = {
      ...{ world: this.world, network: this.network, observer: this.checker },
      ...{ durations: this.durations, managers: MANAGERS },
    };
    this.managers = MANAGERS.map(
      (name) =>
        new ManagerNode(this.#around, {
          ...{ name, lateMs: 0, clock: this.#wallClock(name) },
          settings: { policy, maxSpansPerBatch: 4_096, compactEveryBatches: 64 },
          openLog: (runtime) =>
            this.#watched(
              new SoftLog(
                simulatedElectorate(runtime, {
                  ...{ id: name, members: MANAGERS, durations: this.group, network: this.groupNetwork },
                }),
              ),
            ),
        }),
    );
    this.checker.owners = this.owners;
    this.checker.losses.lookups = this.lookups;
    this.checker.losses.latenessMs = 1;
  }

  start(): void {
    for (const { process } of this.managers) process.start();
  }

  addOwner(name: string): OwnerNode {
    const node = new OwnerNode(this.#around, {
      ...{ name, clock: this.#clock(), lateMs: 0, pool: POOL, slowMs: 0, supervised: false },
    });
    this.owners.push(node);
    node.process.start();
    return node;
  }

  addLookup(name: string): LookupNode {
    const node = new LookupNode(this.#around, {
      ...{ name, clock: this.#clock(), lateMs: 0, pool: POOL, resumes: false },
    });
    this.lookups.push(node);
    node.process.start();
    return node;
  }

  /** The Manager that leads, as it sees it itself; of two, the one of the later term. */
  get leader(): ManagerNode | undefined {
    const leading = this.managers.filter(({ process, core }) => process.alive && core?.role === 'leading');
    return leading.sort((a, b) => (b.core?.term ?? 0) - (a.core?.term ?? 0))[0];
  }

  /** Cut from the other Managers and from nobody else. */
  cutFromGroup(node: ManagerNode): void {
    for (const { name } of this.managers) if (name !== node.name) this.groupNetwork.cutBoth(name, node.name);
  }

  healGroup(node: ManagerNode): void {
    for (const { name } of this.managers) if (name !== node.name) this.groupNetwork.heal(name, node.name);
  }

  /** Somebody sets its wall clock, within what is allowed. */
  setClock(node: ManagerNode): void {
    const beforeMs = this.#deviationsMs.get(node.name) ?? 0;
    node.process.stepWall(this.#drawDeviation(node.name) - beforeMs);
  }

  /** Takes all faults away: from here on everything must come right. */
  heal(): void {
    this.network.heal();
    this.groupNetwork.heal();
    this.network.setFaults(CALM);
    this.groupNetwork.setFaults(CALM);
    for (const { process } of [...this.managers, ...this.owners, ...this.lookups]) {
      process.resume();
      if (!process.alive) process.start();
    }
    for (const manager of this.managers) this.world.after(1, () => manager.standAgain());
  }

  /** How long after the last fault all is well: a silence, a dead leader's lease, a wait, and what it takes in any pool. */
  get settleMs(): number {
    const { recoveryMs, leaseMs, clockSkewMs } = this.group;
    return (
      2 * recoveryMs + 2 * (leaseMs + clockSkewMs) + this.bounds.takeoverMs + this.bounds.settleMs + 1_000
    );
  }

  get takeoverMs(): number {
    return takeoverHoldMs(this.durations);
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

  #watched(log: FencedLog): FencedLog {
    return {
      maxBatchBytes: log.maxBatchBytes,
      canBeFollowed: false,
      follow: (events) => log.follow(events),
      campaign: (candidate, events) =>
        log.campaign(candidate, {
          deposed: (reason) => events.deposed(reason),
          elected: (leadership, until) => events.elected(this.#leadership(leadership), this.#until(until)),
          extended: (until) => events.extended(this.#until(until)),
        }),
    };
  }

  #leadership(leadership: Leadership): Leadership {
    const { term } = leadership;
    return {
      ...leadership,
      start: this.#start(leadership.start),
      append: (batch, done) =>
        leadership.append(batch, (outcome) => {
          if (outcome === 'appended') this.#committed(term, batch);
          done(outcome);
        }),
    };
  }

  #committed(term: number, batch: LogBatch): void {
    if (term < this.term) {
      this.world.count('commits of one that was deposed');
      return;
    }
    const isLater = term > this.term && this.term > 0;
    this.term = term;
    if (isLater) {
      this.#forget();
      this.checker.replayed = ManagerState.empty;
      this.checker.countersRaised();
    }
    this.checker.committed(batch);
    if (!isLater) return;
    this.world.count('failovers');
    this.checker.losses.committed({
      ...{ pool: POOL, position: batch.position },
      spans: [{ start: 0n, end: RING_SIZE }],
    });
  }

  #start(start: LogStart): LogStart {
    switch (this.#options.fault) {
      case 'does-not-wait':
        return { ...start, snapshot: { position: start.floor, bytes: encodeSnapshot(ManagerState.empty) } };
      case 'numbers-restart':
        return { ...start, floor: 1 };
      case 'one-history':
        return { ...start, history: 'soft' };
      default:
        return start;
    }
  }

  #until(until: Instant): Instant {
    return this.#options.fault === 'endless-lease' ? instant(Number.POSITIVE_INFINITY) : until;
  }

  #drawDeviation(name: string): number {
    const boundMs = this.group.clockSkewMs / 2 - READING_MS;
    const deviationMs = boundMs * this.#random.pick([-1, 1, this.#random.between(-1, 1)]);
    this.#deviationsMs.set(name, deviationMs);
    return deviationMs;
  }

  #wallClock(name: string): SimClock {
    const random = this.#random;
    return new SimClock({
      originMs: random.between(0, 1e7),
      uptimeOriginMs: random.between(1e4, 1e9),
      wallOriginMs: EPOCH_MS + this.#drawDeviation(name),
    });
  }

  #clock(): SimClock {
    const random = this.#random;
    const most = Math.sqrt(this.#options.rateSpread ?? 1);
    return new SimClock({
      rate: random.pick([1 / most, most, random.between(1 / most, most)]),
      originMs: random.between(0, 1e7),
      uptimeOriginMs: random.between(1e4, 1e9),
    });
  }
}
