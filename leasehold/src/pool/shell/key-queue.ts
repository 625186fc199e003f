/**
 * Work on keys, one at a time for each key, in the order it was asked for. Work on different keys
 * runs side by side.
 *
 *     alice   [ at work ]  waiting  waiting  …
 *     bob     [ at work ]
 *
 * A key has a line as long as somebody is at work on it. Only the end of that work passes the turn on;
 * whoever waits and gives up, or is turned away, leaves the line and changes nothing for the others.
 *
 * Work that queues for its own key would wait for itself, for ever, and everybody behind it too. It is
 * found by what it was asked from within, and is refused instead. Two that each queue for the other's key
 * are not found.
 */

import { ambient } from '../../node/ambient.ts';
import type { Key } from '../../runtime/keys/hash.ts';
import type { RangeSet } from '../../runtime/keys/range-set.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import { GuardWithinGuardError } from './errors.ts';

/** Somebody at work on a key, and the work from within which it was asked for. */
interface Work {
  readonly queue: KeyQueue;
  readonly key: Key;
  within: Work | undefined;
  isOver: boolean;
}

/** One for all queues: each would cost every promise of the process. */
const presentWork = ambient<Work>();

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

  /**
   * Waits its turn, then works. An abort while waiting gives up the place.
   *
   * @throws {GuardWithinGuardError} if it would wait for the work that asks for it
   */
  async run<T>(key: Key, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    let line = this.#lines.get(key);
    const within = stillAtWork(presentWork.current);
    if (line === undefined) {
      line = { waiting: new Set(), atEnd: [] };
      this.#lines.set(key, line);
    } else {
      this.#refuseToWaitForItself(key, within);
      await turnIn(line, signal);
    }
    const present: Work = { queue: this, key, within, isOver: false };
    try {
      return await presentWork.run(present, work);
    } finally {
      present.isOver = true;
      present.within = stillAtWork(present.within);
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

  #refuseToWaitForItself(key: Key, within: Work | undefined): void {
    for (let work = within; work !== undefined; work = stillAtWork(work.within)) {
      if (work.queue === this && work.key === key) throw new GuardWithinGuardError(key);
    }
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

/**
 * The nearest that has not ended. What work has set going may outlive it and ask for more, and that for more
 * again; so those that have ended are not kept.
 */
function stillAtWork(work: Work | undefined): Work | undefined {
  let nearest = work;
  while (nearest?.isOver) nearest = nearest.within;
  return nearest;
}

/** Resolves when it is our turn; nobody else's comes before we pass it on. */
function turnIn({ waiting }: Line, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const quit = (): void => {
      waiting.delete(waiter);
      aborting[Symbol.dispose]();
    };
    const waiter: Waiter = {
      begin: () => (quit(), resolve()),
      turnAway: (error) => (quit(), reject(error)),
    };
    const aborting = onAbort(signal, () => (quit(), reject(signal?.reason)));
    waiting.add(waiter);
  });
}
