/**
 * Which objects are read and written most, of any number of objects, in a fixed number of counters (Space-Saving, Metwally 2005).
 *
 * An object that has no counter takes over the counter with the least weight, and inherits this weight as `floor`. So an object with more
 * than a counter's share of all weight always has a counter, however many others there are; a counter may overrate its object by the floor
 * and never underrates it. The counts that are reported leave the floor out: they were seen.
 *
 * Every hit costs two additions: the heap that finds the least weight holds lower bounds, which are corrected when they come to
 * the top. Weights only grow, so the corrected top is the least. `decay` multiplies everything alike, which changes no order.
 */

/** A write weighs as much as so many reads: writes make holders expensive. */
const WRITE_WEIGHT = 5;

export interface Counted {
  readonly object: number;
  readonly reads: number;
  readonly writes: number;
}

/** Counters whose counts have decayed below this are not reported. */
const LEAST_COUNT = 1 / 16;

export class TrafficCounters {
  readonly #capacity: number;
  readonly #places = new Map<number, number>();
  readonly #objects: Uint32Array;
  readonly #reads: Float64Array;
  readonly #writes: Float64Array;
  readonly #floors: Float64Array;
  /** Places, ordered as a heap by `#bounds`. */
  readonly #heap: Uint32Array;
  /** At most the weight of each place. */
  readonly #bounds: Float64Array;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#objects = new Uint32Array(capacity);
    this.#reads = new Float64Array(capacity);
    this.#writes = new Float64Array(capacity);
    this.#floors = new Float64Array(capacity);
    this.#heap = new Uint32Array(capacity);
    this.#bounds = new Float64Array(capacity);
  }

  get size(): number {
    return this.#places.size;
  }

  read(object: number): void {
    const place = this.#places.get(object) ?? this.#take(object);
    this.#reads[place] = (this.#reads[place] as number) + 1;
  }

  write(object: number): void {
    const place = this.#places.get(object) ?? this.#take(object);
    this.#writes[place] = (this.#writes[place] as number) + 1;
  }

  /** Older counts count less from now on. */
  decay(factor: number): void {
    for (let place = 0; place < this.#places.size; place += 1) {
      this.#reads[place] = (this.#reads[place] as number) * factor;
      this.#writes[place] = (this.#writes[place] as number) * factor;
      this.#floors[place] = (this.#floors[place] as number) * factor;
      this.#bounds[place] = (this.#bounds[place] as number) * factor;
    }
  }

  /** The reads and writes that were seen of each object that has a counter. */
  counts(): Counted[] {
    const counts: Counted[] = [];
    for (let place = 0; place < this.#places.size; place += 1) {
      const reads = this.#reads[place] as number;
      const writes = this.#writes[place] as number;
      if (reads + writes >= LEAST_COUNT)
        counts.push({ object: this.#objects[place] as number, reads, writes });
    }
    return counts;
  }

  #take(object: number): number {
    const { size } = this.#places;
    if (size < this.#capacity) {
      this.#objects[size] = object;
      this.#places.set(object, size);
      this.#heap[size] = size;
      this.#bounds[size] = 0;
      this.#rise(size);
      return size;
    }
    const place = this.#least();
    const floor = this.#weight(place);
    this.#places.delete(this.#objects[place] as number);
    this.#places.set(object, place);
    this.#objects[place] = object;
    this.#reads[place] = 0;
    this.#writes[place] = 0;
    this.#floors[place] = floor;
    return place;
  }

  #weight(place: number): number {
    return (
      (this.#floors[place] as number) +
      (this.#reads[place] as number) +
      WRITE_WEIGHT * (this.#writes[place] as number)
    );
  }

  /** The place with the least weight: the top whose bound is its weight. */
  #least(): number {
    for (;;) {
      const top = this.#heap[0] as number;
      const weight = this.#weight(top);
      if (weight <= (this.#bounds[top] as number)) return top;
      this.#bounds[top] = weight;
      this.#sink(0);
    }
  }

  #rise(from: number): void {
    const heap = this.#heap;
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (this.#boundAt(parent) <= this.#boundAt(at)) return;
      const place = heap[at] as number;
      heap[at] = heap[parent] as number;
      heap[parent] = place;
      at = parent;
    }
  }

  #sink(from: number): void {
    const heap = this.#heap;
    const { size } = this.#places;
    for (let at = from; ; ) {
      let child = 2 * at + 1;
      if (child >= size) return;
      if (child + 1 < size && this.#boundAt(child + 1) < this.#boundAt(child)) child += 1;
      if (this.#boundAt(at) <= this.#boundAt(child)) return;
      const place = heap[at] as number;
      heap[at] = heap[child] as number;
      heap[child] = place;
      at = child;
    }
  }

  #boundAt(at: number): number {
    return this.#bounds[this.#heap[at] as number] as number;
  }
}
