/// <reference lib="esnext.disposable" preserve="true" />

/**
 * One campaign: from standing for election to the end of the leadership.
 *
 *     look ──nobody leads──► grant ──► elect ──ours──► read everything ──► told: elected
 *      ▲ │                     │         │                    │                  │
 *      │ └─somebody: until it goes,      │                    │                  ▼
 *      │   or for a while      │         │                    │            told: deposed
 *      └───────────────────────┴─in vain: let go of the lease─┘
 *
 * **At most one leads**, because the transaction that puts the leader key finds it absent.
 *
 * **An attempt has a lease of its own**, which is named in the key that it puts. If the outcome of its
 * transaction is unknown it is asked again; to find our own key then means that an earlier try went through.
 * An attempt that is given up lets go of its lease first of all: should a try still be on its way, it is
 * refused when it arrives, or what it puts goes with the lease.
 *
 * **A candidate is told once.** If the lease is lost before everything has been read, nobody was told,
 * nothing was appended, and the attempt counts for nothing: the next one has another lease, and so another
 * key.
 *
 * **Everything is read after the election**, at one revision, at which the leader key is ours. Whatever
 * earlier leaders appended had compared their key, which was gone when ours was put; so it is there to be
 * read, and nothing of theirs can come after it.
 *
 * **Who cannot read does not stay.** An elected candidate that is not done reading after some leader leases lets go of the
 * key, and others, who may have a better way to etcd, get it first. Each time it allows itself twice as long: where
 * nobody can read as quickly as that, somebody is elected all the same.
 *
 * The transaction also compares `meta`: the term counts from the `termBase` that was read with it, and where
 * there is no log any more nobody is elected. And it compares `halted`, which must not be there: on a log that somebody
 * has found to have gone back in time nobody leads before an operator was there (see `halting.ts`).
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { DeposedReason, LeaderEvents } from '../log.ts';
import type { EtcdTransactionResult } from './client.ts';
import type { LogContext } from './context.ts';
import { Fence } from './fence.ts';
import { afterKey, decodeHalt, encodeLeader, type Halt, type Meta, sameBytes } from './layout.ts';
import { type KeptLease, keepLease } from './leader-lease.ts';
import { Leading } from './leadership.ts';
import { Lifetime } from './lifetime.ts';
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

const LONG_GRANT = 'etcd grants more than a leader lease: when a leader dies, owners run out of their leases';

/** Waiting for an operator, who alone can change it. */
const HALTED_TIMES = 10;

const HALTED =
  'nobody may lead on the log in etcd, which somebody has found to have gone back in time: stop all Managers, raise ' +
  'its counters (leasehold manager recover --store etcd://…), and start them';

/** Elected, and perhaps told. */
interface Reign {
  readonly lease: string;
  readonly life: Lifetime;
  until: Instant;
  contents: Contents | undefined;
  leadership: Leading | undefined;
}

