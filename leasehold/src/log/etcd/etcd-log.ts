/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The fenced log on etcd: for Managers on several machines, of which one leads.
 *
 * etcd gives three things, and all promises are made of them. A transaction compares and writes in one
 * step, and has a revision of its own. A read sees every transaction that was finished before it was asked
 * for. A key may be under a lease, and goes when the lease ends. So an election is a key, and everything a
 * leader writes compares that key:
 *
 *     41  leader: a's      if there is none
 *     42  log/1, head      if leader is the key of 41, and there is no head
 *     43  log/2, head      if leader is the key of 41, and head is that of 42
 *     44  leader gone      a's lease has ended; a may not know it yet
 *     45  leader: b's      whoever reads at 45 or later finds all that a ever appended
 *     46  log/3, head      if leader is the key of 45, and head is that of 43
 *      ·  log/3, head      a's, on its way for a while: leader is not the key of 41, and nothing happens
 *
 * **Fenced**: `fence.ts`. **Read after the election**: `campaign.ts`. **Known or deposed**:
 * `leadership.ts`. **The leader lease**, why it is safe although etcd does not always keep its leases:
 * `leader-lease.ts`. **Followers and the fresh head**: `following.ts`. What the keys are: `layout.ts`.
 *
 * While etcd has no majority, or is out of reach, nothing is answered: a leader's appends wait, followers
 * hear nothing, and all goes on when it is back. That is said once, by a line of the logger. If what is
 * under the prefix cannot be read, `onFatal` is told; if it is gone, everybody waits for an operator, because
 * to begin anew would forget leases that owners still hold.
 *
 * Nobody is called back from within a call.
 */

import type { LeaseholdError } from '../../runtime/errors.ts';
import type { FencedLog, FollowerEvents, Following, LeaderEvents } from '../log.ts';
import { Asking } from './asking.ts';
import { Campaign } from './campaign.ts';
import type { EtcdMemberHealth } from './client.ts';
import { type EtcdLogCounts, type LogContext, noCounts } from './context.ts';
import { Follower } from './following.ts';
import { Layout } from './layout.ts';
import { Releases } from './leader-lease.ts';
import { Lifetime } from './lifetime.ts';
import { Opening } from './opening.ts';
import { type EtcdLogOptions, type ResolvedEtcdLogOptions, resolveEtcdLogOptions } from './options.ts';
import { LogReader } from './reading.ts';

/** Plain fields, read when somebody wants to know. */
export interface EtcdLogStats extends Readonly<EtcdLogCounts> {
  /** The term that this process leads; undefined if it does not. */
  readonly term: number | undefined;
}

export interface EtcdLog extends FencedLog, AsyncDisposable {
  readonly prefix: string;
  readonly stats: EtcdLogStats;

  /** Asks each member of etcd how it is. */
  health(answer: (members: readonly EtcdMemberHealth[]) => void): void;

  /**
   * Withdraws, resigns and stops following. Whoever leads is deposed. Resolves when the leader key is gone,
   * or was not to be had within the time of a request.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Finds the log under the prefix, or begins one.
 *
 * Rejects with PrefixInUseError or UnknownLogFormatError, having written nothing; or with EtcdUnavailableError.
 */
export async function openEtcdLog(options: EtcdLogOptions): Promise<EtcdLog> {
  const resolved = resolveEtcdLogOptions(options);
  return await new Promise((resolve, reject) => {
    beginEtcdLog(resolved, (log, error) => {
      if (log === undefined) reject(error);
      else resolve(log);
    });
  });
}

/** The same in events, for a world that has no promises. Calls back once, with one of the two. */
export function beginEtcdLog(
  options: ResolvedEtcdLogOptions,
  done: (log: OpenEtcdLog | undefined, error: LeaseholdError | undefined) => void,
): Disposable {
  const { client, runtime, logger, requestTimeoutMs, retryMs, prefix } = options;
  const asking = new Asking({ client, runtime, logger, requestTimeoutMs, retryMs });
  const layout = new Layout(prefix);
  return new Opening({ ...options, asking, layout }, (error) => {
    if (error === undefined) done(new OpenEtcdLog(options, asking, layout), undefined);
    else done(undefined, error);
  });
}

/** A log that is open: who stands, who follows, and what is to be let go of. */
export class OpenEtcdLog implements EtcdLog {
  readonly maxBatchBytes: number;
  readonly prefix: string;
  readonly #context: LogContext;
  readonly #campaigns = new Set<Campaign>();
  readonly #followers = new Set<Follower>();
  /** Outlasts those who stand and follow. */
  readonly #life: Lifetime;
  readonly #releases: Releases;
  #closing: Promise<void> | undefined;
  #isOpen = true;

  constructor(options: ResolvedEtcdLogOptions, asking: Asking, layout: Layout) {
    const { runtime, cluster, ttlSeconds, prefix, maxBatchBytes } = options;
    this.prefix = prefix;
    this.maxBatchBytes = maxBatchBytes;
    const unreadable = (error: LeaseholdError): void => this.#fail(error);
    this.#life = new Lifetime(runtime);
    this.#releases = new Releases(asking, runtime, this.#life, ttlSeconds * 1_000);
    this.#context = {
      ...{ options, asking, layout, unreadable },
      reader: new LogReader({ asking, layout, cluster, runtime, unreadable }),
      counts: noCounts(),
      release: (lease) => this.#releases.release(lease),
    };
  }

  get stats(): EtcdLogStats {
    const [term] = [...this.#campaigns].flatMap((campaign) => campaign.term ?? []);
    return { ...this.#context.counts, term };
  }

  health(answer: (members: readonly EtcdMemberHealth[]) => void): void {
    const { client, requestTimeoutMs } = this.#context.options;
    client.health(requestTimeoutMs, answer);
  }

  campaign(candidate: string, events: LeaderEvents): Disposable {
    if (!this.#isOpen) return { [Symbol.dispose]: () => {} };
    const campaign = new Campaign(this.#context, candidate, events, (ended) => this.#campaigns.delete(ended));
    this.#campaigns.add(campaign);
    return campaign;
  }

  follow(events: FollowerEvents): Following {
    if (!this.#isOpen) return { askHead: () => {}, [Symbol.dispose]: () => {} };
    const follower = new Follower(this.#context, events, (ended) => this.#followers.delete(ended));
    this.#followers.add(follower);
    return follower;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= new Promise((resolve) => this.close(resolve));
    return this.#closing;
  }

  /** As disposing, in events. */
  close(closed: () => void): void {
    this.#isOpen = false;
    for (const campaign of [...this.#campaigns]) campaign.close();
    for (const follower of [...this.#followers]) follower[Symbol.dispose]();
    const end = (): void => {
      if (this.#life.isOver) return;
      this.#life[Symbol.dispose]();
      closed();
    };
    this.#life.after(this.#context.options.requestTimeoutMs, end);
    this.#releases.whenDone(end);
  }

  #fail(error: LeaseholdError): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const campaign of [...this.#campaigns]) campaign[Symbol.dispose]();
    for (const follower of [...this.#followers]) follower[Symbol.dispose]();
    const { logger, onFatal } = this.#context.options;
    logger.error(error.message, { code: error.code });
    this.#life.after(0, () => onFatal(error));
  }
}
