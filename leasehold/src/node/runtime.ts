/**
 * The real surroundings of a process: Node's clock, timers and chance.
 *
 * Leases are counted on `now()`, so `now()` must never go back: an expired lease would be valid again. The kernel
 * promises that of the monotonic clock, but a library between the kernel and Node may break the promise, and so may a
 * virtual machine that was moved. Then `now()` stands still until the clock has caught up:
 *
 *     clock   1 2 3 4 5 2 3 4 5 6 7
 *     now     1 2 3 4 5 5 5 5 5 6 7
 *
 * A clock that stands still while the world goes on looks like a suspended machine, and the SuspensionGuard drops the
 * leases by the same comparison.
 *
 * Timers in Node may fire early, by up to a millisecond, because the event loop counts from the instant of its last
 * reading of the clock. The promise here is *at `at` or later*, so a timer that fires early is set again.
 */

import { uptime } from 'node:os';
import { performance } from 'node:perf_hooks';
import { assert } from '../runtime/assert.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type Instant, instant } from '../runtime/time.ts';

export { randomId } from './id.ts';

export interface NodeRuntimeOptions {
  /** Told once each time the monotonic clock goes back, and by how much. That never should happen. */
  onBackwards?: ((ms: number) => void) | undefined;

  /** Whether the process may end although a timer is still set. @default false */
  unref?: boolean | undefined;

  /** The clock to follow, in milliseconds, for tests. @default performance.now */
  clock?: (() => number) | undefined;
}

/** The longest delay that Node's timers know; a longer one would go off at once. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/** Where Node's count of nanoseconds since the start begins again. */
const WRAP_MS = 2 ** 64 / 1e6;

/** A clock that went back beyond the start of the process shows an immense time, not a negative one. */
function sinceStart(): number {
  const read = performance.now();
  return read < WRAP_MS / 2 ? read : read - WRAP_MS;
}

const never: Disposable = { [Symbol.dispose]: () => {} };

export function nodeRuntime(options: NodeRuntimeOptions = {}): Runtime {
  return new NodeRuntime(options);
}

class NodeRuntime implements Runtime {
  readonly #clock: () => number;
  readonly #onBackwards: (ms: number) => void;
  readonly #unref: boolean;
  /** The highest reading of the clock. */
  #now: number;
  /** The last reading below the highest, and the highest at that time. */
  #behind: { readonly read: number; readonly now: number } | undefined;

  constructor({ clock, onBackwards, unref }: NodeRuntimeOptions) {
    this.#clock = clock ?? sinceStart;
    this.#onBackwards = onBackwards ?? (() => {});
    this.#unref = unref ?? false;
    this.#now = this.#clock();
  }

  now(): Instant {
    const read = this.#clock();
    if (read < this.#now) return this.#standStill(read);
    this.#now = read;
    return instant(read);
  }

  #standStill(read: number): Instant {
    const before = this.#behind?.now === this.#now ? this.#behind.read : this.#now;
    this.#behind = { read, now: this.#now };
    if (read < before) this.#onBackwards(before - read);
    return instant(this.#now);
  }

  wallMs(): number {
    return Date.now();
  }

  uptimeMs(): number {
    return uptime() * 1_000;
  }

  wakeAt(at: Instant, callback: () => void): Disposable {
    assert(!Number.isNaN(at), 'woken at NaN');
    return at === Number.POSITIVE_INFINITY ? never : new Wake(this, at, callback, this.#unref);
  }

  random(): number {
    return Math.random();
  }
}

class Wake implements Disposable {
  readonly #runtime: Runtime;
  readonly #at: Instant;
  readonly #callback: () => void;
  readonly #unref: boolean;
  #timer: NodeJS.Timeout | undefined;

  constructor(runtime: Runtime, at: Instant, callback: () => void, unref: boolean) {
    this.#runtime = runtime;
    this.#at = at;
    this.#callback = callback;
    this.#unref = unref;
    this.#set(at - runtime.now());
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #set(leftMs: number): void {
    const delayMs = Math.min(Math.max(Math.ceil(leftMs), 1), DELAY_MAX_MS);
    this.#timer = setTimeout(() => this.#due(), delayMs);
    if (this.#unref) this.#timer.unref();
  }

  #due(): void {
    const leftMs = this.#at - this.#runtime.now();
    if (leftMs > 0) this.#set(leftMs);
    else this.#callback();
  }
}
