/**
 * One timer for all connections.
 *
 * A deadline per connection that moves with every message would be ten thousand timers, set anew all
 * the time. Instead every connection is looked at now and then, and compares the noted instants. What
 * it writes down is {@link Sweep.time}, the time of the last sweep, so that a message costs no reading
 * of a clock. It is behind by up to one sweep, and {@link Sweep.isPast} allows for that: a deadline is
 * never found missed too early, but up to two sweeps late.
 *
 * The time of the sweeps is also forgiving. When this process was stopped or busy for ten seconds, then
 * messages of peers are still waiting in the sockets, unread, and it would be wrong to call
 * them silent. So a sweep that comes late counts as if it had come only a little late:
 *
 *     clock   0   1   2   3   . . . stopped . . .  13  14
 *     time    0   1   2   3                         5   6
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';
import type { TcpLimits } from './limits.ts';

export interface Swept {
  sweep(): void;
}

const EVERY_MS_MAX = 1_000;
const EVERY_MS_MIN = 2;

export class Sweep implements Disposable {
  readonly everyMs: number;
  readonly #runtime: Runtime;
  readonly #all = new Set<Swept>();
  #time = 0;
  #lastAt: Instant;
  #wake: Disposable | undefined;

  constructor(runtime: Runtime, limits: TcpLimits) {
    const { firstByteMs, handshakeMs, frameMs, heartbeatEveryMs, silentAfterMs } = limits;
    const shortestMs = Math.min(firstByteMs, handshakeMs, frameMs, heartbeatEveryMs, silentAfterMs);
    this.everyMs = Math.min(Math.max(shortestMs / 4, EVERY_MS_MIN), EVERY_MS_MAX);
    this.#runtime = runtime;
    this.#lastAt = runtime.now();
  }

  /** To be written down: how long all sweeps so far took, in milliseconds. */
  get time(): number {
    return this.#time;
  }

  /** Whether surely `ms` have passed since `time` was written down. */
  isPast(time: number, ms: number): boolean {
    return this.#time - time >= ms + this.everyMs;
  }

  /** Whether `ms` may have passed since `time` was written down, or will have by the next sweep. */
  isDue(time: number, ms: number): boolean {
    return this.#time - time + this.everyMs >= ms;
  }

  add(swept: Swept): void {
    this.#all.add(swept);
    if (this.#wake !== undefined) return;
    this.#lastAt = this.#runtime.now();
    this.#set();
  }

  delete(swept: Swept): void {
    this.#all.delete(swept);
    if (this.#all.size === 0) this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#wake?.[Symbol.dispose]();
    this.#wake = undefined;
  }

  #set(): void {
    this.#wake = this.#runtime.wakeAt(later(this.#lastAt, this.everyMs), () => this.#run());
  }

  #run(): void {
    const now = this.#runtime.now();
    this.#time += Math.min(now - this.#lastAt, 2 * this.everyMs);
    this.#lastAt = now;
    this.#set();
    for (const swept of this.#all) swept.sweep();
  }
}
