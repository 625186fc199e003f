/**
 * State in memory that is only as good as the lease at the time of writing.
 *
 *     number 5 ├── held ──┤          number 9 ├── held ──┤
 *               set(held, a)                    get(held)   undefined: another owner may have changed the state since
 *
 * An entry is kept with the lease number of the write, and is returned only while no other owner can have held the key
 * since (`checkLeaseContinuous`). Memory is freed when the keys are another's; no correctness depends on that.
 *
 * Entries are read and written with the handle of the work that does so, not with the bare key. Otherwise work that
 * has lost the lease without knowing so could write a result under the number of the *next* lease, and state that
 * another owner has changed since would pass for current.
 */

import type { Key } from '../../runtime/keys/hash.ts';
import type { RangeSet } from '../../runtime/keys/range-set.ts';
import { LeaseLostError } from './errors.ts';
import type { HeldKey } from './held-keys.ts';

interface Entry<T> {
  readonly value: T;
  readonly number: number;
}

export class LeasedMap<T> {
  readonly #isContinuous: (key: Key, number: number) => boolean;
  readonly #entries = new Map<Key, Entry<T>>();

  /** @internal */
  constructor(isContinuous: (key: Key, number: number) => boolean) {
    this.#isContinuous = isContinuous;
  }

  /** How many entries are in memory, those that are no longer current included. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * The value of this key, if no other owner can have held the key since; otherwise undefined.
   *
   * @throws {LeaseLostError} if the asking work has itself lost the lease
   */
  get(held: HeldKey): T | undefined {
    checkHeld(held);
    const entry = this.#entries.get(held.key);
    if (entry === undefined || this.#isContinuous(held.key, entry.number)) return entry?.value;
    this.#entries.delete(held.key);
    return undefined;
  }

  /**
   * Keeps the value with the number of the lease, and returns the value.
   *
   * @throws {LeaseLostError} if the setting work has lost the lease: nothing was set
   */
  set(held: HeldKey, value: T): T {
    checkHeld(held);
    this.#entries.set(held.key, { value, number: held.number });
    return value;
  }

  /** True if there was a value. @throws {LeaseLostError} if the asking work has lost the lease */
  delete(held: HeldKey): boolean {
    checkHeld(held);
    return this.#entries.delete(held.key);
  }

  /** @internal These keys are another's. */
  forget(ranges: RangeSet): void {
    for (const key of this.#entries.keys()) if (ranges.has(key)) this.#entries.delete(key);
  }
}

function checkHeld(held: HeldKey): void {
  if (!held.isContinuous()) throw new LeaseLostError(held.key, held.number);
}
