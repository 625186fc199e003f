/**
 * Tells a listener the holder of a resource: at first, on every change, and when the holder becomes unknown.
 *
 *     ├── no majority, at once ──► no-majority ──── a majority answers ────► holder, even if unchanged
 *     └── a majority answers ────► holder ── no majority, twice in a row ──► no-majority
 *
 * So the last event is always the present state. While the holder is unknown, another event follows only for a member
 * that was not among the reasons before: the exact reasons and times differ with each attempt. A `holder` event is
 * revoked only after two failures in a row, because an attempt can also fail when somebody else asks at the same time,
 * and that is no news; a listener without any event yet is told of the first failure. The polling rate is that of
 * `FleaseMember.watch`, which tells nothing while the holder is unknown; unlike `watch`, this class does not wait until the
 * member is ready, since recovery is a reason like any other. A slow reader gets the last of the missed events.
 */

import type { EventSupply } from '../../../node/http/exchange.ts';
import { LeaseholdError } from '../../../runtime/errors.ts';
import type { NoMajority } from '../../core/errors.ts';
import { type Holder, isSameHolder, type Look } from '../looking.ts';
import { holderAnswer, notKnownAnswer } from './answers.ts';
import { printableJson } from '../../../runtime/printable.ts';

const MISSES_TOLERATED = 1;

interface Watched {
  looking(resource: string, signal?: AbortSignal): AsyncIterable<Look>;
}

interface Told {
  readonly event: 'holder' | 'no-majority';
  readonly data: string;
}

export class Watching implements EventSupply {
  readonly #over = new AbortController();
  readonly #resource: string;
  #last: Told | undefined;
  #isTold = true;
  /** The holder in the last event; undefined if the holder is unknown. */
  #known: { readonly holder: Holder | undefined } | undefined;
  /** The members that were named as reasons since then. */
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
      // The reader has left, or the member was closed, and the server closes too.
      if (error !== signal.reason && !(error instanceof LeaseholdError)) throw error;
    }
  }

  /** Undefined if that is no news. */
  #holder(holder: Holder | undefined): Told | undefined {
    if (this.#known !== undefined && isSameHolder(this.#known.holder, holder)) return undefined;
    this.#known = { holder };
    this.#blamed.clear();
    return { event: 'holder', data: printableJson(holderAnswer(this.#resource, holder)) };
  }

  /** Undefined if that is no news. */
  #notKnown(error: NoMajority): Told | undefined {
    this.#known = undefined;
    const members = Object.keys(error.details.reasons);
    const isNews = this.#last?.event !== 'no-majority' || members.some((member) => !this.#blamed.has(member));
    if (!isNews) return undefined;
    for (const member of members) this.#blamed.add(member);
    return { event: 'no-majority', data: printableJson(notKnownAnswer(error)) };
  }
}
