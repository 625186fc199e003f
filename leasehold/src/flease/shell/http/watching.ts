/**
 * Who has a resource, told to one who listens: at first, whenever that changes, and that nobody knows.
 *
 *     ├── no majority, at once ──► no-majority ──── a majority answers ────► holder, even if it is the same
 *     └── a majority answers ────► holder ── no majority, twice in a row ──► no-majority
 *
 * So the last event that was heard is always how it is. As long as nobody knows that is told again only for a member
 * that was not among the reasons before: who is, and for how long, is another with each attempt. Twice, for an
 * attempt can also fail because somebody else asks at the same time, and that is no news; only who has heard nothing
 * yet is told of the first. It looks as often as `Flease.watch`, which tells nothing while nobody knows; and it does
 * not wait until the member takes part, since its silence is a reason like any other. A slow reader is told the last
 * of what it missed.
 */

import type { EventSupply } from '../../../node/http/exchange.ts';
import { LeaseholdError } from '../../../runtime/errors.ts';
import type { NoMajorityError } from '../../errors.ts';
import type { Flease } from '../flease.ts';
import { type Holder, isSameHolder } from '../looking.ts';
import { holderAnswer, notKnownAnswer } from './answers.ts';

const MISSES_TOLERATED = 1;

type Watched = Pick<Flease, 'looking'>;

interface Told {
  readonly event: 'holder' | 'no-majority';
  readonly data: string;
}

export class Watching implements EventSupply {
  readonly #over = new AbortController();
  readonly #resource: string;
  #last: Told | undefined;
  #isTold = true;
  /** Who was said to have it last; undefined if that is not known. */
  #known: { readonly holder: Holder | undefined } | undefined;
  /** Who was said to stand in the way since then. */
  readonly #blamed = new Set<string>();

  constructor(group: Watched, resource: string, onMore: () => void) {
    this.#resource = resource;
    void this.#watch(group, onMore);
  }

  next(): ReturnType<EventSupply['next']> {
    if (this.#isTold || this.#last === undefined) return undefined;
    this.#isTold = true;
    const { event, data } = this.#last;
    return { id: undefined, event, data };
  }

  [Symbol.dispose](): void {
    this.#over.abort();
  }

  async #watch(group: Watched, onMore: () => void): Promise<void> {
    const { signal } = this.#over;
    let misses = 0;
    try {
      for await (const look of group.looking(this.#resource, signal)) {
        misses = 'error' in look ? misses + 1 : 0;
        if (misses > 0 && misses <= MISSES_TOLERATED && this.#known !== undefined) continue;
        const news = 'error' in look ? this.#notKnown(look.error) : this.#holder(look.holder);
        if (news === undefined) continue;
        this.#last = news;
        this.#isTold = false;
        onMore();
      }
    } catch (error) {
      // Nobody reads any more, or the member was closed, and the server goes with it.
      if (error !== signal.reason && !(error instanceof LeaseholdError)) throw error;
    }
  }

  /** Undefined if that is no news. */
  #holder(holder: Holder | undefined): Told | undefined {
    if (this.#known !== undefined && isSameHolder(this.#known.holder, holder)) return undefined;
    this.#known = { holder };
    this.#blamed.clear();
    return { event: 'holder', data: JSON.stringify(holderAnswer(this.#resource, holder)) };
  }

  /** Undefined if that is no news. */
  #notKnown(error: NoMajorityError): Told | undefined {
    this.#known = undefined;
    const members = [...error.reasons.keys()];
    const isNews = this.#last?.event !== 'no-majority' || members.some((member) => !this.#blamed.has(member));
    if (!isNews) return undefined;
    for (const member of members) this.#blamed.add(member);
    return { event: 'no-majority', data: JSON.stringify(notKnownAnswer(error)) };
  }
}
