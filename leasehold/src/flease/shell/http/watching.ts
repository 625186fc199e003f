/**
 * Who has a resource, told to one who listens: at first, whenever that changes, and that nobody knows.
 *
 *     holder ── no majority, twice in a row ──► no-majority ── a majority answers ──► holder, even if it is the same
 *
 * So the last event that was heard is always how it is. Twice, for an attempt can also fail because somebody else
 * asks at the same time, and that is no news. It looks as often as `Flease.watch`, which tells nothing while nobody
 * knows; and it does not wait until the member takes part, since its silence is a reason like any other. A slow reader is
 * told the last of what it missed.
 */

import type { EventSupply } from '../../../node/http/exchange.ts';
import { LeaseholdError } from '../../../runtime/errors.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { NoMajorityError } from '../../errors.ts';
import { type Flease, LOOKS_WHILE_FREE, LOOKS_WHILE_HELD } from '../flease.ts';
import { pause } from '../pause.ts';
import { holderAnswer, notKnownAnswer } from './answers.ts';

const MISSES_TOLERATED = 1;

interface Told {
  readonly event: 'holder' | 'no-majority';
  /** The same as long as there is nothing to tell. */
  readonly about: string;
  readonly data: string;
}

export class Watching implements EventSupply {
  readonly #group: Flease;
  readonly #resource: string;
  readonly #over = new AbortController();
  #told: Told | undefined;
  #isTold = true;
  #misses = 0;

  constructor(group: Flease, resource: string, runtime: Runtime, onMore: () => void) {
    this.#group = group;
    this.#resource = resource;
    void this.#watch(runtime, onMore);
  }

  next(): ReturnType<EventSupply['next']> {
    if (this.#isTold || this.#told === undefined) return undefined;
    this.#isTold = true;
    const { event, data } = this.#told;
    return { id: undefined, event, data };
  }

  [Symbol.dispose](): void {
    this.#over.abort();
  }

  async #watch(runtime: Runtime, onMore: () => void): Promise<void> {
    const { signal } = this.#over;
    const { leaseMs } = this.#group.status();
    try {
      while (!signal.aborted) {
        const { found, looks } = await this.#look();
        if (found !== undefined && found.about !== this.#told?.about) {
          this.#told = found;
          this.#isTold = false;
          onMore();
        }
        await pause(runtime, leaseMs / looks, signal);
      }
    } catch (error) {
      // Nobody reads any more, or the member was closed, and the server goes with it.
      if (error !== signal.reason && !(error instanceof LeaseholdError)) throw error;
    }
  }

  /** What there is to tell, if anything is known of it, and how often to look in a lease. */
  async #look(): Promise<{ readonly found: Told | undefined; readonly looks: number }> {
    try {
      const holder = await this.#group.holder(this.#resource);
      this.#misses = 0;
      const data = JSON.stringify(holderAnswer(this.#resource, holder));
      const found: Told = { event: 'holder', about: `${holder?.number} ${holder?.holder}`, data };
      return { found, looks: holder === undefined ? LOOKS_WHILE_FREE : LOOKS_WHILE_HELD };
    } catch (error) {
      if (!(error instanceof NoMajorityError)) throw error;
      this.#misses += 1;
      const isTolerated = this.#told?.event === 'holder' && this.#misses <= MISSES_TOLERATED;
      return { found: isTolerated ? undefined : notKnown(error), looks: LOOKS_WHILE_FREE };
    }
  }
}

/** For how long each has been silent changes all the time; who it is, is what matters. */
const notKnown = (error: NoMajorityError): Told => ({
  event: 'no-majority',
  about: `no majority: ${[...error.reasons.keys()].join()}`,
  data: JSON.stringify(notKnownAnswer(error)),
});
