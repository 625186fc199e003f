/**
 * The papers' large world: 500 owners, 2,000 look-ups, their durations, their churn. How much does
 * the Manager have to say and to hear, and how fast can all of it be simulated?
 *
 * What happens is what the papers' measurements did:
 *
 *  - *steady*: nothing but renewals and syncs;
 *  - *churn*: every node, owner or look-up, is killed and at once started again after a run of 8 h
 *    on average; of 2,500 nodes that is one every 11.5 s;
 *  - *rollout*: all nodes of one kind are restarted, one after the other, at a given pace.
 *
 * The traffic is counted where it is sent, with the bytes that its frame would have; in this network
 * everything is to or from a Manager. The checker would look at millions of things, so it does not
 * watch; at the end, {@link LargeWorld.verify} replays the log and has it look once, at all owners
 * and at some of the look-ups.
 */

import type { LogBatch } from '../../log/log.ts';
import type { Random } from '../../sim/random.ts';
import { PAPER_DURATIONS, resolveDurations } from '../core/options.ts';
import { consistentHashing } from '../core/policy/consistent-hashing.ts';
import { decodeBatch, ManagerState } from '../core/state.ts';
import { encodeMessage } from '../wire/messages.ts';
import type { LookupNode, OwnerNode, PoolMessage } from './nodes.ts';
import { PoolWorld } from './pool-world.ts';

export interface LargeWorldOptions {
  readonly seed: number;
  readonly owners: number;
  readonly lookups: number;
  readonly managers: number;
  readonly virtualNodes: number;
}

/** At this size one simulated second can have many events, and is no loop. */
const MOST_EVENTS_A_SECOND = 10_000_000;

/** A frame's length goes before it. */
const FRAME_HEAD_BYTES = 4;

/** The papers draw their figure 13 in steps of this. */
const WINDOW_SECONDS = 30;

/** Messages one way, since the beginning. */
interface Flow {
  messages: number;
  bytes: number;
}

/** What was said in a phase, to and from all Managers together. */
export interface PhaseTraffic {
  readonly seconds: number;
  readonly events: number;
  readonly commits: number;
  /** Nodes that were restarted. */
  readonly restarts: number;
  /** Reports and syncs that want an answer. */
  readonly requests: number;
  readonly received: Readonly<Flow>;
  readonly sent: Readonly<Flow>;
  /** Bytes a second that the Managers sent, in the busiest second and in the busiest half minute. */
  readonly busiestSecond: number;
  readonly busiestWindow: number;
}

export class LargeWorld {
  readonly pool: PoolWorld;
  readonly options: LargeWorldOptions;
  readonly #random: Random;
  readonly #received: Flow = { messages: 0, bytes: 0 };
  readonly #sent: Flow = { messages: 0, bytes: 0 };
  readonly #batches: LogBatch[] = [];
  #requests = 0;
  #restarts = 0;
  #snapshots = 0;

  constructor(options: LargeWorldOptions) {
    this.options = options;
    const durations = resolveDurations(PAPER_DURATIONS);
    this.pool = new PoolWorld({
      seed: options.seed,
      durations,
      policy: consistentHashing({ virtualNodes: options.virtualNodes }),
      managers: options.managers,
      leaderKeyMs: durations.leaderLeaseMs,
      links: { delayMs: [0.2, 2] },
      logLinks: { delayMs: [0.5, 3] },
      maxSpansPerBatch: Number.POSITIVE_INFINITY,
      sizeOf: (message) => this.#count(message),
      checked: false,
    });
    this.#random = this.pool.world.random.fork('large world');
    this.pool.log.onCommit = (batch) => this.#batches.push(batch);
  }

  /** The rows of the lease table, as the log has them now. */
  get rows(): number {
    return this.#leaderState().pool('pool').rows.length;
  }

  /** How many times a look-up was sent the whole table. */
  get snapshots(): number {
    return this.#snapshots;
  }

