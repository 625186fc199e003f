/// <reference lib="esnext.disposable" preserve="true" />

/**
 * One campaign on the simulated engine, from standing for election to the end of the leadership.
 *
 *     look ──nobody leads──► grant ──► elect ──ours──► read everything ──► told: elected
 *      ▲                                │ not ours          │                   │
 *      └──poked, or a while has passed──┴───lost again──────┘            told: deposed
 *
 * **The leader lease** is that of a real client of such an engine (`etcd/leader-lease.ts`, with the argument). The
 * lease is counted from before the request; for the election, from before the grant of the lease. And an extension
 * counts only when the leader's key was read after the lease was kept alive, and is still ours: a member that was
 * replaced without knowing so says "alive" to everybody.
 *
 * **No change is missed between a look and the wait that follows.** A real client watches from the revision of the
 * look. Here a notice of a change may overtake the answer to the look, so a candidate that got one meanwhile looks
 * again.
 *
 * Only in one thing is this client less careful, so that the leader has to be more careful: an election is told even
 * if the leader lease is over by then.
 */

import { assert } from '../runtime/assert.ts';
import { type Instant, later } from '../runtime/time.ts';
import type { AppendOutcome, DeposedReason, LeaderEvents, Leadership, LogBatch, LogStart } from './log.ts';
import type { LeaderKey } from './simulated-messages.ts';
import type { SimulatedLog } from './simulated-log.ts';

/** So many tries fit into a leader lease. */
const TRIES = 4;
/** An attempt that failed is not followed by the next at once. */
const PAUSE = 0.5;

export class SimulatedCampaign implements Disposable {
  readonly #log: SimulatedLog;
  readonly #candidate: string;
  readonly #events: LeaderEvents;
  readonly #watching: Disposable;
  #leading: SimulatedLeadership | undefined;
  /** The lease to release. */
  #lease: number | undefined;
  /** The time of the next look without a poke; undefined if not waiting. */
  #waiting: Disposable | undefined;
  /** Something changed after the request of the last look, so the answer may be out of date. */
  #isOutOfDate = false;
  #over = false;

  constructor(log: SimulatedLog, candidate: string, events: LeaderEvents) {
    this.#log = log;
    this.#candidate = candidate;
    this.#events = events;
    this.#watching = log.watch(() => {
      this.#isOutOfDate = true;
      if (this.#waiting !== undefined) this.#look();
    });
    this.#look();
  }

  /** Withdraws, or resigns. Nothing is told. */
  [Symbol.dispose](): void {
    if (this.#over) return;
    this.#end();
    this.#letGo();
  }

  #end(): void {
    this.#over = true;
    this.#watching[Symbol.dispose]();
    this.#leading?.end();
  }

  #look(): void {
    this.#waiting?.[Symbol.dispose]();
    this.#waiting = undefined;
    this.#isOutOfDate = false;
    this.#log.insist(
      { ask: 'look' },
      () => this.#over,
      (answer) => {
        if (answer.answer !== 'looked') return false;
        if (!answer.isLed) this.#grant(answer.history);
        else if (this.#isOutOfDate) this.#look();
        else this.#wait(this.#log.options.pollMs);
        return true;
      },
    );
  }

  #wait(ms: number): void {
    this.#waiting = this.#log.again(ms, () => {
      if (!this.#over) this.#look();
    });
  }

  #grant(history: string): void {
    this.#log.insist(
      { ask: 'grant' },
      () => this.#over,
      (answer, askedAt) => {
        if (answer.answer !== 'granted') return false;
        this.#lease = answer.lease;
        this.#elect(answer.lease, history, askedAt);
        return true;
      },
    );
  }

  #elect(lease: number, history: string, askedAt: Instant): void {
    this.#log.insist(
      { ask: 'elect', candidate: this.#candidate, lease, history },
      () => this.#over,
      (answer) => {
        if (answer.answer === 'elected') this.#elected({ term: answer.term, lease }, askedAt);
        else this.#giveUp();
        return true;
      },
    );
  }

  #giveUp(): void {
    this.#letGo();
    this.#wait(this.#log.options.retryMs * PAUSE);
  }

  /** A request of ours that would still elect us is then refused. */
  #letGo(): void {
    const lease = this.#lease;
    if (lease === undefined) return;
    this.#lease = undefined;
    this.#log.insist(
      { ask: 'revoke', lease },
      () => false,
      () => true,
    );
  }

  #elected(key: LeaderKey, askedAt: Instant): void {
    let until = later(askedAt, this.#log.options.leaderLeaseMs);
    const leading = new SimulatedLeadership(this.#log, key, {
      resigned: () => this[Symbol.dispose](),
      extended: (extended) => {
        until = extended;
        if (leading.isTold) this.#events.extended(until);
      },
      lost: (reason) => this.#lost(leading, reason),
    });
    this.#leading = leading;
    leading.keepLease(askedAt);
    leading.readEverything(() => this.#events.elected(leading, until));
  }

  #lost(leading: SimulatedLeadership, reason: DeposedReason): void {
    if (this.#over) return;
    leading.end();
    this.#leading = undefined;
    // Nobody was told, and nothing was appended: the election counts for nothing.
    if (!leading.isTold) {
      this.#giveUp();
      return;
    }
    this[Symbol.dispose]();
    this.#events.deposed(reason);
  }
}

