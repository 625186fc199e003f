/**
 * The one batch that is being written, and what waits for the next.
 *
 * Nobody here knows whether a batch that is on its way is in the log. It may be, and others may act on it;
 * it may never get there. Until its outcome is known, whoever decides or speaks must be right in both cases:
 *
 *  - What is said is what was committed before it.
 *  - An owner that it removes is given no answer, as if it were in the log; and its keys are given to
 *    nobody, as if it were not.
 *  - Somebody may have seen its position, from a standby to whom the log was quicker.
 *  - After a leader lease without an outcome we vouch for nothing: there may be losses of which we do not know.
 *
 * So there is never a second one on its way. What is heard meanwhile is remembered as a pool to decide about,
 * and under load batches grow instead of queues.
 */

import { assert } from '../../runtime/assert.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { ManagerState } from '../state.ts';
import type { Draft } from './draft.ts';
import { Pauses } from './pauses.ts';

export interface InFlight extends Draft {
  readonly sentAt: Instant;
  /** The state if it commits. */
  readonly next: ManagerState;
}

export class PendingBatch {
  readonly #pauses = new Pauses();
  readonly #waiting = new Set<string>();
  /** A new leader writes a first batch in any case, so that all who follow learn of its term. */
  #inAnyCase = true;
  #inFlight: InFlight | undefined;

  get inFlight(): InFlight | undefined {
    return this.#inFlight;
  }

  /** Pools about which something was heard that may lead to a change. */
  get waiting(): readonly string[] {
    return [...this.#waiting];
  }

  /** Something was heard about this pool that may lead to a change. */
  consider(pool: string): void {
    this.#waiting.add(pool);
  }

  /** The log must hear of something that is no change of any pool. */
  writeInAnyCase(): void {
    this.#inAnyCase = true;
  }

  /** Whether there can be nothing in the log, for longer than a leader lease, of which we do not know. */
  mayVouch(leaderLeaseMs: number, now: Instant): boolean {
    const sentAt = this.#inFlight?.sentAt;
    return sentAt === undefined || now < later(sentAt, leaderLeaseMs);
  }

  /** When the next batch may be made; undefined if there is nothing to make one of, or one is on its way. */
  readyAt(now: Instant): Instant | undefined {
    if (this.#inFlight !== undefined || (this.#waiting.size === 0 && !this.#inAnyCase)) return undefined;
    return this.#pauses.until(now) ?? now;
  }

  /** This was made of all that waited. True if it is to be written, false if there is nothing in it. */
  begin(made: Draft, state: ManagerState, now: Instant): boolean {
    this.#pauses.worked(now, rowsOf(made, state));
    this.#waiting.clear();
    for (const pool of made.unfinished) this.#waiting.add(pool);
    if (made.batch.pools.length === 0 && !this.#inAnyCase) return false;
    this.#inAnyCase = false;
    this.#inFlight = { ...made, sentAt: now, next: state.apply(made.position, made.batch) };
    return true;
  }

  /** It is in the log. */
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

  /** It is surely not in the log. What it was made of still holds, and waits for the next. */
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

/** How many rows were gone through. */
function rowsOf({ recalls }: Draft, state: ManagerState): number {
  let rows = 0;
  for (const pool of recalls.keys()) rows += state.pool(pool).rows.length;
  return rows;
}
