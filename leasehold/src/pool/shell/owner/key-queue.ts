/**
 * Work on keys, one at a time for each position of the ring, in order of arrival. Work on different positions runs
 * side by side.
 *
 *     alice   [ at work ]  waiting  waiting  …
 *     bob     [ at work ]
 *
 * A lease is on a position, so the queue is per position too: a string, the same key as a `bigint`, and all keys with
 * the same tag are in one queue.
 *
 * A position has a queue as long as work on the position runs. Only the end of that work passes the turn on; a waiter
 * that gives up, or is turned away, leaves the queue and changes nothing for the others.
 *
 * Work that awaits its own position waits for itself for ever, and so does everybody behind that work. Such a waiter
 * is found and refused: after a moment the waiter is woken and checks whether the work ahead awaits this waiter
 * (`node/work-mark.ts`), then again after twice the time each time, since the work may come to await the waiter later.
 * A call whose turn comes soon costs nothing more. Two that each wait for the other's position are not found.
 */

import { WorkMark } from '../../../node/work-mark.ts';
import { type Key, keyHash } from '../../../runtime/keys/hash.ts';
import type { Hash } from '../../../runtime/keys/position.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import { onAbort } from '../../../runtime/on-abort.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import { guardWithinGuard } from '../errors.ts';

interface Queue {
  /** In order, without the one at work. */
  readonly waiting: Set<Waiter>;
  /** Identifies the running work. */
  readonly mark: WorkMark;
  /** Called when nobody is at work and nobody waits. */
  readonly atEnd: (() => void)[];
}

/** How long a waiter waits before first checking for a wait on itself. */
const FIRST_LOOK_MS = 100;
const LONGEST_LOOK_MS = 5_000;

/** Marks that no queue uses at present: as many as there were queues at a time. */
const freeMarks: WorkMark[] = [];

export class KeyQueue {
  readonly #runtime: Runtime;
  /** Those positions that are being worked on. */
  readonly #queues = new Map<Hash, Queue>();
  /** Set while somebody may be waiting. */
  #nextLook: Disposable | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * Waits for the turn, then works. An abort while waiting gives up the place.
   *
   * @throws {InvalidArgumentError} if the call waits for work that awaits the call
   */
  async run<T>(key: Key, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const position = keyHash(key);
    signal?.throwIfAborted();
    let queue = this.#queues.get(position);
    if (queue === undefined) {
      queue = { waiting: new Set(), mark: freeMarks.pop() ?? new WorkMark(), atEnd: [] };
      this.#queues.set(position, queue);
    } else {
      await this.#turnIn(queue, key, signal);
    }
    try {
      return await queue.mark.run(work);
    } finally {
      this.#passOn(position, queue);
    }
  }

  /** Rejects all that wait for one of these keys. Work that has begun goes on. */
  turnAway(ranges: RangeSet, why: (key: Key) => Error): void {
    for (const [position, { waiting }] of this.#queues) {
      if (waiting.size === 0 || !ranges.has(position)) continue;
      for (const waiter of waiting) waiter.end({ error: why(waiter.key) });
    }
  }

  /** When nobody is at work on any of these keys, nor waits to be. */
  async settled(ranges: RangeSet): Promise<void> {
    const queues = [...this.#queues].filter(([position]) => ranges.has(position)).map(([, queue]) => queue);
    await Promise.all(queues.map(({ atEnd }) => new Promise<void>((resolve) => atEnd.push(resolve))));
  }

  /** Resolves when our turn has come; no other turn comes before we pass ours on. */
  async #turnIn({ waiting, mark }: Queue, key: Key, signal: AbortSignal | undefined): Promise<void> {
    const waiter = new Waiter(key, waiting, this.#runtime.now());
    using _ = onAbort(signal, () => waiter.end({ error: signal?.reason }));
    this.#nextLook ??= this.#lookLater();
    while (waiter.outcome === undefined) {
      await waiter.woken();
      if (waiter.outcome === undefined && mark.isOnStack()) {
        waiter.end({ error: guardWithinGuard(key) });
      }
    }
    if (waiter.outcome !== 'turn') throw waiter.outcome.error;
  }

  #lookLater(): Disposable {
    return this.#runtime.wakeAt(later(this.#runtime.now(), FIRST_LOOK_MS), () => {
      this.#nextLook = undefined;
      const now = this.#runtime.now();
      for (const { waiting } of this.#queues.values()) {
        for (const waiter of waiting) waiter.look(now);
        if (waiting.size > 0) this.#nextLook ??= this.#lookLater();
      }
    });
  }

  #passOn(position: Hash, { waiting, mark, atEnd }: Queue): void {
    const [next] = waiting;
    if (next !== undefined) {
      next.end('turn');
      return;
    }
    this.#queues.delete(position);
    freeMarks.push(mark);
    for (const tell of atEnd) tell();
  }
}

class Waiter {
  readonly key: Key;
  /** Undefined while waiting. */
  outcome: 'turn' | { readonly error: unknown } | undefined;
  readonly #waiting: Set<Waiter>;
  #wake: () => void = () => {};
  #lookAt: Instant;
  #lookEveryMs = FIRST_LOOK_MS;

  constructor(key: Key, waiting: Set<Waiter>, now: Instant) {
    this.key = key;
    this.#waiting = waiting;
    this.#lookAt = later(now, FIRST_LOOK_MS);
    waiting.add(this);
  }

  woken(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  end(outcome: NonNullable<Waiter['outcome']>): void {
    if (!this.#waiting.delete(this)) return;
    this.outcome = outcome;
    this.#wake();
  }

  /** Wakes the waiter for a check, if due. */
  look(now: Instant): void {
    if (now < this.#lookAt) return;
    this.#lookEveryMs = Math.min(2 * this.#lookEveryMs, LONGEST_LOOK_MS);
    this.#lookAt = later(now, this.#lookEveryMs);
    this.#wake();
  }
}
