/// <reference lib="esnext.disposable" preserve="true" />

/**
 * One campaign: from standing for election to the end of the leadership.
 *
 *     look ──nobody leads──► grant ──► elect ──ours──► read everything ──► told: elected
 *      ▲ │                     │         │                    │                  │
 *      │ └─somebody: until it goes,      │                    │                  ▼
 *      │   or for a while      │         │                    │            told: deposed
 *      └───────────────────────┴─in vain: revoke the lease ───┘
 *
 * **At most one Manager leads**, because the transaction that puts the leader key requires that there is none.
 *
 * **An attempt has a lease of its own**, which is named in the key that the attempt puts. If the outcome of the
 * transaction is unknown, the transaction is repeated; finding our own key then means that an earlier try went
 * through. An attempt that is given up revokes its lease first: a try that is still on its way is then refused on
 * arrival, or its key goes with the lease.
 *
 * **A candidate is told once.** If the lease is lost before everything has been read, no event was delivered, nothing
 * was appended, and the attempt counts for nothing: the next one has another lease, and so another key.
 *
 * **Everything is read after the election**, at one revision, at which the leader key is ours. Every append of an
 * earlier leader had compared that leader's key, which was gone when ours was put; so all of these appends are there
 * to be read, and none can follow.
 *
 * **A candidate that cannot read does not stay.** An elected candidate that has not finished reading after some
 * leader leases gives up the key, and others, which may have a better connection to etcd, can be elected first. Each
 * time the candidate allows itself twice as long: where no Manager can read fast enough, one is elected all the same.
 *
 * The transaction also compares `meta`: the term counts from the `termBase` that was read with it, and without a log
 * no Manager is elected. And the transaction requires that `halted` does not exist: on a log that was found to have
 * gone back in time no Manager leads before an operator has raised its counters (see `halting.ts`). A history without
 * a key gets one in the same transaction.
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { DeposedReason, LeaderEvents } from '../log.ts';
import { newHistoryKey } from '../history.ts';
import type { EtcdOperation, EtcdTransactionResult } from '../../etcd/client.ts';
import type { LogContext } from './context.ts';
import { Fence } from './fence.ts';
import { afterKey, decodeHalt, encodeLeader, encodeMeta, type Halt, type Meta } from './layout.ts';
import { sameBytes } from '../../etcd/values.ts';
import { type KeptLease, keepLease } from './leader-lease.ts';
import { Leading } from './leadership.ts';
import { Lifetime } from '../../runtime/lifetime.ts';
import type { Contents } from './reading.ts';

interface Attempt extends KeptLease {
  readonly meta: Meta;
  readonly metaRevision: number;
  readonly value: Uint8Array;
}

/** How long reading everything may take, at first. */
const READING_LEASES = 5;

/** A key outlives its lease by up to this. */
const LATE_MS = 500;

const LONG_GRANT =
  'etcd grants more than a leader lease: when a leader dies, leases of owners expire before the next leader can renew them';

/** The pause on a halted log, which only an operator can change. */
const HALTED_TIMES = 10;

const HALTED =
  'no Manager may lead: a Manager has found that the log in etcd went back in time. Stop all Managers, raise the ' +
  'counters of the log (leasehold manager recover --store etcd://…), and start the Managers again';

/** Elected, and perhaps told. */
interface WonElection {
  readonly lease: string;
  readonly lifetime: Lifetime;
  until: Instant;
  contents: Contents | undefined;
  leadership: Leading | undefined;
}

export class Campaign implements Disposable {
  readonly #context: LogContext;
  readonly #candidate: string;
  readonly #events: LeaderEvents;
  readonly #lifetime: Lifetime;
  readonly #onEnd: (campaign: Campaign) => void;
  /** The lease to revoke at the end. */
  #lease: string | undefined;
  #won: WonElection | undefined;
  #waiting: Disposable[] = [];
  #readingMs: number;

