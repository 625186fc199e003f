/**
 * What every replica says about itself: how far it has durably accepted in this ballot, and whom it has promised.
 *
 * Logs have no holes, so one number says how much is accepted. The number and the mask of promises come from one message
 * and stay together: a vote means "I accept up to here, and *at that instant* I had promised these". A newer message
 * replaces both. To mix the number of one message with the mask of another would invent a vote that nobody cast.
 */

import type { Ballot } from './ballot.ts';
import type { Mask } from './configuration.ts';

export interface Acknowledgement {
  readonly ballot: Ballot;
  readonly upTo: number;
  /** The seats that its sender had promised to ask. */
  readonly mask: Mask;
  /** The committed prefix that the sender will know of after a restart. */
  readonly settled: number;
  /** Which of two messages of one replica is the newer one. */
  readonly life: number;
  readonly number: number;
}

export class Acknowledgements {
  #ballot: Ballot = 0;
  readonly #newest = new Map<string, Acknowledgement>();
  #changes = 0;

  /** How often something has changed here. */
  get changes(): number {
    return this.#changes;
  }

  /** Forgets what was said in other ballots. */
  begin(ballot: Ballot): void {
    if (ballot === this.#ballot) return;
    this.#ballot = ballot;
    this.#newest.clear();
    this.#changes += 1;
  }

  /** Takes note; false if it is of another ballot or older than what is known. */
  take(storage: string, said: Acknowledgement): boolean {
    if (said.ballot !== this.#ballot) return false;
    const known = this.#newest.get(storage);
    if (known !== undefined && !isNewer(said, known)) return false;
    this.#newest.set(storage, said);
    this.#changes += 1;
    return true;
  }

  of(storage: string): Acknowledgement | undefined {
    return this.#newest.get(storage);
  }

  hasReached(storage: string, slot: number): boolean {
    return (this.#newest.get(storage)?.upTo ?? -1) >= slot;
  }
}

const isNewer = (a: Acknowledgement, b: Acknowledgement): boolean =>
  a.life > b.life || (a.life === b.life && a.number > b.number);
