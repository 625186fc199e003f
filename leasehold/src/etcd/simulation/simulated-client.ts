/// <reference lib="esnext.disposable" preserve="true" />

/**
 * One process's way to the simulated etcd. Requests and answers are lost, delayed, and stuck in a member that
 * was stopped, from where they arrive seconds later. A request that is not answered in time is `unknown`, and
 * may be carried out long after that.
 *
 * As the real client, this one sends one copy of a transaction; of every other request a second copy may follow when
 * the first seems lost.
 */

import { later } from '../../runtime/time.ts';
import type { SimProcess, SimRuntime } from '../../sim/process.ts';
import type { Random } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import type {
  EtcdAnswer,
  EtcdClient,
  EtcdMemberHealth,
  EtcdRange,
  EtcdRangeResult,
  EtcdTransaction,
  EtcdTransactionResult,
  EtcdWatchEvents,
} from '../client.ts';
import type { SimulatedEtcd, Watch } from './simulated-etcd.ts';
import { refused } from './simulated-store.ts';

/** The faults of the way to etcd. Changed during the run. */
export interface ClientFaults {
  lossChance: number;
  delayMs: readonly [low: number, high: number];
  /** The probability that a request or an answer takes up to `slowMs`. */
  slowChance: number;
  slowMs: number;
  /** The additional time of an answer. */
  answerMs: readonly [low: number, high: number];
  /** Nothing comes through. */
  isCut: boolean;
  /** Requests come through, and no answer does. */
  losesAnswers: boolean;
  /** Watches bring nothing more, and ranges are not answered. */
  isDeaf: boolean;
  /** The member that is asked has no leader, and answers nothing but keep-alives. */
  hasNoLeader: boolean;
}

export const noFaults = (): ClientFaults => ({
  ...{
    lossChance: 0,
    delayMs: [0.5, 2],
    slowChance: 0,
    slowMs: 0,
    answerMs: [0, 0],
    isCut: false,
    losesAnswers: false,
    isDeaf: false,
    hasNoLeader: false,
  },
});

const STRANGE = 'this is another cluster than before';

/** What distinguishes a kind of requests. */
interface Kind {
  readonly isKeepAlive?: boolean;
  /** Whether no answer comes, although the request was carried out. */
  isUnanswered?(): boolean;
}

type Hear<T> = (answer: EtcdAnswer<T>) => void;

export class SimulatedEtcdClient implements EtcdClient {
  readonly #world: World;
  readonly #etcd: SimulatedEtcd;
  readonly #process: SimProcess;
  readonly #runtime: SimRuntime;
  readonly #faults: ClientFaults;
  readonly #random: Random;
  /** The client's name in the causes of changes. */
  readonly #who: string;
  /** Which cluster was heard from first. No other cluster is believed, as far as the clusters can be told apart. */
  #cluster: number | undefined;

  constructor(etcd: SimulatedEtcd, process: SimProcess, runtime: SimRuntime, faults: ClientFaults) {
    this.#world = process.world;
    this.#etcd = etcd;
    this.#process = process;
    this.#runtime = runtime;
    this.#faults = faults;
    this.#who = `${process.name}.${process.incarnation}`;
    this.#random = process.world.random.fork(`etcd client ${this.#who}`);
  }

  grant(ttlSeconds: number, timeoutMs: number, answer: Hear<{ lease: string; ttlSeconds: number }>): void {
    this.#ask(() => this.#etcd.grant(ttlSeconds), timeoutMs, answer, true);
  }

  keepAlive(lease: string, timeoutMs: number, answer: Hear<{ ttlSeconds: number }>): void {
    const execute = (): EtcdAnswer<{ ttlSeconds: number }> =>
      this.#etcd.losesKeepAlives
        ? refused('unavailable', 'request timed out')
        : this.#etcd.keepAlive(lease, this.#who);
    this.#ask(execute, timeoutMs, answer, true, { isKeepAlive: true });
  }

  revoke(lease: string, timeoutMs: number, answer: Hear<undefined>): void {
    this.#ask(() => this.#etcd.revoke(lease, this.#who), timeoutMs, answer, true);
  }

