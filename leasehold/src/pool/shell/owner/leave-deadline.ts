/**
 * A leaving owner waits for a Manager's confirmation. How long is that worth?
 *
 * The word frees the keys for others at once. Without the confirmation the keys are free when the Manager's hold has
 * ended, a moment after our own lease. Both run from the Manager's last message to us; a member that holds nothing at
 * the moment has such a lease too, since a grant may be under way. So the confirmation is worth waiting for until a
 * lease after the Manager's last message, and then for one round of questions, in case the Manager is just back. An
 * owner that has not heard a Manager for longer is no member any more, and waits for that round alone.
 *
 *     heard ├──────────── lease ────────────┤
 *     leaves        ├───────────────────────┤ round ┤         nobody answers
 *     leaves                                                ├ round ┤
 *
 * A Manager that answers, but does not confirm yet, may be slow to write. The owner waits on by the same rule, but
 * never longer than one and a half leases.
 *
 * A process that is told to end is usually killed if the end takes long, and then the remaining work is left undone.
 * That is why waiting for nothing does harm.
 */

import type { Condition } from '../../../runtime/condition.ts';
import { deadline } from '../../../runtime/deadline.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { earliest, type Instant, later, latest } from '../../../runtime/time.ts';

export interface Pace {
  readonly leaseMs: number;
  readonly retryMs: number;
}

/** Every lease from before the leaving has expired by then, with any answer. */
const LEASES_MAX = 1.5;
/** The first question, and the repetition. */
const QUESTIONS = 2;

export class LeaveDeadline {
  readonly #pace: Pace;
  readonly #longest: Instant;
  #until: Instant;

  constructor(pace: Pace, now: Instant) {
    this.#pace = pace;
    this.#longest = later(now, LEASES_MAX * pace.leaseMs);
    this.#until = later(now, QUESTIONS * pace.retryMs);
  }

  get until(): Instant {
    return earliest(this.#until, this.#longest);
  }

  /** A Manager has spoken to us; before we began to leave, or since. */
  heard(at: Instant): void {
    const { leaseMs, retryMs } = this.#pace;
    this.#until = latest(this.#until, later(at, leaseMs + QUESTIONS * retryMs));
  }

  /** Waits as long as it is worth; true if a Manager has confirmed it. */
  async untilLeft(runtime: Runtime, waiters: Condition, hasLeft: () => boolean): Promise<boolean> {
    for (let forMs = this.until - runtime.now(); forMs > 0; forMs = this.until - runtime.now()) {
      using time = deadline(runtime, forMs);
      try {
        return await waiters.until(() => hasLeft() || undefined, time.signal);
      } catch (error) {
        if (!time.isOver) throw error;
      }
    }
    return false;
  }
}
