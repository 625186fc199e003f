/** Leases that were given back, until the others have been told, or there is nothing to tell any more. */

import type { HeldLease } from '../held-lease.ts';

interface Departure {
  readonly over: Promise<void>;
  readonly done: () => void;
}

export class Departures {
  readonly #departures = new Map<HeldLease, Departure>();

  get size(): number {
    return this.#departures.size;
  }

  /** Resolves when the release is over; at once if it is over already. */
  async over(held: HeldLease): Promise<void> {
    if (held.state === 'leaving') await (this.#departures.get(held) ?? this.#add(held)).over;
  }

  /** The release is over. */
  left(held: HeldLease): void {
    this.#departures.get(held)?.done();
    this.#departures.delete(held);
  }

  /** Nobody will be told any more. */
  end(): void {
    for (const held of [...this.#departures.keys()]) this.left(held);
  }

  #add(held: HeldLease): Departure {
    let done: () => void = () => {};
    const over = new Promise<void>((resolve) => {
      done = resolve;
    });
    const departure = { over, done };
    this.#departures.set(held, departure);
    return departure;
  }
}