  /** Owners first, all at once, then look-ups over one sync interval; then it grows quiet. */
  populate(eachSecond: () => void): void {
    const { pool, options } = this;
    const { renewEveryMs, syncEveryMs } = pool.durations;
    pool.start();
    pool.until('there is a leader', () => pool.leader !== undefined, 60_000);
    for (let index = 1; index <= options.owners; index += 1) pool.addOwner(`owner-${index}`);
    this.run(renewEveryMs / 1_000, eachSecond);
    // All have joined in one commit; now their renewals are spread, as if each had come when it liked.
    for (const { process } of pool.owners)
      process.pause(this.#random.between(renewEveryMs, 2 * renewEveryMs));
    this.run((3 * renewEveryMs) / 1_000, eachSecond);
    for (let index = 1; index <= options.lookups; index += 1) {
      pool.world.after(this.#random.between(0, syncEveryMs), () => pool.addLookup(`lookup-${index}`));
    }
    // A standby that was asked once goes on telling for some sync intervals.
    const quietAfter = options.managers === 1 ? 2 : 6;
    this.run((quietAfter * syncEveryMs) / 1_000, eachSecond);
  }

  /** Lets so many simulated seconds pass, and counts. */
  run(seconds: number, eachSecond: () => void): PhaseTraffic {
    const { world } = this.pool;
    const before = this.#totals();
    const sentEachSecond: number[] = [];
    for (let second = 0; second < seconds; second += 1) {
      const sentBytes = this.#sent.bytes;
      world.run({ untilMs: world.trueMs + 1_000, maxEvents: MOST_EVENTS_A_SECOND });
      sentEachSecond.push(this.#sent.bytes - sentBytes);
      eachSecond();
    }
    const after = this.#totals();
    return {
      seconds,
      events: after.events - before.events,
      commits: after.commits - before.commits,
      restarts: after.restarts - before.restarts,
      requests: after.requests - before.requests,
      received: difference(after.received, before.received),
      sent: difference(after.sent, before.sent),
      busiestSecond: busiest(sentEachSecond, 1),
      busiestWindow: busiest(sentEachSecond, WINDOW_SECONDS),
    };
  }

  /** Every node restarts, at random, after this many hours on average. Disposing ends it. */
  churn(meanLifeHours: number): Disposable {
    const nodes = [...this.pool.owners, ...this.pool.lookups];
    const meanMs = (meanLifeHours * 3_600_000) / nodes.length;
    return this.#repeat(
      () => this.#random.exponential(meanMs),
      () => this.#restart(this.#random.pick(nodes)),
    );
  }

  /** Nodes of one kind restart one after the other, in order. Disposing ends it. */
  rollout(kind: 'owners' | 'lookups', everySeconds: number): Disposable {
    const nodes: readonly (OwnerNode | LookupNode)[] = this.pool[kind];
    let next = 0;
    return this.#repeat(
      () => everySeconds * 1_000,
      () => {
        const node = nodes[next % nodes.length];
        next += 1;
        if (node !== undefined) this.#restart(node);
      },
    );
  }

  /**
   * Waits until the last restart has been dealt with; then what the policy wants, what the log says,
   * what every owner serves and what some look-ups know must be the same.
   *
   * @throws {BrokenPromise} if it is not
   */
  verify(sample: number, eachSecond: () => void): void {
    const { pool } = this;
    const { holdMs, syncEveryMs, renewEveryMs } = pool.durations;
    this.run(Math.ceil((holdMs + 2 * syncEveryMs + 2 * renewEveryMs) / 1_000), eachSecond);
    const { checker } = pool;
    checker.replayed = ManagerState.replay({
      history: pool.log.history,
      snapshot: undefined,
      batches: this.#batches,
      floor: 0,
    });
    for (const { position, bytes } of this.#batches) checker.truth.commit(position, decodeBatch(bytes));
    checker.owners = pool.owners;
    checker.losses.lookups = this.#random.shuffle(pool.lookups).slice(0, sample);
    checker.settled();
  }

  #repeat(pauseMs: () => number, act: () => void): Disposable {
    let over = false;
    const again = (): void => {
      this.pool.world.after(pauseMs(), () => {
        if (over) return;
        act();
        again();
      });
    };
    again();
    return {
      [Symbol.dispose]: () => {
        over = true;
      },
    };
  }

  #restart({ process }: OwnerNode | LookupNode): void {
    this.#restarts += 1;
    process.restart();
  }

  #leaderState(): ManagerState {
    return this.pool.leader?.core?.state ?? ManagerState.empty;
  }

  #count(message: PoolMessage): number {
    const bytes = FRAME_HEAD_BYTES + encodeMessage(message).length;
    const { kind } = message;
    const toManager = kind === 'report' || kind === 'sync' || kind === 'certificate' || kind === 'probe';
    const flow = toManager ? this.#received : this.#sent;
    flow.messages += 1;
    flow.bytes += bytes;
    if (message.kind === 'sync' || (message.kind === 'report' && message.wantsAnswer)) this.#requests += 1;
    if (message.kind === 'changes' && message.from === 0) this.#snapshots += 1;
    return bytes;
  }

  #totals() {
    return {
      events: this.pool.world.events,
      commits: this.#batches.length,
      restarts: this.#restarts,
      requests: this.#requests,
      received: { ...this.#received },
      sent: { ...this.#sent },
    };
  }
}

const difference = (after: Flow, before: Flow): Flow => ({
  messages: after.messages - before.messages,
  bytes: after.bytes - before.bytes,
});

/** The greatest mean over so many seconds in a row. */
function busiest(bytes: readonly number[], seconds: number): number {
  const width = Math.min(seconds, bytes.length);
  let sum = 0;
  let most = 0;
  for (const [index, count] of bytes.entries()) {
    sum += count - (bytes[index - width] ?? 0);
    if (index >= width - 1) most = Math.max(most, sum);
  }
  return most / width;
}
