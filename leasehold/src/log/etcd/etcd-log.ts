/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The fenced log on etcd: for Managers on several machines, of which one leads.
 *
 * etcd gives three things, and all promises are made of them. A transaction compares and writes in one step, and has a
 * revision of its own. A read sees every transaction that was finished before the request. A key may be under a lease,
 * and goes when the lease ends. So an election is a key, and everything a leader writes compares that key:
 *
 *     41  leader: a's      if there is none
 *     42  log/1, head      if leader is the key of 41, and there is no head
 *     43  log/2, head      if leader is the key of 41, and head is that of 42
 *     44  leader gone      a's lease has ended; a may not know so yet
 *     45  leader: b's      a read at 45 or later finds all that a ever appended
 *     46  log/3, head      if leader is the key of 45, and head is that of 43
 *      ·  log/3, head      a's, delayed: leader is not the key of 41, and nothing happens
 *
 * **Fenced**: `fence.ts`. **Read after the election**: `campaign.ts`. **Known or deposed**: `leadership.ts`. **The
 * leader lease**, why it is safe although etcd does not always keep leases: `leader-lease.ts`. **Followers and the
 * fresh head**: `following.ts`. The keys: `layout.ts`.
 *
 * While etcd has no majority, or is out of reach, nothing is answered: a leader's appends wait, followers hear
 * nothing, and all goes on when etcd is back. That is said once, by a line of the logger. If the contents under the
 * prefix cannot be read, `onFatal` is told; if the log is gone, everybody waits for an operator: the log may be
 * restored, and a new log costs every owner its keys. Only a starting process begins a log (`opening.ts`). That the
 * log went back in time is noted in etcd, so that the fact is not forgotten with the process that has found it
 * (`halting.ts`).
 *
 * Nobody is called back from within a call.
 */

import type { LeaseholdError } from '../../runtime/errors.ts';
import type { FencedLog, FollowerEvents, Following, LeaderEvents } from '../log.ts';
import { Requester } from './requester.ts';
import { Campaign } from './campaign.ts';
import type { EtcdMemberHealth } from '../../etcd/client.ts';
import type { LogContext } from './context.ts';
import { StoreWentBackError } from './errors.ts';
import { Follower } from './following.ts';
import { type HaltedHistory, Halting } from './halting.ts';
import { Layout } from './layout.ts';
import { Releases } from './leader-lease.ts';
import { Lifetime } from '../../runtime/lifetime.ts';
import { Opening } from './opening.ts';
import { type EtcdLogOptions, type ResolvedEtcdLogOptions, resolveEtcdLogOptions } from './options.ts';
import { LogReader } from './reading.ts';

export interface EtcdLog extends FencedLog, AsyncDisposable {
  readonly prefix: string;
  /** Whether somebody has deleted the log, as far as known. */
  readonly isGone: boolean;

  /** Asks each member of etcd for its health. */
  health(answer: (members: readonly EtcdMemberHealth[]) => void): void;

  /**
   * A peer has seen more of the log than there is: notes that in etcd, so that nobody leads on this log before an
   * operator has raised the counters. Tries for a while, until the log is closed.
   */
  halt(found: HaltedHistory): void;

  /**
   * Withdraws, resigns and stops following. A leader is deposed. Resolves when the leader key is gone, or was not to
   * be had within the time of a request.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Finds the log under the prefix, or begins one.
 *
 * Rejects with PrefixInUseError or UnknownLogFormatError, having written nothing; with EtcdUnavailableError; or with
 * the reason of the signal, if that is aborted first.
 */
export async function openEtcdLog(options: EtcdLogOptions, signal?: AbortSignal): Promise<EtcdLog> {
  const resolved = resolveEtcdLogOptions(options);
  signal?.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const giveUp = (): void => {
      opening[Symbol.dispose]();
      reject(signal?.reason);
    };
    const opening = beginEtcdLog(resolved, (log, error) => {
      signal?.removeEventListener('abort', giveUp);
      if (log === undefined) reject(error);
      else resolve(log);
    });
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}

/** The same in events, for a world that has no promises. Calls back once, with one of the two. */
export function beginEtcdLog(
  options: ResolvedEtcdLogOptions,
  done: (log: OpenEtcdLog | undefined, error: LeaseholdError | undefined) => void,
): Disposable {
  const { client, runtime, logger, requestTimeoutMs, retryMs, prefix } = options;
  const requester = new Requester({ client, runtime, logger, requestTimeoutMs, retryMs });
  const layout = new Layout(prefix);
  return new Opening({ ...options, requester, layout }, (error, begun) => {
    if (error === undefined) done(new OpenEtcdLog(options, requester, layout, begun), undefined);
    else done(undefined, error);
  });
}

/** How long a halted Manager tries to write the note: such a Manager stays, and has time. */
const NOTE_WITHIN_MS = 60_000;
/** And one that ends. */
const LAST_NOTE_WITHIN_MS = 5_000;

/** An open log: the candidates, the followers, and the leases to release. */
export class OpenEtcdLog implements EtcdLog {
  readonly maxBatchBytes: number;
  readonly prefix: string;
  readonly #context: LogContext;
  readonly #campaigns = new Set<Campaign>();
  readonly #followers = new Set<Follower>();
  /** Outlasts the candidates and followers. */
  readonly #lifetime: Lifetime;
  readonly #releases: Releases;
  /**
   * The note being written, and the leases to release only afterwards: others could be elected before they know of the
   * halt.
   */
  #noting:
    | { readonly halting: Halting; readonly leases: string[]; readonly afterwards: (() => void)[] }
    | undefined;
  #closing: Promise<void> | undefined;
  #isOpen = true;

