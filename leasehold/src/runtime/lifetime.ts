/// <reference lib="esnext.disposable" preserve="true" />

/**
 * A common end: of the timers of one campaign, one leadership or one follower, and of its interest in pending
 * answers. Without this class every callback would have to check whether it is still wanted.
 */

import type { Runtime } from './runtime.ts';
import { later } from './time.ts';

export class Lifetime implements Disposable {
  readonly #runtime: Runtime;
  readonly #timers = new Set<Disposable>();
  #isOver = false;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Calls back after so many milliseconds, unless this lifetime is over by then, or the timer was disposed of. */
  after(ms: number, act: () => void): Disposable {
    const timer = this.#runtime.wakeAt(later(this.#runtime.now(), ms), () => {
      this.#timers.delete(cancel);
      act();
    });
    const cancel = {
      [Symbol.dispose]: () => {
        this.#timers.delete(cancel);
        timer[Symbol.dispose]();
      },
    };
    if (this.#isOver) timer[Symbol.dispose]();
    else this.#timers.add(cancel);
    return cancel;
  }

  /** The same callback, ignored once this lifetime is over. */
  hearing<Heard extends readonly unknown[]>(hear: (...heard: Heard) => void): (...heard: Heard) => void {
    return (...heard) => {
      if (!this.#isOver) hear(...heard);
    };
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const timer of [...this.#timers]) timer[Symbol.dispose]();
  }
}
