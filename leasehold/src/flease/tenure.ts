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

export type EndReason = 'released' | 'lapsed' | 'lost' | 'clock';

export type TenureState = 'held' | 'ending' | 'over' | 'leaving' | 'given-back';

export class Tenure {
  readonly resource: string;
  readonly number: number;
  /** By the group's clock. */
  untilMs: number;
  #state: TenureState = 'held';
  #ended: EndReason | undefined;
  /** What those have of it whom it was granted to: kept for them, and looked at by nobody else. */
  handle: unknown;

  constructor(resource: string, number: number, untilMs: number) {
    this.resource = resource;
    this.number = number;
    this.untilMs = untilMs;
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

  renewed(untilMs: number): void {
    this.untilMs = untilMs;
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