  transact(transaction: EtcdTransaction, timeoutMs: number, answer: Hear<EtcdTransactionResult>): void {
    const puts = transaction.success.some((operation) => operation.do === 'put');
    this.#ask(() => this.#etcd.transact(transaction, this.#who), timeoutMs, answer, false, {
      isUnanswered: () => puts && this.#etcd.withholdsOutcomes,
    });
  }

  range(range: EtcdRange, timeoutMs: number, answer: Hear<EtcdRangeResult>): void {
    this.#ask(() => this.#etcd.range(range, this.#who), timeoutMs, answer, true, {
      isUnanswered: () => this.#faults.isDeaf,
    });
  }

  watch(key: string, end: string, fromRevision: number, events: EtcdWatchEvents): Disposable {
    let watch: Watch | undefined;
    let isOver = false;
    let lastAtMs = 0;
    const { restores } = this.#etcd;
    /** In order, and late now and then. */
    const deliver = (act: () => void): void => {
      if (!this.#runtime.alive) watch?.[Symbol.dispose]();
      lastAtMs = Math.max(lastAtMs, this.#world.trueMs + this.#delayMs());
      this.#world.at(lastAtMs, () => this.#perform(() => void (isOver || act())));
    };
    this.#world.after(this.#delayMs(), () => {
      if (isOver || !this.#runtime.alive) return;
      const ended = (why: string, compacted: boolean): void =>
        deliver(() => {
          isOver = true;
          events.ended(why, compacted);
        });
      if (restores !== this.#etcd.restores || this.#isStranger()) return ended('another cluster', false);
      watch = this.#etcd.watch({
        ...{ key, end, from: fromRevision, ended },
        changed: ({ key: changed, value, revision }) => {
          if (this.#faults.isDeaf && watch !== undefined) watch.isDeaf = true;
          else deliver(() => events.changed(changed, value, revision));
        },
      });
      if (this.#faults.isCut || this.#faults.isDeaf) watch.isDeaf = true;
    });
    return {
      [Symbol.dispose]: () => {
        isOver = true;
        watch?.[Symbol.dispose]();
      },
    };
  }

  health(_timeoutMs: number, answer: (members: readonly EtcdMemberHealth[]) => void): void {
    const reachable = !this.#etcd.isDown && !this.#faults.isCut;
    const complaint = reachable ? (this.#etcd.isFull ? 'no space' : undefined) : 'no answer';
    const member = {
      endpoint: 'simulated',
      isFull: reachable && this.#etcd.isFull,
      version: undefined,
      databaseBytes: undefined,
      isLeader: reachable,
    };
    this.#world.after(this.#delayMs(), () =>
      this.#perform(() => answer([{ ...member, reachable, complaint }])),
    );
  }

  #ask<T>(
    carryOut: () => EtcdAnswer<T>,
    timeoutMs: number,
    hear: Hear<T>,
    mayRepeat: boolean,
    { isKeepAlive = false, isUnanswered = () => false }: Kind = {},
  ): void {
    if (!this.#runtime.alive) return;
    const execute = (): EtcdAnswer<T> =>
      this.#faults.hasNoLeader && !isKeepAlive ? refused('unavailable', 'no leader') : carryOut();
    let isAnswered = false;
    const answer = (given: EtcdAnswer<T>): void => {
      if (isAnswered) return;
      isAnswered = true;
      timer[Symbol.dispose]();
      hear(given);
    };
    const timer = this.#runtime.wakeAt(later(this.#runtime.now(), timeoutMs), () =>
      answer({ kind: 'unknown', why: 'no answer in time' }),
    );
    const reply = (given: EtcdAnswer<T>): void => {
      this.#cluster ??= this.#etcd.cluster;
      const stranger = mayRepeat ? refused('other', STRANGE) : ({ kind: 'unknown', why: STRANGE } as const);
      const believed = this.#isStranger() ? stranger : given;
      const { isCut, losesAnswers, lossChance } = this.#faults;
      const isLost = isCut || losesAnswers || isUnanswered() || this.#random.chance(lossChance);
      const delayMs = this.#delayMs() + this.#random.between(...this.#faults.answerMs);
      if (!isLost) this.#world.after(delayMs, () => this.#perform(() => answer(believed)));
    };
    this.#send(execute, reply);
    if (mayRepeat && this.#random.chance(this.#faults.lossChance))
      this.#world.after(timeoutMs / 3, () => void (isAnswered || this.#send(execute, reply)));
  }

  #send<T>(execute: () => EtcdAnswer<T>, reply: (answer: EtcdAnswer<T>) => void): void {
    if (this.#random.chance(this.#faults.lossChance)) return;
    const { restores } = this.#etcd;
    const arrive = (): void => {
      if (restores !== this.#etcd.restores) return; // The connection broke.
      // Without a majority a request is refused at once, lost, or kept until there is one again.
      const fate = this.#etcd.isDown ? this.#random.integer(0, 2) : undefined;
      if (fate === undefined) reply(execute());
      else if (fate === 0) reply(refused('unavailable', 'no leader'));
      else if (fate === 1) this.#world.after(this.#random.between(50, 500), arrive);
    };
    if (!this.#faults.isCut) this.#world.after(this.#delayMs(), arrive);
    // Already in the buffers when the cut began.
    else if (this.#random.chance(0.2)) this.#world.after(this.#random.between(0, 3_000), arrive);
  }

  #isStranger(): boolean {
    return this.#cluster !== undefined && this.#cluster !== this.#etcd.cluster;
  }

  #delayMs(): number {
    const { delayMs, slowChance, slowMs } = this.#faults;
    if (this.#random.chance(slowChance)) return this.#random.between(delayMs[1], slowMs);
    return this.#random.between(...delayMs);
  }

  #perform(act: () => void): void {
    if (this.#runtime.alive) this.#process.perform(() => void (this.#runtime.alive && act()));
  }
}
