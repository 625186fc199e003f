/**
 * One alarm that can be set again and again for next to nothing.
 *
 * A protocol core says after every input when it next wants to be woken, and mostly that is a
 * little later than it said before. To cancel and schedule anew each time would fill the queue.
 * So a setting to a later time is only remembered: the alarm goes off at the old time, sees that
 * it is too early, and goes back to sleep. Only a setting to an earlier time schedules anew. What
 * the alarm has in the queue is then a chain of falling times, of which the last is due first:
 *
 *     set 100            100                 wanted 100
 *     set  40            100 40              wanted  40
 *     set  70            100 40              wanted  70
 *     … 40: too early    100 70              wanted  70
 *     … 70: wakes        100                 wanted nothing
 *     set 150            100                 wanted 150
 */

import type { Happening } from './queue.ts';

/** Where an alarm is kept: the world, or the timers of a process. */
export interface Schedule {
  schedule(at: number, happening: Happening): void;
}

export class Alarm implements Happening {
  /** Never: what it has in the queue is either due or leads on to the next. */
  readonly cancelled = false;
  readonly #schedule: Schedule;
  readonly #wake: () => boolean;
  /** The times at which this alarm stands in the queue, falling. */
  readonly #chain: number[] = [];
  #wanted: number = Number.POSITIVE_INFINITY;

  /** @param wake what to do; returns false when nothing came of it */
  constructor(schedule: Schedule, wake: () => boolean) {
    this.#schedule = schedule;
    this.#wake = wake;
  }

  /** Goes off at this time instead of any other; at Infinity, never. */
  set(at: number): void {
    this.#wanted = at;
    this.#lead();
  }

  happen(): boolean {
    const at = this.#chain.pop();
    if (at === undefined || this.#wanted > at) {
      this.#lead();
      return false;
    }
    this.#wanted = Number.POSITIVE_INFINITY;
    return this.#wake();
  }

  #lead(): void {
    const chain = this.#chain;
    const wanted = this.#wanted;
    if (wanted === Number.POSITIVE_INFINITY) return;
    const last = chain.length;
    if (last > 0 && (chain[last - 1] as number) <= wanted) return;
    chain.push(wanted);
    this.#schedule.schedule(wanted, this);
  }
}
