/**
 * Items by their worth, roughly: all that are worth the same power of two are in one class, and the last that came is the first of its class.
 *
 * A plan has up to a hundred thousand items. Sorting them would keep every call waiting for a tenth of a second, and nobody needs
 * a finer order than this.
 */

/** Classes below this worth are one. */
const LEAST_WORTH: number = 2 ** -16;
const CLASSES = 64;

export class Ranked<Item> {
  readonly #classes: Item[][] = Array.from({ length: CLASSES }, () => []);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(worth: number, item: Item): void {
    this.#classes[classOf(worth)]?.push(item);
    this.#size += 1;
  }

  /** Takes an item of the highest class. */
  takeMost(): Item | undefined {
    return this.#take(this.#classes.findLastIndex((each) => each.length > 0));
  }

  /** Takes an item of the lowest class, if that is lower than the class of this worth. */
  takeBelow(worth: number): Item | undefined {
    const at = this.#classes.findIndex((each) => each.length > 0);
    return at < classOf(worth) ? this.#take(at) : undefined;
  }

  #take(at: number): Item | undefined {
    if (at < 0) return undefined;
    this.#size -= 1;
    return this.#classes[at]?.pop();
  }
}

/** What is worth nothing, or is no number, is in the lowest class. */
const classOf = (worth: number): number =>
  worth >= LEAST_WORTH ? Math.min(CLASSES - 1, Math.floor(Math.log2(worth / LEAST_WORTH))) : 0;