export class Campaign implements Disposable {
  readonly #context: LogContext;
  readonly #candidate: string;
  readonly #events: LeaderEvents;
  readonly #life: Lifetime;
  readonly #onEnd: (campaign: Campaign) => void;
  /** What is to be let go of. */
  #lease: string | undefined;
  #reign: Reign | undefined;
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
    this.#life = new Lifetime(context.options.runtime);
    this.#readingMs = READING_LEASES * context.options.leaderLeaseMs;
    this.#look();
  }

  /** Withdraws, or resigns. Nothing is told. */
  [Symbol.dispose](): void {
    if (this.#life.isOver) return;
    this.#life[Symbol.dispose]();
    this.#reign?.life[Symbol.dispose]();
    this.#stopWaiting();
    this.#letGo();
    this.#onEnd(this);
  }

  /** Ends because the log is closed. Call what it returns a little later: it tells whoever leads. */
  close(): () => void {
    const isTold = this.#reign?.leadership !== undefined;
    this[Symbol.dispose]();
    return () => {
      if (isTold) this.#events.deposed('resigned');
    };
  }

  #look(): void {
    const { reader, layout, asking } = this.#context;
    this.#stopWaiting();
    const keys = [layout.leader, layout.halted];
    reader.overview(this.#life, keys, ({ revision, meta, metaRevision, others: [leader, halted] }) => {
      const halt = decodeHalt(halted);
      if (halt !== undefined) return this.#halted(halt);
      asking.troubles.over(HALTED);
      if (leader === undefined) this.#grant(meta, metaRevision);
      else this.#wait(revision);
    });
  }

  #lookLater(times = 1): void {
    this.#life.after(this.#context.asking.pauseMs(times), () => this.#look());
  }

  #halted({ why, term, position }: Halt): void {
    this.#context.asking.troubles.met(HALTED, { why, seenTerm: term, seenPosition: position });
    this.#lookLater(HALTED_TIMES);
  }

  /** Until the leader key goes. A watch can be deaf, so it looks from time to time. */
  #wait(revision: number): void {
    const { options, layout } = this.#context;
    this.#stopWaiting();
    const watch = options.client.watch(layout.leader, afterKey(layout.leader), revision + 1, {
      changed: this.#life.hearing((_key, value) => {
        if (value === undefined) this.#look();
      }),
      ended: () => {},
    });
    this.#waiting = [watch, this.#life.after(options.pollMs, () => this.#look())];
  }

  #stopWaiting(): void {
    for (const each of this.#waiting) each[Symbol.dispose]();
    this.#waiting = [];
  }

  #grant(meta: Meta, metaRevision: number): void {
    const { asking, options } = this.#context;
    const { runtime, leaderLeaseMs, ttlSeconds, about } = options;
    const askedAt = runtime.now();
    asking.grant(
      ttlSeconds,
      this.#life.hearing((answer) => {
        if (answer.kind !== 'done') return this.#lookLater();
        const { lease } = answer.value;
        this.#lease = lease;
        this.#weigh(answer.value.ttlSeconds);
        if (answer.value.ttlSeconds * 1_000 >= leaderLeaseMs) {
          const value = encodeLeader(this.#candidate, lease, about);
          return this.#elect({ lease, askedAt, meta, metaRevision, value });
        }
        asking.troubles.met('etcd grants less than a leader lease', {
          ...{ leaderLeaseMs, granted: answer.value.ttlSeconds },
        });
        this.#giveUp();
      }),
    );
  }

  /** etcd grants no less than one and a half of its own election timeouts, whatever it is asked for. */
  #weigh(ttlSeconds: number): void {
    const { asking, options } = this.#context;
    const { leaderLeaseMs, leaderChangeMs } = options;
    if (ttlSeconds * 1_000 + LATE_MS <= leaderChangeMs) asking.troubles.over(LONG_GRANT);
    else asking.troubles.met(LONG_GRANT, { leaderLeaseMs, leaderChangeMs, granted: ttlSeconds });
  }

  #elect(attempt: Attempt): void {
    const { asking, layout } = this.#context;
    const { lease, value, metaRevision } = attempt;
    const { leader, meta, halted } = layout;
    asking.insist<EtcdTransactionResult>(
      this.#life,
      (hear) =>
        asking.transact(
          {
            compare: [
              { key: leader, createRevision: 0 },
              { key: meta, modRevision: metaRevision },
              { key: halted, createRevision: 0 },
            ],
            success: [{ do: 'put', key: leader, value, lease }],
            failure: [{ do: 'get', key: leader }],
          },
          hear,
        ),
      (result) => this.#voted(attempt, result),
      () => this.#giveUp(),
    );
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
    const life = new Lifetime(runtime);
    const until = later(attempt.askedAt, leaderLeaseMs);
    const reign: Reign = { lease: attempt.lease, life, until, contents: undefined, leadership: undefined };
    const fence = new Fence(layout.leader, createRevision, attempt.value);
    this.#reign = reign;
    keepLease(this.#context, life, attempt, fence, {
      written: () => reign.leadership?.written ?? 0,
      sawHead: (head, written) => reign.leadership?.sawHead(head, written),
      extended: (extended) => {
        reign.until = extended;
        if (reign.leadership === undefined) this.#tell(reign, attempt.meta, fence);
        else this.#events.extended(extended);
      },
      lost: (reason) => this.#lost(reason),
    });
    reader.everything(life, [layout.leader], (contents) => {
      const [leader] = contents.overview.others;
      if (!fence.isOurs(leader)) return this.#lost(fence.reason(leader));
      reign.contents = contents;
      this.#tell(reign, attempt.meta, fence);
    });
    life.after(this.#readingMs, () => this.#outOfTime(reign));
  }

  #outOfTime({ leadership }: Reign): void {
    if (leadership !== undefined) return;
    const withinMs = this.#readingMs;
    this.#readingMs *= 2;
    this.#context.asking.troubles.met('elected, and has not read the log in time: lets go', { withinMs });
    this.#lost('resigned');
  }

  /** As soon as everything is read; but not with a leader lease that is over. */
  #tell(reign: Reign, { termBase }: Meta, fence: Fence): void {
    if (reign.contents === undefined || reign.until <= this.#context.options.runtime.now()) return;
    reign.leadership = new Leading(this.#context, {
      ...{ life: reign.life, fence, contents: reign.contents },
      term: termBase + fence.createRevision,
      deposed: (reason) => this.#lost(reason),
      resigned: () => this[Symbol.dispose](),
    });
    this.#events.elected(reign.leadership, reign.until);
  }

  #lost(reason: DeposedReason): void {
    const isTold = this.#reign?.leadership !== undefined;
    this.#reign?.life[Symbol.dispose]();
    this.#reign = undefined;
    if (!isTold) {
      this.#giveUp();
      return;
    }
    this[Symbol.dispose]();
    this.#events.deposed(reason);
  }
}