interface LeadershipEvents {
  resigned(): void;
  extended(until: Instant): void;
  lost(reason: DeposedReason): void;
}

class SimulatedLeadership implements Leadership {
  readonly term: number;
  start: LogStart = { history: '', snapshot: undefined, batches: [], floor: 0 };
  /** Whether the election was told. */
  isTold = false;
  readonly #log: SimulatedLog;
  readonly #key: LeaderKey;
  readonly #events: LeadershipEvents;
  #head = 0;
  #over = false;
  #appending: LogBatch | undefined;

  constructor(log: SimulatedLog, key: LeaderKey, events: LeadershipEvents) {
    this.#log = log;
    this.#key = key;
    this.term = key.term;
    this.#events = events;
  }

  end(): void {
    this.#over = true;
  }

  /** The first extension is requested when a part of the granted time is over. */
  keepLease(askedAt: Instant): void {
    const { leaderLeaseMs } = this.#log.options;
    const waitMs = Math.max(0, later(askedAt, leaderLeaseMs / TRIES) - this.#log.now());
    this.#log.again(waitMs, () => this.#extend());
  }

  /** After the election, and while the key is ours: nobody else can have appended since. */
  readEverything(read: () => void): void {
    this.#log.insist(
      { ask: 'read-all', key: this.#key },
      () => this.#over,
      (answer) => {
        if (answer.answer !== 'reset') {
          this.#events.lost('superseded');
          return true;
        }
        this.start = answer.start;
        this.#head = this.start.batches.at(-1)?.position ?? this.start.snapshot?.position ?? 0;
        this.isTold = true;
        read();
        return true;
      },
    );
  }

  append(batch: LogBatch, done: (outcome: AppendOutcome) => void): void {
    assert(
      this.#appending === undefined,
      `append ${batch.position} while ${this.#appending?.position} is in flight`,
    );
    this.#appending = batch;
    let tries = 0;
    let next: Disposable | undefined;
    const attempt = (): void => {
      if (this.#over) return;
      tries += 1;
      if (tries > 1) this.#log.elsewhere();
      this.#log.ask({ ask: 'append', key: this.#key, after: this.#head, batch }, ({ answer }) => {
        if (this.#over || this.#appending !== batch) return;
        if (answer === 'not-leader') return this.#events.lost('superseded');
        if (answer === 'strayed') return this.#strayed();
        // Refused now, but an earlier try may have been written, or may be yet: the outcome is unknown.
        if (answer === 'refused' && tries > 1) return;
        this.#appending = undefined;
        next?.[Symbol.dispose]();
        if (answer === 'appended') this.#head = batch.position;
        done(answer === 'appended' ? 'appended' : 'refused');
      });
      next = this.#log.again(this.#log.options.retryMs, attempt);
    };
    attempt();
  }

  compact(snapshot: Uint8Array, upTo: number): void {
    if (!this.#over) this.#log.ask({ ask: 'compact', key: this.#key, upTo, snapshot }, () => {});
  }

  resign(): void {
    if (!this.#over) this.#events.resigned();
  }

  #extend(): void {
    if (this.#over) return;
    const { leaderLeaseMs } = this.#log.options;
    const askedAt = this.#log.now();
    let isAnswered = false;
    this.#log.ask({ ask: 'keep-alive', lease: this.#key.lease }, ({ answer }) => {
      if (this.#over) return;
      if (answer !== 'alive') return this.#events.lost('lease-ended');
      this.#log.ask({ ask: 'confirm', key: this.#key }, ({ answer: found }) => {
        isAnswered = true;
        if (this.#over) return;
        if (found === 'leads') this.#events.extended(later(askedAt, leaderLeaseMs));
        else this.#events.lost('superseded');
      });
    });
    this.#log.again(leaderLeaseMs / TRIES, () => {
      if (!isAnswered) this.#log.elsewhere();
      this.#extend();
    });
  }

  #strayed(): void {
    this.#over = true;
    this.#log.options.strayed?.();
  }
}
