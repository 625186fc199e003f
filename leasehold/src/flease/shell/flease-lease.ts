/**
 * A lease that this process holds, for the application. It renews itself until it is given back or lost.
 *
 *     ├──────────── renewed ────────────┤ notice │         isHeld() is true until here
 *                                       │ signal           unless it is renewed before that
 *
 * `isHeld()` reads the clocks and is right whenever it is asked. Once it has said no it never says yes again.
 * No check helps against a pause right after it: hand `number` to whoever stores the result, and let it refuse a
 * lower one than it has seen.
 */

import { showAs } from '../../runtime/inspection.ts';
import type { Tenure } from '../tenure.ts';
import { type LeaseEnd, LeaseEndedError } from '../errors.ts';
import { type LeaseSignal, leaseSignal } from './lease-signal.ts';

/** What a lease asks of its group. @internal */
export interface LeaseKeeper {
  readonly noticeMs: number;
  /** What the group's clock shows this instant; undefined if it has jumped, and nothing can be held. */
  nowMs(): number | undefined;
  release(tenure: Tenure): Promise<void>;
  /** Its holder has been told that it is over: it is not to be renewed. */
  forsake(tenure: Tenure): void;
}

export class FleaseLease implements AsyncDisposable {
  /** @internal */
  readonly tenure: Tenure;
  readonly #keeper: LeaseKeeper;
  /** There may be a million leases, and hardly anybody asks. */
  #onRenewal: Set<() => void> | undefined;
  #signal: LeaseSignal | undefined;
  #end: LeaseEnd | undefined;

  /** @internal */
  constructor(keeper: LeaseKeeper, tenure: Tenure) {
    this.#keeper = keeper;
    this.tenure = tenure;
  }

  get resource(): string {
    return this.tenure.resource;
  }

  /** Grows with every change of holder. For whoever stores the result to compare: the greater one is the later. */
  get number(): number {
    return this.tenure.number;
  }

  /** Until when it is held if it is not renewed: milliseconds since 1970, by the group's clock. */
  get validUntil(): number {
    return this.tenure.untilMs;
  }

  /** Whether it is held this instant. Looks at the clocks, so it is right even if no timer has fired yet. */
  isHeld(): boolean {
    if (this.#isOver) return false;
    const nowMs = this.#keeper.nowMs();
    if (nowMs !== undefined && this.tenure.isHeldAt(nowMs)) return true;
    this.ended(this.tenure.ended ?? (nowMs === undefined ? 'clock' : 'lapsed'));
    this.#keeper.forsake(this.tenure);
    return false;
  }

  /**
   * Aborts, with a {@link LeaseEndedError}, some time before the lease would end without having been renewed
   * (`noticeMs`), when it has ended, and when it was given back. `aborted` looks at the clocks, too.
   */
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#signal = leaseSignal(() => this.#look());
      if (this.#end !== undefined) this.#abort(this.#end);
    }
    return this.#signal.signal;
  }

  /** Gives it back, at once. Resolves when the others know, or it would have run out by itself. */
  async release(): Promise<void> {
    await this.#keeper.release(this.tenure);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** What there is to say of it in a log. */
  toJSON(): { resource: string; number: number; validUntil: number; ended?: LeaseEnd } {
    const { resource, number, validUntil, how: ended } = this;
    return { resource, number, validUntil, ...(ended && { ended }) };
  }

  /** @internal How it ended, or is about to. */
  get how(): LeaseEnd | undefined {
    return this.#end;
  }

  /** @internal How much longer it is held this instant, if it is not renewed. */
  get leftMs(): number {
    if (!this.isHeld()) return 0;
    return Math.max(0, this.tenure.untilMs - (this.#keeper.nowMs() ?? this.tenure.untilMs));
  }

  /** @internal Calls back whenever it has been renewed, until the result is disposed of. */
  onRenewal(callback: () => void): Disposable {
    const callbacks = (this.#onRenewal ??= new Set());
    callbacks.add(callback);
    return { [Symbol.dispose]: () => void callbacks.delete(callback) };
  }

  /** @internal It is held for longer. */
  renewed(): void {
    for (const callback of this.#onRenewal ?? []) callback();
  }

  /** @internal It is about to end. */
  ending(): void {
    if (this.#end === undefined) this.#abort('ending');
  }

  /** @internal It has ended, for good. */
  ended(how: LeaseEnd): void {
    if (this.#isOver) return;
    if (this.#end === undefined) this.#abort(how);
    this.#end = how;
  }

  get #isOver(): boolean {
    return this.#end !== undefined && this.#end !== 'ending';
  }

  #abort(how: LeaseEnd): void {
    this.#end = how;
    this.#signal?.abort(new LeaseEndedError(this.resource, this.number, how));
  }

  #look(): void {
    if (this.#end !== undefined || !this.isHeld()) return;
    const nowMs = this.#keeper.nowMs() ?? Number.POSITIVE_INFINITY;
    if (nowMs >= this.tenure.untilMs - this.#keeper.noticeMs) this.ending();
  }
}

showAs(FleaseLease, 'FleaseLease', (lease) => lease.toJSON());
