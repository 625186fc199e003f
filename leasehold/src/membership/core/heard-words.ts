/**
 * The words of the other servers, by any path: the newest stamp of each, to be echoed, and the last confirmations of views.
 *
 * A member that delivers a view first confirms the view at once, and repeats that only with the next heartbeat. A server that delivers the view a few
 * milliseconds later has heard the confirmation before. So the last word of each server that named a view is kept until the next delivery,
 * and counts as if the word had arrived after the delivery, as a slow one would have.
 *
 * A process that restarted with a clock that went back has a lower incarnation than the process before. Its words are echoed all the same, or a member
 * that had heard the earlier process would never confirm a view to this one. A late word of the earlier process is echoed until the next
 * heartbeat, which harms nobody: an echo counts only for the process whose stamp comes back.
 */

import type { Instant } from '../../runtime/time.ts';
import { isSameIncarnation } from './incarnation.ts';
import type { Echo, Word } from './messages.ts';

interface Heard {
  readonly echo: Echo;
  readonly at: Instant;
}

export class HeardWords {
  readonly #newest = new Map<string, Heard>();
  readonly #naming = new Map<string, Word>();

  /** The newest stamp of a server, and when the stamp arrived. */
  newestOf(name: string): Heard | undefined {
    return this.#newest.get(name);
  }

  hear(from: string, word: Word, now: Instant): void {
    const { incarnation, stamp, viewId } = word;
    if (viewId !== undefined) this.#naming.set(from, word);
    const known = this.#newest.get(from)?.echo;
    if (known === undefined || !isSameIncarnation(incarnation, known.incarnation) || stamp > known.stamp)
      this.#newest.set(from, { echo: { incarnation, stamp }, at: now });
  }

  /** The last words that named a view, each once. */
  takeNaming(): readonly (readonly [from: string, word: Word])[] {
    const words = [...this.#naming];
    this.#naming.clear();
    return words;
  }

  forget(name: string): void {
    this.#newest.delete(name);
    this.#naming.delete(name);
  }
}
