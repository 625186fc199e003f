/** A clock that a test moves, and timers that go off when it does. */

import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, instant, later } from '../../runtime/time.ts';

interface Timer {
  readonly at: Instant;
  readonly callback: () => void;
}

export class ManualRuntime implements Pick<Runtime, 'now' | 'wakeAt'> {
  #now: Instant = instant(1_000);
  readonly #timers = new Set<Timer>();

  now(): Instant {
    return this.#now;
  }

  wakeAt(at: Instant, callback: () => void): Disposable {
    const timer = { at, callback };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }

  /** Then lets every promise go on that can. */
  async advance(ms: number): Promise<void> {
    const end = later(this.#now, ms);
    await settled();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#timers.delete(next);
      if (next.at > this.#now) this.#now = next.at;
      next.callback();
      await settled();
    }
    this.#now = end;
  }

  #next(end: Instant): Timer | undefined {
    const due = [...this.#timers].filter(({ at }) => at <= end);
    return due.sort((one, other) => one.at - other.at)[0];
  }
}

/** Every promise has gone on that needs nothing but other promises. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}
