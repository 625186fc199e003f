/**
 * The one batch that is being written, and the pools that wait for the next batch.
 *
 * While a batch is on its way, the leader cannot know whether the batch is in the log. Others may already act on the batch, or the
 * batch may never get there. Until the outcome is known, every decision and every answer must be right in both cases:
 *
 *  - Answers are made from the state committed before the batch.
 *  - An owner that the batch removes gets no answer, as if the batch were in the log; and its keys are granted to no other owner,
 *    as if the batch were not.
 *  - A client may have seen the position of the batch, from a standby that read the log sooner.
 *  - After a leader lease without an outcome the leader vouches for nothing: there may be losses that it does not know.
 *
 * So a second batch is never sent before the outcome of the first. A message of that time marks a pool for the next decision, and
 * under load batches grow instead of queues.
 */

import { assert } from '../../../runtime/assert.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import type { ManagerState } from '../state.ts';
import type { Draft } from './draft.ts';
import { Pauses } from './pauses.ts';

export interface InFlight extends Draft {
  readonly sentAt: Instant;
  /** The state if the batch commits. */
  readonly next: ManagerState;
}

export class PendingBatch {
  readonly #pauses = new Pauses();
  readonly #waiting = new Set<string>();
  /** A new leader writes a first batch in any case, so that every follower learns the term. */
  #inAnyCase = true;
  #inFlight: InFlight | undefined;

  get inFlight(): InFlight | undefined {
    return this.#inFlight;
  }

  /** Pools that may have to change. */
  get waiting(): readonly string[] {
    return [...this.#waiting];
  }

  /** Marks a pool that may have to change. */
  consider(pool: string): void {
    this.#waiting.add(pool);
  }

  /** Something other than a pool has to be written. */
  writeInAnyCase(): void {
    this.#inAnyCase = true;
  }

  /** Whether no batch has been without a known outcome for longer than a leader lease. */
  mayVouch(leaderLeaseMs: number, now: Instant): boolean {
    const sentAt = this.#inFlight?.sentAt;
    return sentAt === undefined || now < later(sentAt, leaderLeaseMs);
  }

  /** When the next batch may be made; undefined if no pool waits, or a batch is on its way. */
  readyAt(now: Instant): Instant | undefined {
    if (this.#inFlight !== undefined || (this.#waiting.size === 0 && !this.#inAnyCase)) return undefined;
    return this.#pauses.until(now) ?? now;
  }

  /** A batch is to be written even if it is empty. */
  get isWrittenInAnyCase(): boolean {
    return this.#inAnyCase;
  }

  /** A draft was made for all pools that waited. True if the draft is to be written, false if it is empty. */
  begin(made: Draft, state: ManagerState, now: Instant): boolean {
    this.#pauses.worked(now, rowsOf(made, state));
    this.#waiting.clear();
    for (const pool of made.unfinished) this.#waiting.add(pool);
    if (made.batch.pools.length === 0 && !this.#inAnyCase) return false;
    this.#inAnyCase = false;
    this.#inFlight = { ...made, sentAt: now, next: state.apply(made.position, made.batch) };
    return true;
  }

  /** The batch is in the log. */
  appended(position: number, now: Instant): InFlight {
    const flight = this.#inFlight;
    assert(
      flight !== undefined && flight.position === position,
      `appended ${position}, which was not in flight`,
    );
    this.#inFlight = undefined;
    this.#pauses.worked(now, rowsOf(flight, flight.next));
    return flight;
  }

  /** The batch is surely not in the log. Its pools wait for the next batch. */
  refused(retryMs: number, now: Instant): InFlight {
    const flight = this.#inFlight;
    assert(flight !== undefined, 'refused, but nothing was in flight');
    this.#inFlight = undefined;
    for (const pool of flight.recalls.keys()) this.#waiting.add(pool);
    this.#inAnyCase ||= flight.batch.pools.length === 0;
    this.#pauses.refused(now, retryMs);
    return flight;
  }
}

/** The number of rows that a draft looked at. */
function rowsOf({ recalls }: Draft, state: ManagerState): number {
  let rows = 0;
  for (const pool of recalls.keys()) rows += state.pool(pool).rows.length;
  return rows;
}
