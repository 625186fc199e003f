/**
 * PRS's ownership handle: a key, and the number under which it was held when the handle was made.
 * Store it with the result made of the key; before the result is used, ask whether the key has been
 * held ever since.
 *
 *     const handle = owner.hold(high, low, now);        // undefined: not ours
 *     state.set(key, { value, handle });
 *     …
 *     if (!state.get(key).handle.isHeld(now)) state.delete(key);
 */

import type { Instant } from '../../../runtime/time.ts';

/** The checks that a handle asks of its owner. */
export interface Holder {
  isHeld(high: number, low: number, number: number, now: Instant): boolean;
}

export class Handle {
  /** For the store of the result to compare: the greater number is the later. */
  readonly number: number;
  readonly #holder: Holder;
  readonly #high: number;
  readonly #low: number;

  /** @internal */
  constructor(holder: Holder, high: number, low: number, number: number) {
    this.#holder = holder;
    this.#high = high;
    this.#low = low;
    this.number = number;
  }

  /** True if the key is held now, and nobody else can have held it since the handle was made. */
  isHeld(now: Instant): boolean {
    return this.#holder.isHeld(this.#high, this.#low, this.number, now);
  }
}
