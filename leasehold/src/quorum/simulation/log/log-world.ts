/** A cell of replicas in a hostile world, each with a process that uses the fenced log on it as a Manager would. */

import { silent } from '../../../runtime/logger.ts';
import { later } from '../../../runtime/time.ts';
import type { SimRuntime } from '../../../sim/process.ts';
import { Random } from '../../../sim/random.ts';
import type { World } from '../../../sim/world.ts';
import { EVERYBODY, objectOf, type ReaderMap } from '../../core/configuration.ts';
import { TERM_KEY } from '../../fenced-log/layout.ts';
import { QuorumLog } from '../../fenced-log/quorum-log.ts';
import { type DrawnWorld, drawWorld, LONGEST_LEASE_MS } from '../drawn-world.ts';
import { calm, worsen } from '../hostile-world.ts';
import type { ReplicaNode, Resident } from '../node.ts';
import { QuorumWorld } from '../quorum-world.ts';
import { LogChecker } from './log-checker.ts';
import { LogUser } from './log-user.ts';
import { LogResident } from './resident.ts';

export class LogWorld {
  readonly quorum: QuorumWorld;
  readonly #checker: LogChecker;
  readonly #random: Random;
  readonly #users = new Map<ReplicaNode, LogUser>();
  /** Their machine was suspended, and the replica has had no input since: nothing is decided on that clock before. */
  readonly #asleep = new Set<ReplicaNode>();
  readonly #style: {
    readonly lossChance: number;
    readonly rashChance: number;
    readonly pauseMs: number;
    readonly standChance: number;
    readonly partBytes: number;
  };
  #isResting = false;

  constructor(seed: number, trace: boolean) {
    const dice = new Random(seed, 'drawn');
    const drawn = forLog(drawWorld(dice), dice);
    this.#style = {
      lossChance: dice.pick([0, 0.05, 0.3]),
      rashChance: dice.pick([0, 0, 0.02, 0.2]),
      pauseMs: dice.pick([5, 20, 80]),
      standChance: dice.pick([0.6, 1]),
      partBytes: dice.pick([40, 150, 1_000]),
    };
    this.quorum = new QuorumWorld(seed, trace, drawn, {
      resident: (node, runtime) => this.#move(node, runtime),
      settled: (node) => this.#settled(node),
    });
    this.#checker = new LogChecker(this.world);
    this.#random = this.world.random.fork('log');
  }

  get world(): World {
    return this.quorum.world;
  }

  run(): void {
    worsen(this.quorum);
    this.#isResting = true;
    calm(this.quorum);
    this.#mustSettle();
    this.world.count('log: batches', this.#checker.line.entries.length);
  }

  #move(node: ReplicaNode, runtime: SimRuntime): Resident {
    const { drawn } = this.quorum;
    const random = this.#random.fork(`${node.storage} ${node.process.incarnation}`);
    const { lossChance, rashChance, pauseMs, standChance, partBytes } = this.#style;
    const resident = new LogResident({
      ...{ node, runtime, random: random.fork('port'), lossChance, rashChance },
      shown: (slot, effect) => this.#checker.shown(slot, effect),
    });
    const { leaseMs, electionMs, heartbeatEveryMs, sessionMs } = drawn.durations;
    // The replica has read its disk, and takes no input before this returns.
    runtime.wakeAt(runtime.now(), () => {
      const log = new QuorumLog({
        ...{ port: resident, runtime, logger: silent, leaseMs, sessionMs, partBytes },
        ...{ retryMs: electionMs / 5, pollMs: heartbeatEveryMs, maxBatchBytes: 1_000 },
        randomId: () => `history-${node.storage}-${node.process.incarnation}`,
        beginAbove: () => 0,
        soon: (callback) => void runtime.wakeAt(later(runtime.now(), 0), callback),
        onFatal: (error) => {
          throw this.#checker.broken('readable', error.message);
        },
      });
      const stands = random.chance(standChance) || this.#isResting;
      this.#users.set(
        node,
        new LogUser({
          ...{ node, runtime, log, checker: this.#checker, random: random.fork('user'), stands, pauseMs },
          ...{ leaseMs: LONGEST_LEASE_MS, readAtMs: resident.readAtMs },
          mayAppend: () => !this.#isResting,
        }),
      );
    });
    return resident;
  }

  #settled(node: ReplicaNode): void {
    this.#asleep.delete(node);
    for (const [each, user] of this.#users) {
      if (each.process.clock.suspended) this.#asleep.add(each);
      if (this.#asleep.has(each)) continue;
      const belief = user.believesBefore(this.#checker.committedTerm);
      if (belief === undefined) continue;
      const term = this.#checker.committedTerm;
      throw this.#checker.broken('alone-within-lease', `${belief}, and term ${term} is committed`);
    }
  }

  /** Nothing goes wrong any more: a leader, that makes room; appends; followers at the end. */
  #mustSettle(): void {
    const { world, operator, drawn } = this.quorum;
    const { electionMs } = drawn.durations;
    const boundMs = 20 * electionMs + 12 * LONGEST_LEASE_MS;
    const users = (): LogUser[] =>
      operator.members.flatMap((node) => {
        const user = this.#users.get(node);
        return user?.isAlive === true ? [user] : [];
      });
    const until = (what: string, withinMs: number, isDone: () => boolean): void => {
      const endMs = world.trueMs + withinMs;
      while (!isDone()) {
        if (world.trueMs > endMs)
          throw this.#checker.broken(what === 'nobody takes over' ? 'makes-room' : 'settles', what);
        world.run({ untilMs: world.trueMs + 5 });
        operator.startAll();
      }
    };
    for (const user of users()) user.takePart();
    const leader = (): LogUser | undefined => users().find(({ isLeading }) => isLeading);
    until('nobody leads', boundMs, () => leader() !== undefined);
    const before = this.world.counts.get('log: elected') ?? 0;
    const resigning = leader();
    resigning?.resign();
    until('nobody takes over', 6 * electionMs, () => (this.world.counts.get('log: elected') ?? 0) > before);
    until('nobody leads again', boundMs, () => leader() !== undefined);
    this.#isResting = false;
    const appended = this.world.counts.get('log: appended') ?? 0;
    leader()?.goOn();
    until('nothing is appended', boundMs, () => (this.world.counts.get('log: appended') ?? 0) > appended + 3);
    this.#isResting = true;
    until('a follower lags', boundMs, () => users().every(({ isUpToDate }) => isUpToDate));
  }
}

/** The keys of the log are one object; other keys may have other holders, and then their writes are committed later. */
function drawLogPlacement({ placement }: DrawnWorld, dice: Random): ReaderMap {
  const mode = dice.pick(['all', 'all', 'leader', 'chosen'] as const);
  if (mode !== 'chosen' || placement.mode !== 'chosen') return { mode: mode === 'chosen' ? 'all' : mode };
  return { ...placement, objects: new Map([[objectOf(TERM_KEY), EVERYBODY]]) };
}

/** Few other clients: the log is under test. The keys are held by every member, or by the leader alone. */
function forLog(drawn: DrawnWorld, dice: Random): DrawnWorld {
  return {
    ...drawn,
    clients: dice.pick([0, 1, 2, 4]),
    placement: drawLogPlacement(drawn, dice),
    placementMs: dice.chance(0.2) ? 150 : undefined,
  };
}
