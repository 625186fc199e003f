/**
 * Messages of the application with a client at one end, or at both. A letter belongs to the view in which the letter was sent.
 *
 *     client c1 ──► server of c1 ──► overlay ──► server of c2 ──► client c2
 *                                                                    │ in the same view: hands over, and a receipt goes back the same way
 *
 * The servers between keep nothing: only the receiver writes a receipt, in the step in which the letter is handed over, and only the sender repeats,
 * at pauses that double, until there is a receipt.
 *
 * **Handed over at most once, in one view.** The receiver takes a letter only while the view of the letter is the receiver's present one, and remembers the
 * letters of this view. A view that is over never comes back: ids grow at every server and client, and a client that attaches itself anew is counted in a later view only. So nothing
 * of an earlier view need be remembered, however many clients come and go. Within the view the sender says which ids no longer wait, which bounds what is
 * remembered there.
 *
 * **No fate is shared with a client.** Members of a view that cannot talk are parted (`overlay.ts`). A client whose connection loses messages must not part servers, or one client could
 * stop a group. So a letter without a receipt ends with the view, or else after `doubtMs`, and only the sender is told.
 */

import { type Instant, later } from '../../runtime/time.ts';
import { isSameIncarnation, keyOf, type MemberId } from './incarnation.ts';
import type { Letter, Receipt } from './messages.ts';

interface Waiting {
  readonly letter: Omit<Letter, 'oldestId'>;
  readonly sentAt: Instant;
  repeatAt: Instant;
  pauseMs: number;
}

interface Received {
  /** Every id below this one is settled. */
  oldestId: number;
  readonly ids: Set<number>;
}

export interface LetterDurations {
  /** The pause before a letter is repeated for the first time. */
  readonly repeatMs: number;
  /** A letter without a receipt is given up after so long. */
  readonly giveUpMs: number;
}

export class Letters {
  readonly #durations: LetterDurations;
  readonly #waiting = new Map<number, Waiting>();
  /** What was handed over in this view, by the process of the sender. */
  readonly #received = new Map<string, Received>();
  #viewId: string | undefined;

  constructor(durations: LetterDurations) {
    this.#durations = durations;
  }

  /** @param id greater than that of every message of this process before */
  begin(
    id: number,
    route: { from: MemberId; to: MemberId; viewId: string },
    body: Uint8Array,
    now: Instant,
  ): Letter {
    const { repeatMs } = this.#durations;
    const letter = { kind: 'letter', ...route, id, body } as const;
    this.#waiting.set(id, { letter, sentAt: now, repeatAt: later(now, repeatMs), pauseMs: repeatMs });
    return this.#saying(letter);
  }

  /** The letters of this view that are to be sent again now. */
  *due(viewId: string | undefined, now: Instant): Generator<Letter> {
    for (const waiting of this.#waiting.values()) {
      if (waiting.letter.viewId !== viewId || now < waiting.repeatAt) continue;
      waiting.pauseMs *= 2;
      waiting.repeatAt = later(now, waiting.pauseMs);
      yield this.#saying(waiting.letter);
    }
  }

  /** True if the letter was waiting for this receipt. */
  settles({ from, id, viewId }: Receipt): boolean {
    const letter = this.#waiting.get(id)?.letter;
    if (letter === undefined || letter.viewId !== viewId || !isSameProcess(letter.to, from)) return false;
    return this.#waiting.delete(id);
  }

  /** What becomes of a letter that arrives in this view; a letter of another view is refused, and the sender repeats or gives up. */
  receive(
    { from, id, oldestId, viewId }: Letter,
    presentId: string | undefined,
  ): 'new' | 'repeated' | 'refused' {
    if (viewId !== presentId) return 'refused';
    if (this.#viewId !== presentId) this.#received.clear();
    this.#viewId = presentId;
    const known = this.#received.get(keyOf(from)) ?? { oldestId: 0, ids: new Set() };
    this.#received.set(keyOf(from), known);
    if (oldestId > known.oldestId) {
      known.oldestId = oldestId;
      for (const each of known.ids) if (each < oldestId) known.ids.delete(each);
    }
    if (id < known.oldestId || known.ids.has(id)) return 'repeated';
    known.ids.add(id);
    return 'new';
  }

  /** The letters that fail because another view has begun, or none is left. */
  failedBy(viewId: string | undefined): number[] {
    return this.#taken(({ letter }) => letter.viewId !== viewId);
  }

  /** The letters that are given up. */
  givenUp(now: Instant): number[] {
    return this.#taken(({ sentAt }) => now - sentAt > this.#durations.giveUpMs);
  }

  #saying(letter: Omit<Letter, 'oldestId'>): Letter {
    const [oldestId = letter.id] = this.#waiting.keys();
    return { ...letter, oldestId };
  }

  #taken(isOver: (waiting: Waiting) => boolean): number[] {
    const ids = [...this.#waiting].filter(([, waiting]) => isOver(waiting)).map(([id]) => id);
    for (const id of ids) this.#waiting.delete(id);
    return ids;
  }
}

export const isSameProcess = (one: MemberId, other: MemberId): boolean =>
  one.name === other.name && isSameIncarnation(one.incarnation, other.incarnation);

export const receiptOf = ({ from, to, viewId, id }: Letter): Receipt => ({
  ...{ kind: 'receipt', from: to, to: from, viewId, id },
});

/** The process of this name among those sorted by name, of which there may be thousands. */
export function processNamed(sorted: readonly MemberId[], name: string): MemberId | undefined {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.name ?? '') < name) low = middle + 1;
    else high = middle;
  }
  const found = sorted[low];
  return found?.name === name ? { name, incarnation: found.incarnation } : undefined;
}