  constructor(
    context: LogContext,
    candidate: string,
    events: LeaderEvents,
    onEnd: (campaign: Campaign) => void,
  ) {
    this.#context = context;
    this.#candidate = candidate;
    this.#events = events;
    this.#onEnd = onEnd;
    this.#lifetime = new Lifetime(context.options.runtime);
    this.#readingMs = READING_LEASES * context.options.leaderLeaseMs;
    this.#look();
  }

  /** Withdraws, or resigns, without an event. */
  [Symbol.dispose](): void {
    if (this.#lifetime.isOver) return;
    this.#lifetime[Symbol.dispose]();
    this.#won?.lifetime[Symbol.dispose]();
    this.#stopWaiting();
    this.#letGo();
    this.#onEnd(this);
  }

  /** Ends because the log is closed. Call the returned function a little later: it tells a leader. */
  close(): () => void {
    const isTold = this.#won?.leadership !== undefined;
    this[Symbol.dispose]();
    return () => {
      if (isTold) this.#events.deposed('resigned');
    };
  }

  #look(): void {
    const { reader, layout, requester } = this.#context;
    this.#stopWaiting();
    const keys = [layout.leader, layout.halted];
    reader.overview(this.#lifetime, keys, ({ revision, meta, metaRevision, others: [leader, halted] }) => {
      const halt = decodeHalt(halted);
      if (halt !== undefined) return this.#halted(halt);
      requester.episodes.over(HALTED);
      if (leader === undefined) this.#grant(meta, metaRevision);
      else this.#wait(revision);
    });
  }

  #lookLater(times = 1): void {
    this.#lifetime.after(this.#context.requester.pauseMs(times), () => this.#look());
  }

  #halted({ why, term, position }: Halt): void {
    this.#context.requester.episodes.met(HALTED, { why, seenTerm: term, seenPosition: position });
    this.#lookLater(HALTED_TIMES);
  }

  /** Until the leader key goes. A watch can miss the event, so the candidate also polls. */
  #wait(revision: number): void {
    const { options, layout } = this.#context;
    this.#stopWaiting();
    const watch = options.client.watch(layout.leader, afterKey(layout.leader), revision + 1, {
      changed: this.#lifetime.hearing((_key, value) => {
        if (value === undefined) this.#look();
      }),
      ended: () => {},
    });
    this.#waiting = [watch, this.#lifetime.after(options.pollMs, () => this.#look())];
  }

  #stopWaiting(): void {
    for (const each of this.#waiting) each[Symbol.dispose]();
    this.#waiting = [];
  }

  #grant(meta: Meta, metaRevision: number): void {
    const { requester, options } = this.#context;
    const { runtime, leaderLeaseMs, ttlSeconds, about } = options;
    const askedAt = runtime.now();
    requester.grant(
      ttlSeconds,
      this.#lifetime.hearing((answer) => {
        if (answer.kind !== 'done') return this.#lookLater();
        const { lease } = answer.value;
        this.#lease = lease;
        this.#weigh(answer.value.ttlSeconds);
        if (answer.value.ttlSeconds * 1_000 >= leaderLeaseMs) {
          const value = encodeLeader(this.#candidate, lease, about);
          return this.#elect({ lease, askedAt, meta, metaRevision, value });
        }
        requester.episodes.met('etcd grants less than a leader lease', {
          ...{ leaderLeaseMs, granted: answer.value.ttlSeconds },
        });
        this.#giveUp();
      }),
    );
  }

  /** etcd grants at least one and a half of its own election timeouts, regardless of the request. */
  #weigh(ttlSeconds: number): void {
    const { requester, options } = this.#context;
    const { leaderLeaseMs, leaderChangeMs } = options;
    if (ttlSeconds * 1_000 + LATE_MS <= leaderChangeMs) requester.episodes.over(LONG_GRANT);
    else requester.episodes.met(LONG_GRANT, { leaderLeaseMs, leaderChangeMs, granted: ttlSeconds });
  }

  #elect(attempt: Attempt): void {
    const { requester, layout } = this.#context;
    const { lease, value, meta, metaRevision } = attempt;
    const { leader, halted } = layout;
    requester.insist<EtcdTransactionResult>(
      this.#lifetime,
      (hear) =>
        requester.transact(
          {
            compare: [
              { key: leader, createRevision: 0 },
              { key: layout.meta, modRevision: metaRevision },
              { key: halted, createRevision: 0 },
            ],
            success: [{ do: 'put', key: leader, value, lease }, ...this.#givingKey(meta)],
            failure: [{ do: 'get', key: leader }],
          },
          hear,
        ),
      (result) => this.#voted(attempt, result),
      () => this.#giveUp(),
    );
  }

  #givingKey(meta: Meta): EtcdOperation[] {
    if (meta.key !== undefined) return [];
    const key = newHistoryKey(this.#context.options.randomId);
    return [{ do: 'put', key: this.#context.layout.meta, value: encodeMeta({ ...meta, key }) }];
  }

  #voted(attempt: Attempt, { succeeded, revision, found: [leader] }: EtcdTransactionResult): void {
    if (succeeded) this.#elected(attempt, revision);
    else if (leader !== undefined && sameBytes(leader.value, attempt.value))
      this.#elected(attempt, leader.createRevision);
    else this.#giveUp();
  }

  #giveUp(): void {
    this.#letGo();
    this.#lookLater();
  }

  #letGo(): void {
    if (this.#lease !== undefined) this.#context.release(this.#lease);
    this.#lease = undefined;
  }

  #elected(attempt: Attempt, createRevision: number): void {
    const { reader, layout, options } = this.#context;
    const { runtime, leaderLeaseMs } = options;
    const lifetime = new Lifetime(runtime);
    const until = later(attempt.askedAt, leaderLeaseMs);
    const won: WonElection = {
      lease: attempt.lease,
      lifetime,
      until,
      contents: undefined,
      leadership: undefined,
    };
    const fence = new Fence(layout.leader, createRevision, attempt.value);
    this.#won = won;
    keepLease(this.#context, lifetime, attempt, fence, {
      written: () => won.leadership?.written ?? 0,
      sawHead: (head, written) => won.leadership?.sawHead(head, written),
      extended: (extended) => {
        won.until = extended;
        if (won.leadership === undefined) this.#tell(won, attempt.meta, fence);
        else this.#events.extended(extended);
      },
      lost: (reason) => this.#lost(reason),
    });
    reader.everything(lifetime, [layout.leader], (contents) => {
      const [leader] = contents.overview.others;
      if (!fence.isOurs(leader)) return this.#lost(fence.reason(leader));
      won.contents = contents;
      this.#tell(won, attempt.meta, fence);
    });
    lifetime.after(this.#readingMs, () => this.#outOfTime(won));
  }

  #outOfTime({ leadership }: WonElection): void {
    if (leadership !== undefined) return;
    const withinMs = this.#readingMs;
    this.#readingMs *= 2;
    this.#context.requester.episodes.met('elected, and has not read the log in time: lets go', { withinMs });
    this.#lost('resigned');
  }

  /** As soon as everything is read; but not with a leader lease that is over. */
  #tell(won: WonElection, { termBase }: Meta, fence: Fence): void {
    if (won.contents === undefined || won.until <= this.#context.options.runtime.now()) return;
    won.leadership = new Leading(this.#context, {
      ...{ lifetime: won.lifetime, fence, contents: won.contents },
      term: termBase + fence.createRevision,
      deposed: (reason) => this.#lost(reason),
      resigned: () => this[Symbol.dispose](),
    });
    this.#events.elected(won.leadership, won.until);
  }

  #lost(reason: DeposedReason): void {
    const isTold = this.#won?.leadership !== undefined;
    this.#won?.lifetime[Symbol.dispose]();
    this.#won = undefined;
    if (!isTold) {
      this.#giveUp();
      return;
    }
    this[Symbol.dispose]();
    this.#events.deposed(reason);
  }
}
