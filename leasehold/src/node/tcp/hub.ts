/**
 * What all connections of one listener or dialler share, because thousands of them would each pay for
 * it: one sweep instead of a timer each, and one flush at the end of a turn, so that all that was said to
 * a peer in it leaves in one write.
 *
 * The bound on what may wait in all queues together has to be shared as well: queues that are each within
 * their own bound can still fill the memory. To add them all up with every message would cost most when
 * there is most to do; so a sum that can only be too high is kept, and set right when it seems exceeded.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { noCounts, type TcpCounters } from './counters.ts';
import type { TcpLimits } from './limits.ts';
import { Sweep } from './sweep.ts';

/** A connection, as far as it matters here. */
interface Queue {
  readonly queuedBytes: number;
  flush(): void;
}

export class Hub {
  readonly limits: TcpLimits;
  readonly runtime: Runtime;
  readonly sweep: Sweep;
  readonly counters: TcpCounters = noCounts();
  readonly #queues = new Set<Queue>();
  #unflushed: Queue[] = [];
  /** At least what waits in all queues: what was sent is added at once, what has left is found later. */
  #queuedBytesAtMost = 0;
  #countedAt: number | undefined;
  #serials = 0;

  constructor(runtime: Runtime, limits: TcpLimits) {
    this.runtime = runtime;
    this.limits = limits;
    this.sweep = new Sweep(runtime, limits);
  }

  nextSerial(): number {
    this.#serials += 1;
    return this.#serials;
  }

  add(queue: Queue): void {
    this.#queues.add(queue);
  }

  delete(queue: Queue): void {
    this.#queues.delete(queue);
  }

  /** Whether all queues together have room for so much more; then it is counted in. */
  reserve(bytes: number): boolean {
    if (this.#queuedBytesAtMost + bytes > this.limits.queueBytesOutTotal) this.#count();
    if (this.#queuedBytesAtMost + bytes > this.limits.queueBytesOutTotal) return false;
    this.#queuedBytesAtMost += bytes;
    return true;
  }

  /** At the end of this turn, everything that was said in it leaves together. */
  flushSoon(queue: Queue): void {
    this.#unflushed.push(queue);
    if (this.#unflushed.length === 1) process.nextTick(() => this.#flush());
  }

  #flush(): void {
    const unflushed = this.#unflushed;
    this.#unflushed = [];
    this.#countedAt = undefined;
    for (const queue of unflushed) queue.flush();
  }

  /** Once a turn or a sweep at most: it looks at all of them. */
  #count(): void {
    if (this.#countedAt === this.sweep.time) return;
    this.#countedAt = this.sweep.time;
    this.#queuedBytesAtMost = 0;
    for (const queue of this.#queues) this.#queuedBytesAtMost += queue.queuedBytes;
  }
}
