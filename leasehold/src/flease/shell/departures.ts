/** Leases that were given back, until the others have been told, or there is nothing to tell any more. */

import type { Tenure } from '../tenure.ts';

interface Departure {
  readonly over: Promise<void>;
  readonly done: () => void;
}

export class Departures {
  readonly #departures = new Map<Tenure, Departure>();

  get size(): number {
    return this.#departures.size;
  }

  /** Resolves when it is over; at once if it is. */
  async over(tenure: Tenure): Promise<void> {
    if (tenure.state === 'leaving') await (this.#departures.get(tenure) ?? this.#add(tenure)).over;
  }

  /** It is over. */
  left(tenure: Tenure): void {
    this.#departures.get(tenure)?.done();
    this.#departures.delete(tenure);
  }

  /** Nobody will be told any more. */
  end(): void {
    for (const tenure of [...this.#departures.keys()]) this.left(tenure);
  }

  #add(tenure: Tenure): Departure {
    let done: () => void = () => {};
    const over = new Promise<void>((resolve) => {
      done = resolve;
    });
    const departure = { over, done };
    this.#departures.set(tenure, departure);
    return departure;
  }
}
