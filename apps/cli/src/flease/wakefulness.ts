/**
 * Whether this process was awake while a lease had to be renewed, or stood still: stopped by a signal, or in a write
 * that nobody reads. The process reads the clock again and again, and finds afterwards that there was a long time
 * without a reading:
 *
 *     looks    | | | | |                     | | |
 *     awake    ├────────┤                     ├──┤
 *     stood still       ├─────────────────────┤
 *
 * From outside one cannot be told from the other: a lease that nobody renewed is not renewed, and members that nobody
 * listened to are not heard. But a network that is cut leaves us awake, and so with the time to ask for the lease
 * again and to be answered. A process that was awake for less than that since the last renewal lost the lease by its
 * own fault, and no member is to blame.
 */

/** How often to look, in times of a lease. */
const LOOKS_IN_A_LEASE = 20;
/** A look that is a little late counts as awake. */
const LATE_LOOKS = 2;

export interface WakefulnessOptions {
  readonly leaseMs: number;
  /** How long an awake process needs to renew a lease, from the last renewal on, if the others answer. */
  readonly renewalMs: number;
  /** In milliseconds, and never back. @default performance.now */
  readonly clock?: (() => number) | undefined;
}

export class Wakefulness {
  /** How often to {@link look}. */
  readonly everyMs: number;
  readonly #renewalMs: number;
  readonly #clock: () => number;
  #lookedMs: number;
  #awakeMs = 0;
  #stoodStillMs = 0;
  #stoodStillBeforeMs = 0;

  constructor({ leaseMs, renewalMs, clock = () => performance.now() }: WakefulnessOptions) {
    this.everyMs = leaseMs / LOOKS_IN_A_LEASE;
    this.#renewalMs = renewalMs;
    this.#clock = clock;
    this.#lookedMs = clock();
  }

  look(): void {
    const nowMs = this.#clock();
    const passedMs = nowMs - this.#lookedMs;
    this.#lookedMs = nowMs;
    if (passedMs <= this.everyMs * LATE_LOOKS) this.#awakeMs += passedMs;
    else this.#stoodStillMs += passedMs;
  }

  /** The lease was renewed: an earlier standstill cannot be the reason for a later loss. */
  renewed(): void {
    this.look();
    this.#awakeMs = 0;
    this.#stoodStillBeforeMs = this.#stoodStillMs;
    this.#stoodStillMs = 0;
  }

  /** Since the last renewal. */
  get stoodStillMs(): number {
    this.look();
    return this.#stoodStillMs;
  }

  /**
   * Since the renewal before the last. A process that goes on after a standstill may renew the lease before the
   * consequences of the standstill are known.
   */
  get stoodStillLatelyMs(): number {
    return this.#stoodStillBeforeMs + this.stoodStillMs;
  }

  /** Whether the process stood still for so long since the last renewal that the next one could not succeed. */
  get hasOverslept(): boolean {
    this.look();
    return this.#stoodStillMs > 0 && this.#awakeMs < this.#renewalMs;
  }
}