  /** `begun` is the history of the log if this process began the log. */
  constructor(options: ResolvedEtcdLogOptions, requester: Requester, layout: Layout, begun?: string) {
    const { runtime, cluster, ttlSeconds, prefix, maxBatchBytes } = options;
    this.prefix = prefix;
    this.maxBatchBytes = maxBatchBytes;
    const unreadable = (error: LeaseholdError): void => this.#fail(error);
    this.#lifetime = new Lifetime(runtime);
    this.#releases = new Releases(requester, runtime, this.#lifetime, ttlSeconds * 1_000);
    this.#context = {
      ...{ options, requester, layout, unreadable },
      reader: new LogReader({ requester, layout, cluster, runtime, unreadable, begun }),
      release: (lease) => this.#release(lease),
    };
  }

  get isGone(): boolean {
    return this.#context.reader.isGone;
  }

  health(answer: (members: readonly EtcdMemberHealth[]) => void): void {
    const { client, requestTimeoutMs } = this.#context.options;
    client.health(requestTimeoutMs, answer);
  }

  halt(found: HaltedHistory): void {
    if (this.#isOpen && this.#noting === undefined) this.#note(found, NOTE_WITHIN_MS);
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
    const tell = [...this.#campaigns].map((campaign) => campaign.close());
    for (const follower of [...this.#followers]) follower[Symbol.dispose]();
    const end = (): void => {
      if (this.#lifetime.isOver) return;
      this.#lifetime[Symbol.dispose]();
      this.#noting?.halting[Symbol.dispose]();
      closed();
    };
    this.#lifetime.after(this.#context.options.requestTimeoutMs, end);
    this.#lifetime.after(0, () => {
      for (const each of tell) each();
      this.#whenNoted(() => this.#releases.whenDone(end));
    });
  }

  #fail(error: LeaseholdError): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { logger, onFatal } = this.#context.options;
    logger.error(error.message, { code: error.code });
    const isToBeNoted = error instanceof StoreWentBackError;
    if (isToBeNoted && this.#noting === undefined) {
      const { history, term, position, message: why } = error;
      this.#note({ history, term, position, why }, LAST_NOTE_WITHIN_MS);
    }
    const deposing = [...this.#campaigns].map((campaign) => campaign.close());
    for (const follower of [...this.#followers]) follower[Symbol.dispose]();
    this.#lifetime.after(0, () => {
      // The callback may end the process. Until then this process must not go on leading.
      if (isToBeNoted) for (const depose of deposing) depose();
      this.#whenNoted(() => onFatal(error));
    });
  }

  #note(found: HaltedHistory, withinMs: number): void {
    const { options, requester, layout } = this.#context;
    const halting = new Halting({ ...options, requester, layout, withinMs }, found, () => {
      const { leases = [], afterwards = [] } = this.#noting ?? {};
      this.#noting = undefined;
      for (const lease of leases) this.#releases.release(lease);
      for (const act of afterwards) act();
    });
    this.#noting = { halting, leases: [], afterwards: [] };
  }

  /** Calls back when nothing is being noted: within the call if nothing is. */
  #whenNoted(act: () => void): void {
    if (this.#noting === undefined) act();
    else this.#noting.afterwards.push(act);
  }

  #release(lease: string): void {
    if (this.#noting === undefined) this.#releases.release(lease);
    else this.#noting.leases.push(lease);
  }
}
