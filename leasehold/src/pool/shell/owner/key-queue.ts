/**
 * Work on keys, one at a time for each position of the ring, in order of arrival. Work on different positions runs
 * side by side.
 *
 *     alice   [ at work ]  waiting  waiting  …
 *     bob     [ at work ]
 *     carol   ║ held      waiting  …
 *
 * A lease is on a position, so the queue is per position too: a string, the same key as a `bigint`, and all keys with
 * the same tag are in one queue.
 *
 * A position has a queue as long as work on the position runs or waits. Only the end of that work passes the turn on; a waiter
 * that gives up, or is turned away, leaves the queue and changes nothing for the others.
 *
 * Work that awaits its own position waits for itself for ever, and so does everybody behind that work. Such a waiter
 * is found and refused: after a moment the waiter is woken and checks whether the work ahead awaits this waiter
 * (`node/work-mark.ts`), then again after twice the time each time, since the work may come to await the waiter later.
 * A call whose turn comes soon costs nothing more. Two that each wait for the other's position are not found.
 *
 * **Held ranges.** While keys move to another owner, or have arrived and are not served yet, no turn comes there: work under way ends, and a caller waits, so that
 * the caller sees a slower answer and no error. That wait has an end ({@link HELD_FOR_MS}), and so many may wait
 * ({@link MOST_HELD}). The end of the work under way is what the move waits for. So work that is awaited by it is let
 * through, or each would wait for the other: a caller asks at once whether it is called by work on held keys, and those that wait already ask when the
 * range is held.
 */

import { WorkMark } from '../../../node/work-mark.ts';
import { type Key, keyHash } from '../../../runtime/keys/hash.ts';
import type { Hash } from '../../../runtime/keys/position.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import { onAbort } from '../../../runtime/on-abort.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import { guardWithinGuard, notOwner } from '../errors.ts';

interface Queue {
  readonly position: Hash;
  /** In order, without the one at work. */
  readonly waiting: Set<Waiter>;
  /** Identifies the running work. */
  readonly mark: WorkMark;
  isAtWork: boolean;
}

/** Somebody who waits for the end of all work on these keys. */
interface Idling {
  readonly ranges: RangeSet;
  atWork: number;
  readonly tell: () => void;
}

/** How long a waiter waits before first checking for a wait on itself. */
const FIRST_LOOK_MS = 100;
const LONGEST_LOOK_MS = 5_000;
/** How long a caller waits for held keys; a look-up then finds out whether another owner has them. */
const HELD_FOR_MS = 1_000;
/** How many callers wait for held keys, of all ranges together. */
const MOST_HELD = 10_000;

/** Marks that no queue uses at present: as many as there were queues at a time. */
const freeMarks: WorkMark[] = [];

export class KeyQueue {
  readonly #runtime: Runtime;
  /** Those positions that are being worked on, or waited for. */
  readonly #queues = new Map<Hash, Queue>();
  readonly #atWork = new Set<Queue>();
  /** No turn comes here. */
  #held = RangeSet.empty;
  /** Those that wait for a turn there. */
  readonly #waitingForHeld = new Set<Waiter>();
  readonly #idling = new Set<Idling>();
  /** Set while somebody may be waiting. */
  #nextLook: Disposable | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * Waits for the turn, then works. An abort while waiting gives up the place.
   *
   * @throws {InvalidArgumentError} if the call waits for work that awaits the call
   * @throws {NotOwnerError} if the key is held for too long, or too many wait
   */
  async run<T>(key: Key, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const position = keyHash(key);
    signal?.throwIfAborted();
    const isHeld = !this.#held.isEmpty && this.#held.has(position) && !this.#isWithinHeldWork();
    const queue = this.#queues.get(position) ?? this.#open(position);
    if (queue.isAtWork || isHeld) await this.#turnIn(queue, key, isHeld, signal);
    else this.#begin(queue);
    try {
      return await queue.mark.run(work);
    } finally {
      this.#end(queue);
    }
  }

  /** Whether callers wait for this key although nothing can be done with it at present. */
  isHeld(key: Key): boolean {
    return !this.#held.isEmpty && this.#held.has(key);
  }

