/**
 * A candidate for leadership by a lease of the group. Its events are those of a log's leader: elected once, extended
 * again and again, deposed once. (`soft-log.ts` makes a log of that.)
 *
 *     standing ──granted──► elected ◄──┐ renewed
 *        │                     │ └─────┘
 *        └──────► over ◄───────┘ ended, disposed
 *
 * **Two clocks.** The lease is counted on the group's clock, which follows the wall clock; a leader counts on the
 * monotonic one, which nobody sets. When the lease is granted or renewed, both are read, and the remaining time of
 * the one is taken for the other. A wall clock that keeps within half the skew of true time moves against the
 * monotonic one by no more than the skew during the attempt, and by no more than the skew again until the lease ends.
 * So twice the skew is taken off. (A clock that is set by more than half the skew at once, or back little by little,
 * is noticed, and the member goes into recovery.)
 *
 * **Ending is not over.** When a renewal is late the leader lease runs out first, and the leader stops answering. If
 * the renewal arrives after all, the leader goes on. That matters more here than with other logs: the next leader
 * knows nothing.
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { HeldLease } from './held-lease.ts';
import type { MemberEvent } from './member.ts';
import type { ElectedEvents } from './soft-log.ts';

/** The member of the group that stands for election. */
export interface CandidateMember {
  readonly clockSkewMs: number;
  now(): Instant;
  /** Remaining time of the lease by the group's clock, in milliseconds: 0 or less if it is over. */
  leftMs(held: HeldLease): number;
  /** Waits for the lease, and calls back once, not at once. Returns a function that withdraws the request. */
  acquire(granted: (held: HeldLease) => void): () => void;
  release(held: HeldLease): void;
}

export class Candidate implements Disposable {
  readonly #member: CandidateMember;
  readonly #events: ElectedEvents;
  #withdraw: (() => void) | undefined;
  #held: HeldLease | undefined;
  #isOver = false;

  constructor(member: CandidateMember, events: ElectedEvents) {
    this.#member = member;
    this.#events = events;
    this.#stand();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** An event of the member; ignored if it is about another lease. */
  hear(event: MemberEvent): void {
    if (event.kind !== 'renewed' && event.kind !== 'ended') return;
    if (this.#held === undefined || event.held !== this.#held) return;
    if (event.kind === 'renewed') {
      this.#events.renewed(this.#until(event.held));
      return;
    }
    this.#held = undefined;
    this.#isOver = true;
    this.#events.lost();
  }

  /** Withdraws, or releases the lease. No event follows. */
  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) this.#withdraw?.();
    else this.#member.release(held);
  }

  #stand(): void {
    this.#withdraw = this.#member.acquire((held) => this.#granted(held));
  }

  #granted(held: HeldLease): void {
    if (this.#isOver) {
      this.#member.release(held);
      return;
    }
    if (held.ended !== undefined) {
      this.#stand(); // It was over before we heard of it.
      return;
    }
    this.#held = held;
    this.#events.won(held.number, this.#until(held));
  }

  #until(held: HeldLease): Instant {
    const { clockSkewMs } = this.#member;
    const now = this.#member.now();
    return later(now, this.#member.leftMs(held) - 2 * clockSkewMs);
  }
}
