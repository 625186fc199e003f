/**
 * Items waiting to be sent, by receiver.
 *
 * Items for one member are collected, so that a whole turn leaves as one packet; but no longer than until there are
 * enough for one ({@link Outbox.isFull}). With larger packets the receiver would idle while items are written, and
 * the sender while they are answered. Packets of this size are a tenth to a third faster than those of whole turns
 * (`docs/decisions/0019-how-much-a-packet-waits-for.md`).
 */

import type { Answer, Item } from './messages.ts';

/** So many items to one member do not wait for more. One input may add more to the same packet. */
export const ITEMS_ENOUGH = 64;

/** The content of one packet. */
export interface Out {
  /** The incarnation that the answers are for; 0 if there are none. */
  readonly toIncarnation: number;
  readonly items: readonly Item[];
}

class Box {
  toIncarnation = 0;
  items: Item[] = [];
}

export class Outbox {
  readonly #boxes = new Map<string, Box>();
  #isFull = false;

  /** Whether some member has enough items not to wait for more. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Sends a packet to this member, even an empty one. */
  greet(to: string): void {
    this.#boxFor(to);
  }

  add(to: string, item: Item): void {
    this.#push(this.#boxFor(to), item);
  }

  /** An answer to a question of that incarnation. */
  answer(to: string, incarnation: number, answer: Answer): void {
    const box = this.#boxFor(to);
    if (box.toIncarnation !== incarnation) {
      box.items = box.items.filter((item) => !isAnswer(item)); // Answers to an earlier incarnation have no receiver.
      box.toIncarnation = incarnation;
    }
    this.#push(box, answer);
  }

  /** Removes and returns everything. */
  take(): [to: string, out: Out][] {
    const taken = [...this.#boxes];
    this.clear();
    return taken;
  }

  /** Removes and returns the full packets; the rest waits. */
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
