/**
 * When the next batch may be made. To decide later is always safe; this is about cost.
 *
 *  - After a refusal, not at once: a full disk is not filled by asking more often.
 *  - After a decision, not until it has been paid for. A decision goes through all rows of a pool, and so
 *    does telling its owners and look-ups the result; when hundreds of owners join or let go of keys
 *    in the same second, to decide at each of their reports would take all day. So the Manager rests
 *    about as long as it has worked, messages of that time wait for the next batch, and batches grow
 *    instead of queues however fast the log is.
 *
 * The first change after a rest is decided about at once: a death in a quiet pool is not delayed, and in
 * a pool of a few hundred rows nothing is.
 */

import { type Instant, instant, latest, later } from '../../../runtime/time.ts';

/** Some four microseconds a row: deciding, applying and telling were seen to take that, with some room. */
const ROWS_PER_MS = 250;

export class Pauses {
  #notBefore: Instant = instant(Number.NEGATIVE_INFINITY);

  /** Until when to wait before making a batch, if at all. */
  until(now: Instant): Instant | undefined {
    return now < this.#notBefore ? this.#notBefore : undefined;
  }

  refused(now: Instant, retryMs: number): void {
    this.#notBefore = latest(this.#notBefore, later(now, retryMs));
  }

  /** A decision about so many rows was made, or its batch has just been committed. */
  worked(now: Instant, rows: number): void {
    this.#notBefore = latest(this.#notBefore, later(now, Math.floor(rows / ROWS_PER_MS)));
  }
}
