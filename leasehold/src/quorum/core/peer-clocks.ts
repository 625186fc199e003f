/**
 * The clocks of the other members beside the own one (L8): a promise of a member whose clock is proved too fast counts for nothing.
 *
 * A lease outlasts the hold of its grantor only if the grantor's clock runs faster than the holder's by more than the bound. The lemma compares
 * these two clocks and no third one. So the holder judges each grantor alone, need not find out which of the two clocks is wrong, and
 * goes on with the promises of the others. A grantor with a clock that is too slow holds too long, which is safe. The replica with the slow clock sees
 * the others run too fast.
 *
 * Every promise is a reading (`runtime/clock-watch.ts`): a promise has the instant of giving, by the grantor's clock, and the answered question
 * bounds how long ago that was. So a promise is judged before the promise counts, and no message is sent for the judgement. Proved:
 *
 *     rate r, questions answered within d     after about  1.2 × (τ + d) / (r − 1.2)
 *
 * which is 0.4 s for a clock that is half as fast again and near, and 2.4 s at 1.25. Not proved: a difference that the window does not show (below 1.21
 * with a lease of 2 s), a difference that is over sooner, and everything while no promise arrives; a lease that was given before
 * the proof lasts until then at most. A clock that goes too fast and too slow by turns shows the mean. A machine frozen with all
 * clocks shows nothing.
 *
 * A new life of the grantor counts from another beginning, so the readings of that grantor begin anew; so do all after a suspension of this machine.
 */

import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import { ClockWatch } from '../../runtime/clock-watch.ts';
import type { Instant } from '../../runtime/time.ts';
import { SUSPENSION_NOTICED_MS } from './leases.ts';
import type { LeasePromise } from './messages.ts';

const WINDOW_LEASES = 10;

export class PeerClocks {
  readonly #windowMs: number;
  readonly #watches = new Map<string, { readonly life: number; readonly watch: ClockWatch }>();
  #tooFast: ReadonlyMap<string, number> = new Map();

  constructor(leaseMs: number) {
    this.#windowMs = WINDOW_LEASES * leaseMs;
  }

  /** The members whose clocks are proved too fast, each with the least rate that is proved. Another map after each change. */
  get tooFast(): ReadonlyMap<string, number> {
    return this.#tooFast;
  }

  /** A promise has arrived, in answer to a question of `askedAt`. False if the grantor's clock is too fast for a promise to count. */
  read(grantor: string, { stamp, by }: LeasePromise, askedAt: Instant, now: Instant): boolean {
    let known = this.#watches.get(grantor);
    if (known?.life !== by) {
      known = { life: by, watch: new ClockWatch(this.#windowMs, SUSPENSION_NOTICED_MS) };
      this.#watches.set(grantor, known);
    }
    const { watch } = known;
    watch.read({ stamp, at: now, delayMs: now - askedAt });
    const isTooFast = (watch.rate ?? 1) > CLOCK_RATE_BOUND;
    if (isTooFast !== this.#tooFast.has(grantor)) {
      const tooFast = new Map(this.#tooFast);
      if (isTooFast) tooFast.set(grantor, watch.rate as number);
      else tooFast.delete(grantor);
      this.#tooFast = tooFast;
    }
    return !isTooFast;
  }

  /** The own clock stood still: no earlier comparison counts. */
  suspended(): void {
    this.#watches.clear();
    if (this.#tooFast.size > 0) this.#tooFast = new Map();
  }
}
