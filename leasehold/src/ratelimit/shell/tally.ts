/** What one limiter decided so far, by result and by where the decision was made. */

import type { DecidedBy, RateLimitResult } from '../core/local/result.ts';

/** A cut-off is told at most so often. */
const CUT_OFF_EVERY_MS = 1_000;
const WITHOUT_OWNER: ReadonlySet<DecidedBy> = new Set(['closed', 'share', 'open']);

type Counts = Record<DecidedBy, number>;

const noCounts = (): Counts => ({
  ...{ local: 0, owner: 0, batch: 0, cached: 0, share: 0, open: 0, closed: 0, spread: 0 },
});

export class Tally {
  readonly #allowed = noCounts();
  readonly #denied = noCounts();
  #cutOffToldAt = Number.NEGATIVE_INFINITY;
  asks = 0;

  count({ allowed, by }: RateLimitResult): void {
    const counts = allowed ? this.#allowed : this.#denied;
    counts[by] += 1;
  }

  /** Whether the result was decided without the owner of its key, and the last such result was told long enough ago. */
  isNewsOfCutOff({ by }: RateLimitResult, now: number): boolean {
    if (!WITHOUT_OWNER.has(by) || now < this.#cutOffToldAt + CUT_OFF_EVERY_MS) return false;
    this.#cutOffToldAt = now;
    return true;
  }

  get decisions(): Readonly<Record<string, number>> {
    const outcomes = Object.entries({ allowed: this.#allowed, denied: this.#denied });
    return Object.fromEntries(
      outcomes.flatMap(([outcome, counts]) =>
        Object.entries(counts).flatMap(([by, count]) =>
          count === 0 ? [] : [[`${outcome} by ${by}`, count]],
        ),
      ),
    );
  }
}
