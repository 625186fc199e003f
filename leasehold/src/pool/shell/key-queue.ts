/**
 * Work on keys, one at a time for each key, in the order it was asked for. Work on different keys
 * runs side by side.
 *
 *     alice   [ at work ]  waiting  waiting  …
 *     bob     [ at work ]
 *
 * A key has a line as long as somebody is at work on it. Only the end of that work passes the turn on;
 * whoever waits and gives up, or is turned away, leaves the line and changes nothing for the others.
 */

import type { Key } from '../../runtime/keys/hash.ts';
import type { RangeSet } from '../../runtime/keys/range-set.ts';

interface Waiter {
  begin(): void;
  turnAway(error: Error): void;
}

interface Line {
  /** In order, without the one at work. */
  readonly waiting: Set<Waiter>;
  /** Who wants to know when nobody is in line any more. */
  readonly atEnd: (() => void)[];
}

export class KeyQueue {
  /** Those keys that are being worked on; a string and its position are different keys here. */
  readonly #lines = new Map<Key, Line>();

  /** Waits its turn, then works. An abort while waiting gives up the place. */
  async run<T>(key: Key, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { waiting: new Set(), atEnd: [] };
      this.#lines.set(key, line);
    } else await turnIn(line, signal);
    try {
      return await work();
    } finally {
      this.#passOn(key, line);
    }
  }

  /** Rejects all that wait for one of these keys. Who is at work on one stays at work. */
  turnAway(ranges: RangeSet, why: (key: Key) => Error): void {
    for (const [key, { waiting }] of this.#lines) {
      if (waiting.size === 0 || !ranges.has(key)) continue;
      for (const waiter of waiting) waiter.turnAway(why(key));
    }
  }

  /** When nobody is at work on any of these keys, nor waits to be. */
  async settled(ranges: RangeSet): Promise<void> {
    const lines = [...this.#lines].filter(([key]) => ranges.has(key)).map(([, line]) => line);
    await Promise.all(lines.map(({ atEnd }) => new Promise<void>((resolve) => atEnd.push(resolve))));
  }

  #passOn(key: Key, { waiting, atEnd }: Line): void {
    const [next] = waiting;
    if (next !== undefined) {
      next.begin();
      return;
    }
    this.#lines.delete(key);
    for (const tell of atEnd) tell();
  }
}

/** Resolves when it is our turn; nobody else's comes before we pass it on. */
function turnIn({ waiting }: Line, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const quit = (): void => {
      waiting.delete(waiter);
      signal?.removeEventListener('abort', abort);
    };
    const waiter: Waiter = {
      begin: () => (quit(), resolve()),
      turnAway: (error) => (quit(), reject(error)),
    };
    const abort = (): void => (quit(), reject(signal?.reason));
    waiting.add(waiter);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
