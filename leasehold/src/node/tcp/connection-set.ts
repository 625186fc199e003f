/**
 * State shared by all connections of one listener or dialler, because thousands of them would each pay for it: one
 * sweep instead of a timer each, and one flush at the end of a turn, so that all messages to a peer leave in one
 * write.
 *
 * The bound on the bytes in all queues together has to be shared as well: queues within their own bounds can still
 * fill the memory. Adding them up for every message would cost most when there is most to do; so the set keeps an
 * upper bound of the sum, and corrects it when the limit seems exceeded.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { noCounts, type TcpCounters } from './counters.ts';
import { Inbound, type InboundLimit } from './inbound.ts';
import type { TcpLimits } from './limits.ts';
import { Sweep } from './sweep.ts';

/** A connection, as far as this file needs it. */
interface Queue {
  readonly queuedBytes: number;
  flush(): void;
}

export class ConnectionSet {
  readonly limits: TcpLimits;
  readonly runtime: Runtime;
  readonly sweep: Sweep;
  readonly counters: TcpCounters = noCounts();
  readonly inbound: Inbound;
  readonly #queues = new Set<Queue>();
  #unflushed: Queue[] = [];
  /** At least the bytes in all queues: sent bytes are added at once, and bytes that have left are found later. */
  #queuedBytesAtMost = 0;
  #countedAt: number | undefined;
  #serials = 0;

  /** @param heldBack called each time that a peer is paused or closed because it sends too much */
  constructor(
    runtime: Runtime,
    limits: TcpLimits,
    heldBack: (limit: InboundLimit, remote: string) => void = () => {},
  ) {
    this.runtime = runtime;
    this.limits = limits;
    this.sweep = new Sweep(runtime, limits);
    this.inbound = new Inbound(limits, (limit, { remote }) => {
      this.counters.limited[limit] += 1;
      heldBack(limit, remote);
    });
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

  /** Whether all queues together have room for so many bytes more; if so, they are counted. */
  reserve(bytes: number): boolean {
    if (this.#queuedBytesAtMost + bytes > this.limits.queueBytesOutTotal) this.#count();
    if (this.#queuedBytesAtMost + bytes > this.limits.queueBytesOutTotal) return false;
    this.#queuedBytesAtMost += bytes;
    return true;
  }

  /** Flushes at the end of this turn, so that all messages of the turn leave together. */
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

  /** At most once per turn or sweep, because it visits every queue. */
  #count(): void {
    if (this.#countedAt === this.sweep.time) return;
    this.#countedAt = this.sweep.time;
    this.#queuedBytesAtMost = 0;
    for (const queue of this.#queues) this.#queuedBytesAtMost += queue.queuedBytes;
  }
}
