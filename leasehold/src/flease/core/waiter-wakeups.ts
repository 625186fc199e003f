/**
 * Members that waited behind the successor of a released lease. They are in the successor's waiting line from then
 * on. But if the successor is dead, no member notifies them, and they would wait for the end of the earlier lease.
 *
 *     left for c ├──── 3 answers + skew ────┤ b, d: notified
 *                c has taken it: b and d find that, and are in the line of c anyway
 *
 * So the member that released the lease remembers the others, and notifies them when any member may take the lease:
 * unless its own acceptor has a later lease written. Then all of them would only find that lease, at the same time,
 * and trust the next notice less.
 */

import { TimerWheel } from './timer-wheel.ts';
import type { Table } from './table.ts';

export interface PendingWakeup {
  readonly resource: string;
  /** Of the released lease. */
  readonly number: number;
  /** The members behind the successor. */
  readonly waiters: readonly string[];
  /** When any member may take the lease. */
  readonly atMs: number;
}

export class WaiterWakeups {
  readonly #left = new Map<string, PendingWakeup>();
  readonly #wheel: TimerWheel<PendingWakeup>;

  /** @param slotMs how late a notice may be */
  constructor(slotMs: number) {
    this.#wheel = new TimerWheel(slotMs);
  }

  get nextMs(): number {
    return this.#wheel.nextMs;
  }

  add(left: PendingWakeup): void {
    this.#left.set(left.resource, left);
    this.#wheel.add(left.atMs, left);
  }

  /**
   * Wake-ups that are due, unless the resource was released again since, or another member has taken it.
   *
   * @param table with the registers of our own acceptor
   */
  due(nowMs: number, table: Table): readonly PendingWakeup[] {
    const due = this.#wheel.due(nowMs).filter((left) => this.#left.get(left.resource) === left);
    for (const { resource } of due) this.#left.delete(resource);
    return due.filter(({ resource, number }) => (table.find(resource)?.lease?.number ?? 0) <= number);
  }

  clear(): void {
    this.#left.clear();
    this.#wheel.clear();
  }
}
