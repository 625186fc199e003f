/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The future events, in order: by time, and for the same time in the order of adding. The world has one such queue in
 * true time, and every process one for timers in the time of the process's clock.
 *
 * The queue is a binary heap in three parallel arrays, because a simulation does little else than push and pop here.
 * Cancelling only marks; when most of the queue is marked, the queue is swept.
 */

/** An event that is to happen, unless cancelled first. */
export interface Happening {
  /** True once the event need not happen any more: the queue may then drop the event unseen. */
  readonly cancelled: boolean;
  /** Lets the event happen. False when nothing happened: no check need run, no event was seen. */
  happen(): boolean;
}

/** Runs a callback once, unless disposed of before. */
export class Scheduled implements Happening, Disposable {
  cancelled = false;
  readonly #queue: EventQueue;
  readonly #run: () => void;

  constructor(queue: EventQueue, run: () => void) {
    this.#queue = queue;
    this.#run = run;
  }

  happen(): boolean {
    if (this.cancelled) return false;
    this.cancelled = true;
    this.#run();
    return true;
  }

  [Symbol.dispose](): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.#queue.cancelledOne();
  }
}

const SWEEP_MIN = 64;

export class EventQueue {
  #times = new Float64Array(64);
  #orders = new Float64Array(64);
  #happenings: Happening[] = [];
  #added = 0;
  #cancelled = 0;

  get size(): number {
    return this.#happenings.length;
  }

  /** When the first of them is due; Infinity when there is none. */
  get nextAt(): number {
    return this.#happenings.length === 0 ? Number.POSITIVE_INFINITY : (this.#times[0] as number);
  }

  push(at: number, happening: Happening): void {
    const hole = this.#happenings.length;
    if (hole === this.#times.length) this.#grow();
    this.#happenings.push(happening);
    this.#rise(hole, at, this.#added++, happening);
  }

  /** The first of them, taken out. The queue must not be empty. */
  pop(): Happening {
    const happenings = this.#happenings;
    const first = happenings[0] as Happening;
    const last = happenings.pop() as Happening;
    const size = happenings.length;
    if (size > 0) {
      this.#sink(0, this.#times[size] as number, this.#orders[size] as number, last);
    }
    if (first.cancelled && this.#cancelled > 0) this.#cancelled -= 1;
    return first;
  }

  clear(): void {
    this.#happenings = [];
    this.#cancelled = 0;
  }

  /** Says that one of the happenings in here has just been cancelled. */
  cancelledOne(): void {
    this.#cancelled += 1;
    if (this.#cancelled >= SWEEP_MIN && this.#cancelled * 2 > this.#happenings.length) this.#sweep();
  }

  #rise(from: number, at: number, order: number, happening: Happening): void {
    const times = this.#times;
    const orders = this.#orders;
    const happenings = this.#happenings;
    let hole = from;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      const parentAt = times[parent] as number;
      // A later addition never overtakes at the same time, so no orders are compared here.
      if (parentAt <= at) break;
      times[hole] = parentAt;
      orders[hole] = orders[parent] as number;
      happenings[hole] = happenings[parent] as Happening;
      hole = parent;
    }
    times[hole] = at;
    orders[hole] = order;
    happenings[hole] = happening;
  }

  #sink(from: number, at: number, order: number, happening: Happening): void {
    const times = this.#times;
    const orders = this.#orders;
    const happenings = this.#happenings;
    const size = happenings.length;
    let hole = from;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= size) break;
      let childAt = times[child] as number;
      const right = child + 1;
      if (right < size) {
        const rightAt = times[right] as number;
        if (
          rightAt < childAt ||
          (rightAt === childAt && (orders[right] as number) < (orders[child] as number))
        ) {
          child = right;
          childAt = rightAt;
        }
      }
      if (at < childAt || (at === childAt && order < (orders[child] as number))) break;
      times[hole] = childAt;
      orders[hole] = orders[child] as number;
      happenings[hole] = happenings[child] as Happening;
      hole = child;
    }
    times[hole] = at;
    orders[hole] = order;
    happenings[hole] = happening;
  }

  #sweep(): void {
    const times = this.#times;
    const orders = this.#orders;
    const happenings = this.#happenings;
    let kept = 0;
    for (let i = 0; i < happenings.length; i++) {
      const happening = happenings[i] as Happening;
      if (happening.cancelled) continue;
      times[kept] = times[i] as number;
      orders[kept] = orders[i] as number;
      happenings[kept] = happening;
      kept += 1;
    }
    happenings.length = kept;
    this.#cancelled = 0;
    for (let i = (kept >> 1) - 1; i >= 0; i--) {
      this.#sink(i, times[i] as number, orders[i] as number, happenings[i] as Happening);
    }
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    const orders = new Float64Array(this.#times.length * 2);
    times.set(this.#times);
    orders.set(this.#orders);
    this.#times = times;
    this.#orders = orders;
  }
}
