/**
 * Whoever leaves waits for a Manager to say that it knows. How long is that worth?
 *
 * The word frees the keys for others at once. Without it they are free when the Manager's hold has ended,
 * a moment after our own lease. Both run from the last time that the Manager spoke to us; a member that holds
 * nothing at the moment has such a lease too, since it may be granted something just then. So the word is
 * worth waiting for until a lease after the Manager was last heard, and then for one round of questions, in
 * case it is just back. Who was not heard for longer is no member any more, and waits for that round alone.
 *
 *     heard ├──────────── lease ────────────┤
 *     leaves        ├───────────────────────┤ round ┤         nobody answers
 *     leaves                                                ├ round ┤
 *
 * A Manager that answers, but not yet that we have left, may be slow to write it down. It is waited for on and
 * on by the same rule, but never longer than one and a half leases.
 *
 * A process that is told to end is usually killed if it takes its time, and then everything it still had to
 * do is left undone. That is why waiting for nothing does harm.
 */

import { earliest, type Instant, later, latest } from '../../runtime/time.ts';

export interface Pace {
  readonly leaseMs: number;
  readonly retryMs: number;
}

/** What was held when we began to leave has run out by then, whoever answers. */
const LEASES_MAX = 1.5;
/** The first question, and the one that repeats it. */
const QUESTIONS = 2;

export class Patience {
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
}
