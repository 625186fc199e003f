/**
 * A Manager that stands by: follows the log, and answers look-ups from the log.
 *
 * A standby may lag, and a standby that is cut off from the log cannot vouch for anything. So an answer to a sync counts as fresh
 * only if the standby has read the head of the log, linearizably, *after* the sync came, and has followed the log up to that head:
 *
 *     look-up   sync ╲                                           ╱► answer
 *     standby         · ask ╲         ╱─ head 7 · · followed 6, 7
 *     log                    · reads 7                  ╲──╱
 *
 * Every commit before the sync is at or below that head, and so is in the answer. Syncs that come while a read is under way share
 * the next read: the present one may have been done before they came.
 *
 * An owner is only told which Manager leads, as far as the log says. That promises nothing.
 *
 * **A log that goes back** is noticed here too. A log only grows. So a head may not lie below the position that was followed when
 * the head was asked for, unless the log was reset since, perhaps to another history. Nor may a reset end below the position that
 * was followed in the same history. Either is a `halt`: see `rollback-detector.ts`.
 */

import type { LogBatch, LogStart } from '../../../log/log.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { Report, Sync } from '../messages.ts';
import { decodeBatch, ManagerState } from '../state.ts';
import { answerTo, Subscribers } from './subscribers.ts';
import type { LeaderEffect } from './leader.ts';
import { notLeader } from './refusal.ts';
import { type ManagerSettings, settingsFor } from './settings.ts';
import type { RollbackDetector } from './rollback-detector.ts';
import { Stamps } from './stamps.ts';

/** The effects of a standby: those of a leader, and reading the head of the log. */
export type StandbyEffect = LeaderEffect | { readonly do: 'ask-head' };

interface Waiting {
  readonly from: string;
  readonly sync: Sync;
  readonly receivedAt: Instant;
}

export interface Head {
  readonly position: number;
  /** The head was there at some instant after this one. */
  readonly askedAt: Instant;
}

export class Standby {
  readonly subscribers: Subscribers;
  readonly #settings: () => ManagerSettings;
  readonly #rollback: RollbackDetector;
  /** The stamps of the followed log; undefined if nothing of the log was read yet. */
  stamps: Stamps | undefined;
  #state: ManagerState = ManagerState.empty;
  /** Syncs that wait for proof that this standby is up to date. */
  #waiting: Waiting[] = [];
  #head: Head | undefined;
  /** A read of the head is under way, and cannot find less than `from`. */
  #asked: { readonly from: number } | undefined;
  /** The log was restored from a backup, and no Manager has led since: there is nothing to vouch for. */
  #recovers = false;

  constructor(settings: () => ManagerSettings, rollback: RollbackDetector) {
    this.#settings = settings;
    this.#rollback = rollback;
    this.subscribers = new Subscribers((pool) => settingsFor(settings(), pool).durations.syncEveryMs);
  }

  get history(): string | undefined {
    return this.stamps?.history;
  }

  get state(): ManagerState {
    return this.#state;
  }

  /** The head of the log at the last read. */
  get headSeen(): Head | undefined {
    return this.#head;
  }

  /** The standby stands for election from here on, and follows the log anew: reads that were under way stay unanswered. */
  standing(): void {
    this.#asked = undefined;
  }

  reset(start: LogStart): StandbyEffect[] {
    const state = ManagerState.replay(start);
    if (this.history === start.history && state.position < this.#state.position)
      return [wentBack(state.position, this.#state.position)];
    this.stamps = new Stamps(start);
    this.#state = state;
    this.#recovers = start.floor > state.position || state.leaderRecord.recovering === true;
    this.#rollback.note({ history: start.history, term: state.term, position: state.position });
    // A read that is under way may be answered from either log.
    if (this.#asked !== undefined) this.#asked = { from: 0 };
    return this.#answerWaiting();
  }

  followed(batch: LogBatch, now: Instant): StandbyEffect[] {
    const before = this.#state;
    const { stamps } = this;
    if (stamps === undefined || batch.position <= before.position) return [];
    const state = before.apply(batch.position, decodeBatch(batch.bytes));
    this.#state = state;
    this.#recovers = state.leaderRecord.recovering === true;
    this.#rollback.note({ history: stamps.history, term: state.term, position: state.position });
    return [...this.subscribers.push(stamps, before, state, now), ...this.#answerWaiting()];
  }

  /** The head of the log was at `position` at some instant after `askedAt`. */
  head(position: number, askedAt: Instant): StandbyEffect[] {
    const from = this.#asked?.from ?? 0;
    this.#asked = undefined;
    if (position < from) return [wentBack(position, from)];
    this.#head = { position, askedAt };
    return this.#answerWaiting();
  }

  /** Reads the head of the log, to know the lag. */
  lookAtHead(): StandbyEffect[] {
    return this.#asked === undefined ? [this.#ask()] : [];
  }

  hearSync(from: string, sync: Sync, now: Instant): StandbyEffect[] {
    this.subscribers.hear(from, sync, now);
    // A look-up that syncs again keeps its first place: otherwise a slow log would starve the look-up.
    const isFrom = (other: Waiting): boolean => other.from === from && other.sync.pool === sync.pool;
    this.#waiting = this.#waiting.filter((other) => !isFrom(other) || other.sync.lookup === sync.lookup);
    if (!this.#waiting.some(isFrom)) this.#waiting.push({ from, sync, receivedAt: now });
    return this.lookAtHead();
  }

  /** A report is for the leader. If no leader is known, the owner asks all Managers soon. */
  pointOn(from: string, report: Report): StandbyEffect[] {
    const { term, address, leader } = this.#state.leaderRecord;
    const seenTerm = report.seen?.history === this.history ? report.seen?.term : undefined;
    if (address === undefined || leader === this.#settings().id || (seenTerm ?? 0) > term) return [];
    return [notLeader(from, report, term, address)];
  }

  #ask(): StandbyEffect {
    this.#asked = { from: this.#state.position };
    return { do: 'ask-head' };
  }

  /** Answers the syncs that came before the head was read, once the log was followed up to that head. */
  #answerWaiting(): StandbyEffect[] {
    const [head, stamps, state] = [this.#head, this.stamps, this.#state];
    const effects: StandbyEffect[] = [];
    if (head !== undefined && stamps !== undefined && state.position >= head.position && !this.#recovers) {
      const ready = this.#waiting.filter(({ receivedAt }) => receivedAt <= head.askedAt);
      this.#waiting = this.#waiting.filter(({ receivedAt }) => receivedAt > head.askedAt);
      for (const { from, sync } of ready) {
        const message = answerTo(sync, stamps, state.term, state);
        if (message !== undefined) effects.push({ do: 'send', to: from, message });
      }
    }
    const isUnread = this.#waiting.some(({ receivedAt }) => head === undefined || receivedAt > head.askedAt);
    return isUnread ? [...effects, ...this.lookAtHead()] : effects;
  }
}

const wentBack = (end: number, followed: number): StandbyEffect => ({
  do: 'halt',
  reason: `the log ends at ${end}, but we have followed it to ${followed}: the store went back in time`,
});
