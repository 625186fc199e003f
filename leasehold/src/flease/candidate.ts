/**
 * One who stands for a lease of the group in order to lead by it, and is told as a leader of a log is: elected once,
 * extended again and again, deposed once. (`soft-log.ts` makes a log of that.)
 *
 *     standing ──granted──► elected ◄──┐ renewed
 *        │                     │ └─────┘
 *        └──────► over ◄───────┘ ended, disposed
 *
 * **Two clocks.** The lease is counted on the group's clock, which follows the wall clock; a leader counts on the
 * monotonic one, which nobody sets. At the instant that it was granted, or renewed, both are read, and what is left
 * by the one is taken as left by the other. A wall clock that keeps within half the skew of true time moves against the
 * monotonic one by no more than the skew while the group is asked, and by no more again until the lease ends. So twice
 * the skew is taken off. (One that is set by more than half the skew at once, or back little by little, is noticed, and
 * costs the member its memory.)
 *
 * **About to end is not over.** When a renewal is late the promise runs out first, and the leader stops to answer. If
 * the renewal comes after all, it goes on where it was. That matters more here than elsewhere: whoever leads next
 * knows nothing.
 */

import { type Instant, later } from '../runtime/time.ts';
import type { Tenure } from './tenure.ts';
import type { MemberEvent } from './member.ts';
import type { ElectedEvents } from './soft-log.ts';

/** The member of the group in whose name somebody stands. */
export interface StandingMember {
  readonly clockSkewMs: number;
  now(): Instant;
  /** What is left of it by the group's clock, in milliseconds: 0 or less if nothing is. */
  leftMs(tenure: Tenure): number;
  /** Waits for the lease, and calls back once, not at once. Returns what withdraws the wish. */
  acquire(granted: (tenure: Tenure) => void): () => void;
  release(tenure: Tenure): void;
}

export class Candidate implements Disposable {
  readonly #member: StandingMember;
  readonly #events: ElectedEvents;
  #withdraw: (() => void) | undefined;
  #tenure: Tenure | undefined;
  #isOver = false;

  constructor(member: StandingMember, events: ElectedEvents) {
    this.#member = member;
    this.#events = events;
    this.#stand();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Something happened at the member; if it is not about this lease, nothing comes of it. */
  hear(event: MemberEvent): void {
    if (event.kind !== 'renewed' && event.kind !== 'ended') return;
    if (this.#tenure === undefined || event.tenure !== this.#tenure) return;
    if (event.kind === 'renewed') {
      this.#events.renewed(this.#until(event.tenure));
      return;
    }
    this.#tenure = undefined;
    this.#isOver = true;
    this.#events.lost();
  }

  /** Withdraws, or gives it back. Nothing is told any more. */
  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const tenure = this.#tenure;
    this.#tenure = undefined;
    if (tenure === undefined) this.#withdraw?.();
    else this.#member.release(tenure);
  }

  #stand(): void {
    this.#withdraw = this.#member.acquire((tenure) => this.#granted(tenure));
  }

  #granted(tenure: Tenure): void {
    if (this.#isOver) {
      this.#member.release(tenure);
      return;
    }
    if (tenure.ended !== undefined) {
      this.#stand(); // It was over before we heard of it.
      return;
    }
    this.#tenure = tenure;
    this.#events.won(tenure.number, this.#until(tenure));
  }

  #until(tenure: Tenure): Instant {
    const { clockSkewMs } = this.#member;
    const now = this.#member.now();
    return later(now, this.#member.leftMs(tenure) - 2 * clockSkewMs);
  }
}
