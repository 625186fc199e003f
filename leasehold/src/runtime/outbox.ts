/**
 * Items that wait to be sent, by receiver, so that all items of a turn leave as one packet to each receiver.
 *
 * A receiver with enough items for a packet of its own need not wait for the end of the turn ({@link Outbox.isFull}). With larger
 * packets the receiver would idle while items are written, and the sender while they are answered.
 *
 * An outbox sends nothing. A core keeps one as a part of its state; a shell that has no core empties one by
 * `OncePerTurn` (`turn.ts`).
 */

export class Outbox<Item> {
  readonly #enough: number;
  readonly #boxes = new Map<string, Item[]>();
  #isFull = false;

  /** @param enough from so many items on, a receiver does not wait for more @default no limit */
  constructor(enough: number = Number.POSITIVE_INFINITY) {
    this.#enough = enough;
  }

  /** Whether some receiver has enough items. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Something is sent to this receiver, if only an empty packet. */
  greet(to: string): void {
    this.#boxOf(to);
  }

  add(to: string, item: Item): void {
    if (this.#boxOf(to).push(item) >= this.#enough) this.#isFull = true;
  }

  /** Keeps only some of the items for this receiver, and the packet even if no item stays. */
  keep(to: string, stays: (item: Item) => boolean): void {
    const box = this.#boxes.get(to);
    if (box !== undefined) this.#boxes.set(to, box.filter(stays));
  }

  /** Removes and returns everything. */
  take(): [to: string, items: Item[]][] {
    const taken = [...this.#boxes];
    this.clear();
    return taken;
  }

  /** Removes and returns the items of receivers that have enough; other items wait. */
  takeFull(): [to: string, items: Item[]][] {
    const full = [...this.#boxes].filter(([, items]) => items.length >= this.#enough);
    for (const [to] of full) this.#boxes.delete(to);
    this.#isFull = false;
    return full;
  }

  clear(): void {
    this.#boxes.clear();
    this.#isFull = false;
  }

  #boxOf(to: string): Item[] {
    let box = this.#boxes.get(to);
    if (box === undefined) {
      box = [];
      this.#boxes.set(to, box);
    }
    return box;
  }
}
