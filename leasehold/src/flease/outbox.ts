/**
 * What is to be said to whom, until it leaves.
 *
 * Items for one member wait for each other, so that a turn's worth of them leaves as one packet; but no longer than
 * until there are enough for one ({@link Outbox.isFull}). With more, whoever is to answer would have nothing to do while
 * they are written, and whoever wrote them nothing while they are answered. Packets of this size are a tenth to a third
 * faster than those of whole turns (`docs/decisions/0019-how-much-a-packet-waits-for.md`).
 */

import type { Answer, Item } from './messages.ts';

/** So many items to one member do not wait for more. A packet may have as many more as one input leads to. */
export const ITEMS_ENOUGH = 64;

/** What is said to one member. */
export interface Out {
  /** The life that the answers in it are for; 0 if there are none. */
  readonly toLife: number;
  readonly items: readonly Item[];
}

class Box {
  toLife = 0;
  items: Item[] = [];
}

export class Outbox {
  readonly #boxes = new Map<string, Box>();
  #isFull = false;

  /** Whether there is enough for somebody not to wait for more. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Something is said to that one, even if there is nothing to say. */
  greet(to: string): void {
    this.#boxFor(to);
  }

  add(to: string, item: Item): void {
    this.#push(this.#boxFor(to), item);
  }

  /** An answer to what was asked in that life. */
  answer(to: string, life: number, answer: Answer): void {
    const box = this.#boxFor(to);
    if (box.toLife !== life) {
      box.items = box.items.filter((item) => !isAnswer(item)); // For an earlier life: for nobody.
      box.toLife = life;
    }
    this.#push(box, answer);
  }

  /** Takes out everything. */
  take(): [to: string, out: Out][] {
    const taken = [...this.#boxes];
    this.clear();
    return taken;
  }

  /** Takes out what there is enough of; the rest waits on. */
  takeFull(): [to: string, out: Out][] {
    const full = [...this.#boxes].filter(([, { items }]) => items.length >= ITEMS_ENOUGH);
    for (const [to] of full) this.#boxes.delete(to);
    this.#isFull = false;
    return full;
  }

  clear(): void {
    this.#boxes.clear();
    this.#isFull = false;
  }

  #push({ items }: Box, item: Item): void {
    if (items.push(item) >= ITEMS_ENOUGH) this.#isFull = true;
  }

  #boxFor(to: string): Box {
    let box = this.#boxes.get(to);
    if (box === undefined) {
      box = new Box();
      this.#boxes.set(to, box);
    }
    return box;
  }
}

const isAnswer = ({ kind }: Item): boolean =>
  kind === 'promised' || kind === 'found' || kind === 'accepted' || kind === 'refused';
