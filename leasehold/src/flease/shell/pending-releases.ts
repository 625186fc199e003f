/** Leases that were released, until the other members have been told or there is nothing to tell any more. */

import type { HeldLease } from '../core/held-lease.ts';

interface PendingRelease {
  readonly over: Promise<void>;
  readonly done: () => void;
}

export class PendingReleases {
  readonly #releases = new Map<HeldLease, PendingRelease>();

  get size(): number {
    return this.#releases.size;
  }

  /** Resolves when the release is over; at once if it is over already. */
  async over(held: HeldLease): Promise<void> {
    if (held.state === 'leaving') await (this.#releases.get(held) ?? this.#add(held)).over;
  }

  /** The release is over. */
  left(held: HeldLease): void {
    this.#releases.get(held)?.done();
    this.#releases.delete(held);
  }

  /** Nobody will be told any more. */
  end(): void {
    for (const held of [...this.#releases.keys()]) this.left(held);
  }

  #add(held: HeldLease): PendingRelease {
    let done: () => void = () => {};
    const over = new Promise<void>((resolve) => {
      done = resolve;
    });
    const release = { over, done };
    this.#releases.set(held, release);
    return release;
  }
}
