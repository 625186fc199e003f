/**
 * Work on keys, one at a time for each key, in the order it was asked for. Work on different keys
 * runs side by side.
 */

import type { Key } from '../../runtime/keys/hash.ts';
import { keyPosition } from '../../runtime/keys/hash.ts';
import type { RangeSet } from '../../runtime/keys/range-set.ts';

export class KeyQueue {
  /** The last in line for each key; a string and its position are different keys here. */
  readonly #tails = new Map<Key, Promise<void>>();

  /** Waits its turn, then works. An abort while waiting gives up the place. */
  async run<T>(key: Key, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const before = this.#tails.get(key);
    let done = (): void => {};
    const mine = new Promise<void>((resolve) => (done = resolve));
    const tail = before === undefined ? mine : before.then(() => mine);
    this.#tails.set(key, tail);
    try {
      if (before !== undefined) await orAborted(before, signal);
      return await work();
    } finally {
      done();
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }

  /** When all work that was asked for on these keys is over. */
  async settled(ranges: RangeSet): Promise<void> {
    const tails = [...this.#tails].filter(([key]) => ranges.has(keyPosition(key))).map(([, tail]) => tail);
    await Promise.all(tails);
  }
}

function orAborted(turn: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return turn;
  return new Promise((resolve, reject) => {
    const give = (): void => reject(signal.reason);
    signal.addEventListener('abort', give, { once: true });
    void turn.then(() => {
      signal.removeEventListener('abort', give);
      resolve();
    });
  });
}
