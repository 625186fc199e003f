/**
 * A lease that this process holds, for the application. The lease renews itself until released or lost.
 *
 *     ├──────────── renewed ────────────┤ notice │         isHeld() is true until here
 *                                       │ signal           unless the lease is renewed before that
 *
 * `isHeld()` reads the clocks, so the answer is right at every instant. After the first no the answer stays no. No
 * check helps against a pause right after the check: send `number` to the store of the result, and let the store
 * refuse a number lower than one seen before.
 */

import type { CallOptions, Held } from '../../runtime/handle.ts';
import { showAs } from '../../runtime/inspection.ts';
import type { HeldLease } from '../core/held-lease.ts';
import { type LeaseEnd, leaseLost } from '../core/errors.ts';
import { type LeaseSignal, leaseSignal } from './lease-signal.ts';

/** The methods of the member that a lease calls. @internal */
export interface LeaseKeeper {
  readonly noticeMs: number;
  /** The reading of the group's clock this instant; undefined if the clock has jumped, and nothing can be held. */
  nowMs(): number | undefined;
  release(held: HeldLease): Promise<void>;
  handover(lease: Lease, to: string, options: CallOptions | undefined): Promise<void>;
  /** The holder has been told that the lease is over, so the lease must not be renewed. */
  forsake(held: HeldLease): void;
}

export class Lease implements Held, AsyncDisposable {
  /** @internal */
  readonly held: HeldLease;
  readonly #keeper: LeaseKeeper;
  /** There may be a million leases, and hardly anybody asks. */
  #onRenewal: Set<() => void> | undefined;
  #signal: LeaseSignal | undefined;
  #end: LeaseEnd | undefined;

  /** @internal */
  constructor(keeper: LeaseKeeper, held: HeldLease) {
    this.#keeper = keeper;
    this.held = held;
  }

  get resource(): string {
    return this.held.resource;
  }

  /**
   * Grows with every change of holder. For the store of the result to compare: of two numbers the greater one is the
   * later.
   */
  get number(): number {
    return this.held.number;
  }

  /** When the lease expires unless renewed: milliseconds since 1970, by the group's clock. */
  get validUntil(): number {
    return this.held.untilMs;
  }

  /**
   * Whether the lease is held this instant. Reads the clocks, so the answer is right even if no timer has fired yet.
   */
  isHeld(): boolean {
    if (this.#isOver) return false;
    const nowMs = this.#keeper.nowMs();
    if (nowMs !== undefined && this.held.isHeldAt(nowMs)) return true;
    this.ended(this.held.ended ?? (nowMs === undefined ? 'clock' : 'lapsed'));
    this.#keeper.forsake(this.held);
    return false;
  }

  /**
   * Aborts, with a `LeaseLostError`, `noticeMs` before the lease would expire without a renewal, when the lease
   * has ended, and when the lease was released. `aborted` reads the clocks, too.
   */
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#signal = leaseSignal(() => this.#look());
      if (this.#end !== undefined) this.#abort(this.#end);
    }
    return this.#signal.signal;
  }

  /**
   * Releases the lease at once. Resolves when the other members know of the release, or when the lease would have
   * expired anyway.
   */
  async release(): Promise<void> {
    await this.#keeper.release(this.held);
  }

  /**
   * Gives the lease to another member: no third member gets the lease before that member has asked, or
   * a lease has passed. Resolves when a majority has that written. If that fails, the lease is not held here either.
   *
   * @throws {LeaseLostError} if the lease is no longer held
   * @throws {OutcomeUnknownError} if too few members could be told within `timeoutMs` or before the lease's expiry: then any member may get
   *   it
   * @throws {ClosedError} `CLOSED` if the member is closed before that
   * @throws {InvalidArgumentError} if there is no such member
   * @throws the signal's reason, if the signal aborts first
   */
  async handover(to: string, options?: CallOptions): Promise<void> {
    await this.#keeper.handover(this, to, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** The lease as a log shows it. */
  toJSON(): { resource: string; number: number; validUntil: number; ended?: LeaseEnd } {
    const { resource, number, validUntil, how: ended } = this;
    return { resource, number, validUntil, ...(ended && { ended }) };
  }

  /** @internal How the lease ended, or is about to end. */
  get how(): LeaseEnd | undefined {
    return this.#end;
  }

  /** @internal How much longer the lease is held without a renewal, from this instant. */
  get leftMs(): number {
    if (!this.isHeld()) return 0;
    return Math.max(0, this.held.untilMs - (this.#keeper.nowMs() ?? this.held.untilMs));
  }

  /** @internal Calls back after every renewal, until the result is disposed of. */
  onRenewal(callback: () => void): Disposable {
    const callbacks = (this.#onRenewal ??= new Set());
    callbacks.add(callback);
    return { [Symbol.dispose]: () => void callbacks.delete(callback) };
  }

  /** @internal The lease is held for longer. */
  renewed(): void {
    for (const callback of this.#onRenewal ?? []) callback();
  }

  /** @internal The lease is about to end. */
  ending(): void {
    if (this.#end === undefined) this.#abort('ending');
  }

  /** @internal The lease has ended, for good. */
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
    this.#signal?.abort(leaseLost(this.resource, this.number, how));
  }

  #look(): void {
    if (this.#end !== undefined || !this.isHeld()) return;
    const nowMs = this.#keeper.nowMs() ?? Number.POSITIVE_INFINITY;
    if (nowMs >= this.held.untilMs - this.#keeper.noticeMs) this.ending();
  }
}

showAs(Lease, 'Lease', (lease) => lease.toJSON());
