/**
 * A lease that is held: one holder, one number, for as long as it is renewed. It never comes back once it is over.
 *
 *     held ──noticed──► ending          its holder was told that it is about to end
 *       ▲◄───renewed──────┘ │
 *       └──────────ended────┴──► over ──leaving──► leaving ──► given-back, or over
 *
 * Who lets go of it does so first, and it is over; the others are told afterwards. If a majority has that written it was
 * given back. If not, it runs out by itself.
 *
 * What it is called is not whether it is held: that is a question about the clock, {@link Tenure.isHeldAt}.
 */

import type { Lease } from './lease.ts';

/** What it goes by: the lease as it was last written. It is not copied, for there may be a million of them. */
export type Grant = Pick<Lease, 'number' | 'untilMs'>;

export type EndReason = 'released' | 'lapsed' | 'lost' | 'clock';

export type TenureState = 'held' | 'ending' | 'over' | 'leaving' | 'given-back';

export class Tenure {
  readonly resource: string;
  #grant: Grant;
  #state: TenureState = 'held';
  #ended: EndReason | undefined;
  /** What those have of it whom it was granted to: kept for them, and looked at by nobody else. */
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

  get state(): TenureState {
    return this.#state;
  }

  /** Why it is over; undefined while it is not, as far as is known: compare the clock. */
  get ended(): EndReason | undefined {
    return this.#ended;
  }

  /** The one question that matters, and it is about the clock. */
  isHeldAt(groupMs: number): boolean {
    return this.#ended === undefined && groupMs <= this.untilMs;
  }

  /** Its holder was told that it is about to end. */
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

  /** The others are yet to be told that it was let go of. */
  leaving(): void {
    this.#state = 'leaving';
  }

  /** They are not told any more. */
  left(): void {
    if (this.#state === 'leaving') this.#state = 'over';
  }

  /** A majority has that written. */
  givenBack(): void {
    this.#state = 'given-back';
  }
}
