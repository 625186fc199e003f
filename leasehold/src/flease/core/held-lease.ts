/**
 * A lease that this process holds: one holder, one number, as long as it is renewed. An ended lease never resumes.
 *
 *     held ──noticed──► ending          the holder was told that the lease is about to end
 *       ▲◄───renewed──────┘ │
 *       └──────────ended────┴──► over ──leaving──► leaving ──► given-back, or over
 *
 * A holder first stops using the lease, which is then over, and tells the others afterwards. If a majority has the
 * release written, the lease was given back. If not, the lease expires by itself.
 *
 * The state does not say whether the lease is held: that is a question about the clock, {@link HeldLease.isHeldAt}.
 */

import type { Lease } from './lease.ts';

/** The lease as last written. Shared and not copied, because there may be a million. */
export type Grant = Pick<Lease, 'number' | 'untilMs'>;

export type EndReason = 'released' | 'lapsed' | 'lost' | 'clock';

export type HeldLeaseState = 'held' | 'ending' | 'over' | 'leaving' | 'given-back';

export class HeldLease {
  readonly resource: string;
  #grant: Grant;
  #state: HeldLeaseState = 'held';
  #ended: EndReason | undefined;
  /** The application's handle: stored here for the shell, and used by no other code. */
  handle: unknown;

  constructor(resource: string, grant: Grant) {
    this.resource = resource;
    this.#grant = grant;
  }

  get number(): number {
    return this.#grant.number;
  }

  /** By the group's clock. */
  get untilMs(): number {
    return this.#grant.untilMs;
  }

  get state(): HeldLeaseState {
    return this.#state;
  }

  /** Why the lease is over; undefined while it is not, as far as is known: compare the clock. */
  get ended(): EndReason | undefined {
    return this.#ended;
  }

  /** The question that matters, and its answer depends on the clock. */
  isHeldAt(groupMs: number): boolean {
    return this.#ended === undefined && groupMs <= this.untilMs;
  }

  /** The holder was told that the lease is about to end. */
  noticed(): void {
    this.#state = 'ending';
  }

  renewed(grant: Grant): void {
    this.#grant = grant;
    this.#state = 'held';
  }

  end(reason: EndReason): void {
    this.#ended = reason;
    this.#state = 'over';
  }

  /** The release is still to be written. */
  leaving(): void {
    this.#state = 'leaving';
  }

  /** The release is no longer to be written. */
  left(): void {
    if (this.#state === 'leaving') this.#state = 'over';
  }

  /** A majority has the release written. */
  givenBack(): void {
    this.#state = 'given-back';
  }
}
