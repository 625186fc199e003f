/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The fenced log: where a Manager keeps durable state.
 *
 * The log is a sequence of batches at growing positions, of which at most one leader can append. Three promises carry
 * everything built on the log:
 *
 *  - **Fenced.** Once a later term has been elected, no append of an earlier one takes effect.
 *  - **Read after the election.** A leader's start holds every batch of every earlier term that ever took effect.
 *  - **Known or deposed.** An append whose outcome is unknown is repeated by the log itself, at the same position and
 *    with the same bytes, until the outcome is known or the leader is deposed. So a leader hears one of three words:
 *    appended, refused (surely not written), deposed.
 *
 * The leader lease says how long the leader may act without asking: `until` is counted from before the extension was
 * asked for. The leader lease is a lease of the log's engine, and an engine can end such a lease early; the next
 * leader must therefore wait for its end (see `pool/manager`).
 *
 * The interface is made of events, not of promises: cores take events as inputs, and a simulated world decides their
 * order. (`docs/decisions/0003` has the argument.)
 */

import type { Instant } from '../runtime/time.ts';
import type { History } from './history.ts';

/** The start of a leader, or of a follower that was reset. */
export interface LogStart extends History {
  /** Identifies this log; a store restored from a backup keeps the history, an emptied one does not. */
  readonly history: string;
  readonly snapshot: { readonly position: number; readonly bytes: Uint8Array } | undefined;
  /** The batches after the snapshot, in order. */
  readonly batches: readonly LogBatch[];
  /**
   * The next batch goes above both this and the last position. A new log begins with a floor (`new-log.ts`); an
   * operator can raise the floor.
   */
  readonly floor: number;
  /** Whether this process began the log on opening. */
  readonly begunHere?: boolean | undefined;
}

export interface LogBatch {
  readonly position: number;
  readonly bytes: Uint8Array;
}

/** Why a leader stopped being one. */
export type DeposedReason = 'lease-ended' | 'superseded' | 'resigned';

export interface LeaderEvents {
  /** Comes once, first. The leader lease lasts until `until`; `leadership` may be used from within. */
  elected(leadership: Leadership, until: Instant): void;
  /** The leader lease now lasts until `until`. */
  extended(until: Instant): void;
  /** Comes once, last. */
  deposed(reason: DeposedReason): void;
}

export type AppendOutcome = 'appended' | 'refused';

export interface Leadership {
  readonly term: number;
  readonly start: LogStart;
  /**
   * Appends one batch at `position`, which must be above every earlier one; one at a time. `done`
   * is not called if the leader is deposed first.
   */
  append(batch: LogBatch, done: (outcome: AppendOutcome) => void): void;
  /** Replaces everything up to `upTo` by a snapshot. Fenced, like an append. */
  compact(snapshot: Uint8Array, upTo: number): void;
  resign(): void;
}

export interface FollowerEvents {
  /** Forget all earlier entries and start from here. Comes first, and after a gap. */
  reset(start: LogStart): void;
  batch(batch: LogBatch): void;
  /** At some instant after `askedAt` the head of the log was at `position`. */
  head(position: number, askedAt: Instant): void;
}

export interface Following extends Disposable {
  /** Reads the head linearizably; answered by {@link FollowerEvents.head}, in time or never. */
  askHead(): void;
}

export interface FencedLog {
  /** A larger batch is refused. */
  readonly maxBatchBytes: number;
  /**
   * Stands for election until elected; after `deposed` call again, with a new name: a candidate is
   * elected once. Disposing withdraws or resigns.
   */
  campaign(candidate: string, events: LeaderEvents): Disposable;
  follow(events: FollowerEvents): Following;
  /** False for a log that only the leader has: a follower hears of nothing. @default true */
  readonly canBeFollowed?: boolean;
}
