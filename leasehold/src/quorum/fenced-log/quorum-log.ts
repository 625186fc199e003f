/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The fenced log on a quorum cell: an ordinary user of the cell's keys, in the process of one replica.
 *
 * The promises of the interface (`log/log.ts`), and the reasons:
 *
 *  - *Fenced.* Every append carries the condition that `term` has the revision of the leader's election (`leading.ts`).
 *  - *Read after the election.* The leader starts from a view of the log as of the slot of the election, or later
 *    (`view.ts`).
 *  - *Known or deposed.* Writes are repeated until the outcome is known; conditions make copies harmless (`requests.ts`).
 *  - *The leader lease* is a claim on `term`: until when no other write of `term` can be committed behind the replica of the
 *    leader (`core/key-claim.ts`), counted from before the promises were asked for. Like every leader lease the claim may end
 *    early, and the leader is told.
 *
 * **A new log begins above the clock**, as on every other store, so the first leader waits (`log/new-log.ts`). `meta` is written
 * once, if absent. Every process that had a session in the cell before that has seen the log begin.
 *
 * Every process keeps one view, from one watch; campaigns and followers hear of each change.
 */

import type { FencedLog, FollowerEvents, Following, LeaderEvents, LogStart } from '../../log/log.ts';
import { newHistory } from '../../log/history.ts';
import { StorageError } from '../../runtime/errors.ts';
import { damagedLog } from '../core/errors.ts';
import type { Revision, Value } from '../core/operation.ts';
import { Campaign } from './campaign.ts';
import type { LogContext, QuorumLogOptions } from './context.ts';
import { Follower } from './following.ts';
import { encodeJson, hasRevision, managerKey, META_KEY, TAG, TERM_KEY } from './layout.ts';
import { foundOf, Requests } from './requests.ts';
import { LogView } from './view.ts';

export class QuorumLog implements FencedLog {
  readonly maxBatchBytes: number;
  readonly view: LogView = new LogView();
  readonly #options: QuorumLogOptions;
  readonly #requests: Requests;
  readonly #context: LogContext;
  readonly #campaigns = new Set<Campaign>();
  readonly #followers = new Set<Follower>();
  readonly #watch: Disposable;
  #seeing: { readonly slot: number; readonly act: () => void }[] = [];
  /** Whether the log began after this process had opened its session: then this process was there. */
  #isBegunHere = false;
  /** The newest revision of `term` that this process took off. */
  #vacated: Revision = 0;
  #isOver = false;

  constructor(options: QuorumLogOptions) {
    this.#options = options;
    this.maxBatchBytes = options.maxBatchBytes;
    this.#requests = new Requests(options);
    this.#context = {
      ...{ options, requests: this.#requests, view: this.view },
      whenSeen: (slot, act) => this.#whenSeen(slot, act),
      start: () => this.#start(),
      damaged: (key) => this.#fail(damagedLog(key)),
      vacate: (revision) => this.#vacate(revision),
    };
    this.#watch = options.port.watch(TAG, {
      whole: (found, slot) => this.#seen(() => this.view.whole(found, slot)),
      changed: (found, slot) => this.#seen(() => this.view.changed(found, slot)),
    });
    this.#begin();
  }

  campaign(candidate: string, events: LeaderEvents): Disposable {
    const campaign = new Campaign(this.#context, candidate, events, (each) => this.#campaigns.delete(each));
    this.#campaigns.add(campaign);
    return campaign;
  }

  follow(events: FollowerEvents): Following {
    const follower = new Follower(this.#context, events, (each) => this.#followers.delete(each));
    this.#followers.add(follower);
    return follower;
  }

  /** Says how the Manager in this process can be reached; undefined: no longer. */
  enrol(value: Value | undefined): void {
    const key = managerKey(this.#options.port.storage);
    const action =
      value === undefined ? ({ do: 'delete', key } as const) : ({ do: 'put', key, value } as const);
    this.#requests.write({ conditions: [], actions: [action] }, () => {});
  }

  /** Whether the outcome of every write is known. */
  get isIdle(): boolean {
    return this.#requests.isIdle;
  }

  /** Withdraws and resigns; writes that are under way go on until {@link Symbol.dispose}. */
  withdraw(): void {
    for (const follower of [...this.#followers]) follower[Symbol.dispose]();
    for (const campaign of [...this.#campaigns]) campaign[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.withdraw();
    this.#requests[Symbol.dispose]();
    this.#watch[Symbol.dispose]();
  }

  /** Begins the log, unless there is one. */
  #begin(): void {
    const { randomId, beginAbove } = this.#options;
    const meta = { ...newHistory(randomId), floor: beginAbove() };
    this.#requests.write(
      {
        conditions: [{ key: META_KEY, is: 'absent' }],
        actions: [{ do: 'put', key: META_KEY, value: encodeJson(meta) }],
      },
      (outcome) => {
        const { revision = 0 } = foundOf(outcome, META_KEY) ?? {};
        this.#isBegunHere = outcome.kind === 'done' || revision > this.#requests.session;
      },
    );
  }

  #start(): LogStart | undefined {
    try {
      const start = this.view.start();
      return { ...start, begunHere: this.#isBegunHere };
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  #seen(take: () => void): void {
    try {
      take();
    } catch (error) {
      this.#fail(error);
      return;
    }
    const { slot = 0 } = this.view;
    const due = this.#seeing.filter((each) => each.slot <= slot);
    this.#seeing = this.#seeing.filter((each) => each.slot > slot);
    for (const { act } of due) act();
    this.#tidyTerm();
    for (const follower of [...this.#followers]) follower.look();
    for (const campaign of [...this.#campaigns]) campaign.look();
  }

  /** A name of an earlier life of this process leads nowhere. */
  #tidyTerm(): void {
    const { term } = this.view;
    if (term?.value.storage !== this.#options.port.storage) return;
    const { candidate } = term.value;
    const isStanding = [...this.#campaigns].some((campaign) => campaign.candidate === candidate);
    if (!isStanding) this.#vacate(term.revision);
  }

  #vacate(revision: Revision): void {
    if (revision <= this.#vacated) return;
    this.#vacated = revision;
    this.#requests.write(
      { conditions: [hasRevision(TERM_KEY, revision)], actions: [{ do: 'delete', key: TERM_KEY }] },
      () => {},
    );
  }

  #whenSeen(slot: number, act: () => void): void {
    if ((this.view.slot ?? 0) >= slot) act();
    else this.#seeing.push({ slot, act });
  }

  #fail(error: unknown): void {
    if (!(error instanceof StorageError)) throw error;
    if (this.#isOver) return;
    this[Symbol.dispose]();
    this.#options.onFatal(error);
  }
}
