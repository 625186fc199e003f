/**
 * What is to be looked at when, for millions of things: a list for each stretch of time, and no order within it.
 *
 *     add ──►  │ 12 │ 13 │ 14 │ … │ 19 │      stretch = ⌊time / stretchMs⌋
 *                └── due: everything in stretches that are over
 *
 * Adding costs an array push, and a search where there is no such list yet; nothing is ever moved or removed. Whoever
 * is due decides whether there is anything to do, and puts itself down again if not. So a thing is looked at up to
 * one stretch late.
 */

export class Agenda<T> {
  readonly #stretchMs: number;
  readonly #stretches = new Map<number, T[]>();
  /** The numbers of the stretches that there are, the soonest first. */
  readonly #order: number[] = [];

  constructor(stretchMs: number) {
    this.#stretchMs = stretchMs;
  }

  /** When the first of them is due; Infinity if there is none. */
  get nextMs(): number {
    const first = this.#order[0];
    return first === undefined ? Number.POSITIVE_INFINITY : (first + 1) * this.#stretchMs;
  }

  add(atMs: number, thing: T): void {
    const stretch = Math.floor(atMs / this.#stretchMs);
    const list = this.#stretches.get(stretch);
    if (list !== undefined) {
      list.push(thing);
      return;
    }
    this.#stretches.set(stretch, [thing]);
    this.#order.splice(this.#placeOf(stretch), 0, stretch);
  }

  /** Takes out everything whose time has come. */
  due(nowMs: number): T[] {
    let due: T[] = [];
    while (this.nextMs <= nowMs) {
      const stretch = this.#order.shift() as number;
      const list = this.#stretches.get(stretch) as T[];
      this.#stretches.delete(stretch);
      due = due.length === 0 ? list : due.concat(list);
    }
    return due;
  }

  /** How many come before it. Most are the last. */
  #placeOf(stretch: number): number {
    let [from, to] = [0, this.#order.length];
    if (to === 0 || (this.#order[to - 1] as number) < stretch) return to;
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#order[middle] as number) < stretch) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  clear(): void {
    this.#stretches.clear();
    this.#order.length = 0;
  }
}
