/**
 * How often a process has lately heard of a greater incarnation of its own name. Once or twice is a restart with a clock that went back. More often means
 * that another live process uses the name, and the two refute each other.
 */

import type { Instant } from '../../runtime/time.ts';

const MOST = 3;
const WITHIN_MS = 60_000;

export class Refutations {
  #at: Instant[] = [];

  /** True if another process uses the name. */
  add(now: Instant): boolean {
    this.#at = [...this.#at, now].filter((at) => now - at < WITHIN_MS);
    return this.#at.length >= MOST;
  }
}
