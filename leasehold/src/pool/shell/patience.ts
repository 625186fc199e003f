/**
 * Whoever leaves waits for a Manager to say that it knows. How long is that worth?
 *
 * The word frees the keys for others at once. Without it they are free when the Manager's hold has ended,
 * a moment after our own lease would have. So it is worth waiting until what was held has run out, and then
 * for one round of questions, in case the Manager is just back. Whoever held nothing has nothing to free, and
 * waits for that round alone. A Manager that answers is there and may be slow to write it down: it is
 * given until the next renewal as well.
 *
 *     nobody answers       ├─────── held until ───────┤ round ┤
 *     nothing was held     ├ round ┤
 *     somebody answers     ├──── … ────▲─ renewal ─┤ round ┤        but never longer than 1.5 leases
 *
 * A process that is told to end is usually killed if it takes its time, and then everything it still had to
 * do is left undone. That is why waiting for nothing does harm.
 */

import { earliest, type Instant, later, latest } from '../../runtime/time.ts';

export interface Pace {
  readonly leaseMs: number;
  readonly renewEveryMs: number;
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
    this.#until = later(now, this.#roundMs());
  }

  get until(): Instant {
    return earliest(this.#until, this.#longest);
  }

  /** Something is held, and will be for so long. */
  held(until: Instant): void {
    this.#extend(until);
  }

  /** A Manager has answered, but not yet that we have left. */
  heard(now: Instant): void {
    this.#extend(later(now, this.#pace.renewEveryMs));
  }

  #extend(from: Instant): void {
    this.#until = latest(this.#until, later(from, this.#roundMs()));
  }

  #roundMs(): number {
    return QUESTIONS * this.#pace.retryMs;
  }
}
