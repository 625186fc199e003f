/**
 * Timers for millions of things: one list per slot of time, without an order within the slot.
 *
 *     add ──►  │ 12 │ 13 │ 14 │ … │ 19 │      slot = ⌊time / slotMs⌋
 *                └── due: everything in slots that are over
 *
 * Adding costs an array push, and a binary search for a new slot; no timer is ever moved or removed. The owner of a
 * due timer decides whether there is anything to do, and adds another timer if not. A timer fires up to one slot
 * late.
 */

export class TimerWheel<T> {
  readonly #slotMs: number;
  readonly #slots = new Map<number, T[]>();
  /** The numbers of the existing slots, the soonest first. */
  readonly #order: number[] = [];

  constructor(slotMs: number) {
    this.#slotMs = slotMs;
  }

  /** When the first slot is due; Infinity if there is none. */
  get nextMs(): number {
    const first = this.#order[0];
    return first === undefined ? Number.POSITIVE_INFINITY : (first + 1) * this.#slotMs;
  }

  add(atMs: number, thing: T): void {
    const slot = Math.floor(atMs / this.#slotMs);
    const list = this.#slots.get(slot);
    if (list !== undefined) {
      list.push(thing);
      return;
    }
    this.#slots.set(slot, [thing]);
    this.#order.splice(this.#placeOf(slot), 0, slot);
  }

  /** Removes and returns everything that is due. */
  due(nowMs: number): T[] {
    let due: T[] = [];
    while (this.nextMs <= nowMs) {
      const slot = this.#order.shift() as number;
      const list = this.#slots.get(slot) as T[];
      this.#slots.delete(slot);
      due = due.length === 0 ? list : due.concat(list);
    }
    return due;
  }

  /** The index at which to insert a slot. Most slots are appended. */
  #placeOf(slot: number): number {
    let [from, to] = [0, this.#order.length];
    if (to === 0 || (this.#order[to - 1] as number) < slot) return to;
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#order[middle] as number) < slot) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  clear(): void {
    this.#slots.clear();
    this.#order.length = 0;
  }
}
