/**
 * What is due when: a binary heap in which every entry knows its place, so that a deadline that is met leaves nothing behind.
 */

import type { Instant } from '../../runtime/time.ts';

/** To be kept by whatever is due. */
export interface Due {
  dueAt: Instant | undefined;
  /** In the heap; for the queue alone. */
  place: number;
}

export class DueQueue<Entry extends Due> {
  readonly #heap: Entry[] = [];

  get nextAt(): Instant | undefined {
    return this.#heap[0]?.dueAt;
  }

  /** Due at another time than before; undefined: never. */
  set(entry: Entry, at: Instant | undefined): void {
    if (entry.place >= 0) this.#remove(entry);
    entry.dueAt = at;
    if (at === undefined) return;
    entry.place = this.#heap.length;
    this.#heap.push(entry);
    this.#up(entry);
  }

  /** The earliest entry that is due, which leaves the queue. */
  take(now: Instant): Entry | undefined {
    const first = this.#heap[0];
    if (first?.dueAt === undefined || first.dueAt > now) return undefined;
    this.set(first, undefined);
    return first;
  }

  #remove(entry: Entry): void {
    const last = this.#heap.pop() as Entry;
    if (last !== entry) {
      this.#put(last, entry.place);
      this.#up(last);
      this.#down(last);
    }
    entry.place = -1;
  }

  #up(entry: Entry): void {
    while (entry.place > 0) {
      const above = this.#heap[(entry.place - 1) >> 1] as Entry;
      if (dueAt(above) <= dueAt(entry)) return;
      const place = above.place;
      this.#put(above, entry.place);
      this.#put(entry, place);
    }
  }

  #down(entry: Entry): void {
    for (;;) {
      const [left, right] = [this.#heap[2 * entry.place + 1], this.#heap[2 * entry.place + 2]];
      const below = right !== undefined && dueAt(right) < dueAt(left as Entry) ? right : left;
      if (below === undefined || dueAt(entry) <= dueAt(below)) return;
      const place = below.place;
      this.#put(below, entry.place);
      this.#put(entry, place);
    }
  }

  #put(entry: Entry, place: number): void {
    this.#heap[place] = entry;
    entry.place = place;
  }
}

const dueAt = (entry: Due): number => entry.dueAt ?? Number.POSITIVE_INFINITY;
