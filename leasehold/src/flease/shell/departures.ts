/**
 * Leases that were given back, until the others have been told, or there is nothing to tell any more.
 *
 * There may be fifty thousand of them, after every turn a few are done, and the core does not say which. To look at all of
 * them after every turn would take longer than the turn; so some are looked at in each, in a circle, for as many turns
 * as it takes to have seen all of them since anything last happened.
 */

import type { Tenure } from '../claim.ts';

interface Departure {
  readonly tenure: Tenure;
  done(): void;
}

const LOOKS_PER_TURN = 256;

export class Departures {
  readonly #isLeaving: (tenure: Tenure) => boolean;
  readonly #atEndOfTurn: (callback: () => void) => void;
  readonly #departures: Departure[] = [];
  #next = 0;
  /** So many have not been looked at since anything happened. */
  #unseen = 0;
  #isDue = false;
  #allOver: () => void = () => {};

  constructor(isLeaving: (tenure: Tenure) => boolean, atEndOfTurn: (callback: () => void) => void) {
    this.#isLeaving = isLeaving;
    this.#atEndOfTurn = atEndOfTurn;
  }

  get size(): number {
    return this.#departures.length;
  }

  /** Resolves when it is over. */
  over(tenure: Tenure): Promise<void> {
    return new Promise((done) => {
      this.#departures.push({ tenure, done });
      this.#unseen += 1;
      this.#soon();
    });
  }

  /** Resolves when all of them are over. To be asked once. */
  allOver(): Promise<void> {
    return new Promise((resolve) => {
      this.#allOver = resolve;
      if (this.size === 0) resolve();
    });
  }

  /** Something happened. */
  look(): void {
    this.#unseen = this.#departures.length;
    this.#some();
  }

  /** Nobody will be told any more. */
  end(): void {
    for (const { done } of this.#departures.splice(0)) done();
  }

  #some(): void {
    for (let looks = 0; looks < LOOKS_PER_TURN && this.#unseen > 0 && this.size > 0; looks += 1) {
      this.#unseen -= 1;
      if (this.#next >= this.size) this.#next = 0;
      this.#lookAt(this.#next);
    }
    if (this.#unseen > 0 && this.size > 0) this.#soon();
  }

  #lookAt(place: number): void {
    const departure = this.#departures[place] as Departure;
    if (this.#isLeaving(departure.tenure)) {
      this.#next += 1;
      return;
    }
    const last = this.#departures.pop() as Departure;
    if (last !== departure) this.#departures[place] = last;
    departure.done();
    if (this.size === 0) this.#allOver();
  }

  #soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#atEndOfTurn(() => {
      this.#isDue = false;
      this.#some();
    });
  }
}
