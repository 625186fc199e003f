/**
 * One alarm that can be set again and again for next to nothing.
 *
 * A protocol core names the next wake-up time after every input, and mostly that time is a little later than before.
 * To cancel and schedule anew each time would fill the queue. So a setting to a later time is only remembered: the
 * alarm fires at the old time, finds the firing too early, and goes back to sleep. Only a setting to an earlier time
 * schedules anew. The alarm's entries in the queue are then a chain of falling times, of which the last is due first:
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
  /** Never: each entry in the queue is either due or leads on to the next. */
  readonly cancelled = false;
  readonly #schedule: Schedule;
  readonly #wake: () => boolean;
  /** The times at which this alarm stands in the queue, falling. */
  readonly #chain: number[] = [];
  #wanted: number = Number.POSITIVE_INFINITY;

  /** @param wake the callback; returns false when nothing happened */
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