  /** No turn comes on these keys any more, until they are released. */
  hold(ranges: RangeSet): void {
    this.#held = this.#held.union(ranges);
    const now = this.#runtime.now();
    for (const { position, waiting } of [...this.#queues.values()])
      if (waiting.size > 0 && ranges.has(position))
        for (const waiter of [...waiting]) this.#await(waiter, now);
  }

  /** Turns come again. Who finds that the key is another owner's says so by itself. */
  release(ranges: RangeSet): void {
    if (this.#held.isEmpty) return;
    this.#held = this.#held.subtract(ranges);
    for (const queue of [...this.#queues.values()]) {
      if (queue.waiting.size === 0 || !ranges.has(queue.position)) continue;
      for (const waiter of queue.waiting) this.#awaitNoLonger(waiter);
      if (!queue.isAtWork) this.#passOn(queue);
    }
  }

  /** Rejects all that wait for one of these keys. Work that has begun goes on. */
  turnAway(ranges: RangeSet, why: (key: Key) => Error): void {
    for (const [position, { waiting }] of this.#queues) {
      if (waiting.size === 0 || !ranges.has(position)) continue;
      for (const waiter of waiting) waiter.end({ error: why(waiter.key) });
    }
  }

  /**
   * Resolves as soon as there is no work at work on any of these keys, whoever waits; or at the abort, because work that never ends must not be counted
   * for each stop that waited for it in vain.
   */
  async idle(ranges: RangeSet, signal?: AbortSignal): Promise<void> {
    const atWork = [...this.#atWork].filter(({ position }) => ranges.has(position)).length;
    if (atWork === 0 || signal?.aborted) return;
    let idling: Idling | undefined;
    const end = new Promise<void>((tell) => this.#idling.add((idling = { ranges, atWork, tell })));
    using _ = onAbort(signal, () => {
      if (idling !== undefined && this.#idling.delete(idling)) idling.tell();
    });
    await end;
  }

  /** Stops that wait for the end of work. */
  get idling(): number {
    return this.#idling.size;
  }

  /** Resolves when our turn has come; no other turn comes before we pass ours on. */
  async #turnIn(queue: Queue, key: Key, isHeld: boolean, signal: AbortSignal | undefined): Promise<void> {
    const { waiting, mark } = queue;
    const now = this.#runtime.now();
    const waiter = new Waiter(key, waiting, now);
    if (isHeld) this.#await(waiter, now);
    else waiter.isLetThrough = this.isHeld(key);
    using _ = onAbort(signal, () => waiter.end({ error: signal?.reason }));
    this.#nextLook ??= this.#lookLater();
    while (waiter.outcome === undefined) {
      await waiter.woken();
      if (waiter.outcome !== undefined) break;
      if (queue.isAtWork && mark.isOnStack()) waiter.end({ error: guardWithinGuard(key) });
      else if (waiter.heldSince !== undefined && this.#isWithinHeldWork()) this.#letThrough(queue, waiter);
    }
    this.#waitingForHeld.delete(waiter);
    if (waiter.outcome !== 'turn') {
      this.#tidy(queue);
      throw waiter.outcome.error;
    }
  }

  /** Whether the caller is part of work under way on held keys. */
  #isWithinHeldWork(): boolean {
    const marks: WorkMark[] = [];
    for (const { position, mark } of this.#atWork) if (this.#held.has(position)) marks.push(mark);
    return marks.length > 0 && WorkMark.isOneOnStack(marks);
  }

  /** This waiter cannot have a turn until its key is released, and asks whether held work awaits it. */
  #await(waiter: Waiter, now: Instant): void {
    if (waiter.isLetThrough) return;
    if (this.#waitingForHeld.size >= MOST_HELD) {
      waiter.end({ error: notOwner(waiter.key) });
      return;
    }
    waiter.heldSince ??= now;
    this.#waitingForHeld.add(waiter);
    waiter.wake();
  }

  #awaitNoLonger(waiter: Waiter): void {
    waiter.heldSince = undefined;
    this.#waitingForHeld.delete(waiter);
  }

  #letThrough(queue: Queue, waiter: Waiter): void {
    this.#awaitNoLonger(waiter);
    waiter.isLetThrough = true;
    if (!queue.isAtWork) this.#passOn(queue);
  }

  #lookLater(): Disposable {
    return this.#runtime.wakeAt(later(this.#runtime.now(), FIRST_LOOK_MS), () => {
      this.#nextLook = undefined;
      const now = this.#runtime.now();
      for (const waiter of [...this.#waitingForHeld])
        if (waiter.heldSince !== undefined && later(waiter.heldSince, HELD_FOR_MS) <= now)
          waiter.end({ error: notOwner(waiter.key) });
      for (const { waiting } of this.#queues.values()) {
        for (const waiter of waiting) waiter.look(now);
        if (waiting.size > 0) this.#nextLook ??= this.#lookLater();
      }
    });
  }

  #open(position: Hash): Queue {
    const mark = freeMarks.pop() ?? new WorkMark();
    const queue: Queue = { position, waiting: new Set(), mark, isAtWork: false };
    this.#queues.set(position, queue);
    return queue;
  }

  #begin(queue: Queue): void {
    queue.isAtWork = true;
    this.#atWork.add(queue);
    for (const idling of this.#idling) if (idling.ranges.has(queue.position)) idling.atWork += 1;
  }

  #end(queue: Queue): void {
    queue.isAtWork = false;
    this.#atWork.delete(queue);
    this.#passOn(queue);
    for (const idling of [...this.#idling]) {
      if (!idling.ranges.has(queue.position)) continue;
      idling.atWork -= 1;
      if (idling.atWork > 0) continue;
      this.#idling.delete(idling);
      idling.tell();
    }
  }

  /** Nobody is at work: the next one may be, unless the key is held. */
  #passOn(queue: Queue): void {
    const isHeld = this.isHeld(queue.position);
    for (const waiter of queue.waiting) {
      if (isHeld && !waiter.isLetThrough) continue;
      this.#begin(queue);
      waiter.end('turn');
      return;
    }
    this.#tidy(queue);
  }

  /** Nobody works here and nobody waits. */
  #tidy(queue: Queue): void {
    const isInUse = queue.isAtWork || queue.waiting.size > 0;
    if (isInUse || this.#queues.get(queue.position) !== queue) return;
    this.#queues.delete(queue.position);
    freeMarks.push(queue.mark);
  }
}

class Waiter {
  readonly key: Key;
  /** Undefined while waiting. */
  outcome: 'turn' | { readonly error: unknown } | undefined;
  /** Since when no turn could come, because the key is held. */
  heldSince: Instant | undefined;
  /** Work on held keys awaits this waiter. */
  isLetThrough = false;
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

  wake(): void {
    this.#wake();
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
