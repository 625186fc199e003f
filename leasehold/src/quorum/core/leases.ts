/**
 * Promises between replicas: "I will not let a write be committed behind your back until then."
 *
 * This machine knows nothing of Paxos, keys or configurations: only which storage id has been promised, and which has
 * promised. Everything else follows elsewhere: who may read what (`reads.ts`), whom a write must reach (`commit.ts`).
 *
 * The holder asks, and counts from before it asked; the grantor counts from when it read the question, and longer:
 *
 *     holder    ask ├────────────── lease ──────────────┤            by its clock
 *                    ╲          ╱ promise
 *     grantor         ├─────────────────── hold ───────────────────┤ by its clock
 *
 *     hold = (lease + τ) × CLOCK_RATE_BOUND
 *
 * A lease lasts longest on a slow clock and through a suspension that is too short to be noticed (τ). The grantor's clock runs
 * faster than the holder's by at most the bound, so the hold ends after the lease (`runtime/lease-time.ts`). A dead holder
 * stops by itself, and no acknowledgement of the promise is needed.
 *
 * A promise also says how far the grantor's log went (`last`): the *floor*. Whatever the grantor accepted before its
 * promise may be committed without asking the holder, so the holder must first have that much itself. Promises that
 * follow each other without a gap are a chain, and any promise of the chain may serve as its floor; after a gap
 * the floor is that of the new promise, for in the gap anything may have been accepted.
 *
 * After a start a replica cannot know whom it had promised. So for one hold, the longest that it ever promised, its mask is
 * everybody.
 */

import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import { type Instant, instant, later, latest, soonest } from '../../runtime/time.ts';
import { EVERYBODY, type Mask } from './configuration.ts';

/** The shortest suspension that is noticed: `SuspensionGuard` is given this tolerance. */
export const SUSPENSION_NOTICED_MS = 100;

/** How long a grantor keeps the promise that it gives for a lease: its clock may run faster than the holder's. */
export const holdFor = (leaseMs: number): number => (leaseMs + SUSPENSION_NOTICED_MS) * CLOCK_RATE_BOUND;

/** Which question of which life of the holder. */
export interface AskNumber {
  readonly life: number;
  readonly number: number;
}

interface Given {
  readonly until: Instant;
  /** The seat or, if it was moved while promised, the seats of the holder. */
  readonly seats: Mask;
  /** The newest question that was answered. */
  readonly asked: AskNumber;
}

interface Held {
  readonly until: Instant;
  readonly floor: number;
}

const NEVER = instant(Number.NEGATIVE_INFINITY);

export class LeaseMachine {
  readonly #life: number;
  readonly #given = new Map<string, Given>();
  readonly #held = new Map<string, Held>();
  /** When each question was asked that may still be answered. */
  readonly #asked = new Map<number, { readonly at: Instant; readonly leaseMs: number }>();
  #asks = 0;
  #lapses = 0;
  #changes = 0;
  /** Until then this replica may have promised anybody anything. */
  #everybodyUntil: Instant;

  /** @param holdMs the longest hold that an earlier life may have promised */
  constructor(life: number, startedAt: Instant, holdMs: number) {
    this.#life = life;
    this.#everybodyUntil = holdMs === 0 ? NEVER : later(startedAt, holdMs);
  }

  // ── as a holder ──

  /** A question to all members; its promises count from now on. */
  ask(leaseMs: number, now: Instant): AskNumber {
    this.#asks += 1;
    this.#asked.set(this.#asks, { at: now, leaseMs });
    for (const [number, { at }] of this.#asked) if (later(at, leaseMs) <= now) this.#asked.delete(number);
    return { life: this.#life, number: this.#asks };
  }

  /** When a question was asked that may still be answered. */
  askedAt({ life, number }: AskNumber): Instant | undefined {
    return life === this.#life ? this.#asked.get(number)?.at : undefined;
  }

  /** A member has promised, and its log goes up to `last`. */
  promised(grantor: string, { life, number }: AskNumber, last: number, now: Instant): void {
    const asked = this.#asked.get(number);
    if (life !== this.#life || asked === undefined) return;
    const until = later(asked.at, asked.leaseMs);
    if (until <= now) return;
    const held = this.#held.get(grantor);
    const isChain = held !== undefined && held.until > now;
    if (held !== undefined && !isChain) this.#lapses += 1;
    this.#changes += 1;
    this.#held.set(grantor, {
      until: isChain ? latest(held.until, until) : until,
      floor: isChain ? Math.min(held.floor, last) : last,
    });
  }

  /** Until when the grantor's promise holds, if the promise covers nothing that we have not reached. */
  heldUntil(grantor: string, reached: number): Instant {
    const held = this.#held.get(grantor);
    return held !== undefined && held.floor <= reached ? held.until : NEVER;
  }

  /** The promises that hold now: by whom, and until when on this clock. For status. */
  held(now: Instant): { readonly grantor: string; readonly until: Instant; readonly floor: number }[] {
    return [...this.#held].flatMap(([grantor, held]) => (held.until > now ? [{ grantor, ...held }] : []));
  }

  /** Differs after every change of the held promises: conclusions from {@link heldUntil} stand until then. */
  get changes(): number {
    return this.#changes;
  }

  /** How often a promise had run out before the next one. */
  get lapses(): number {
    return this.#lapses;
  }

  /** Stops reading; promises under way count for nothing. The answer is to be told to every grantor. */
  release(): AskNumber {
    this.drop();
    return { life: this.#life, number: this.#asks };
  }

  /** The clock of this grantor is too fast beside the own one: the hold there may end before the lease. */
  distrust(grantor: string): void {
    if (this.#held.delete(grantor)) this.#changes += 1;
  }

  /** Trusts nothing that was counted on this clock: it stood still. */
  drop(): void {
    this.#changes += 1;
    this.#held.clear();
    this.#asked.clear();
  }

  // ── as a grantor ──

  /** Promises; the answer must not leave before the log's end was read. */
  grant(holder: string, seats: Mask, asked: AskNumber, leaseMs: number, now: Instant): void {
    const given = this.#given.get(holder);
    const isCurrent = given !== undefined && given.until > now;
    this.#given.set(holder, {
      until: latest(given?.until ?? NEVER, later(now, holdFor(leaseMs))),
      seats: isCurrent ? given.seats | seats : seats,
      asked: given !== undefined && !isLater(asked, given.asked) ? given.asked : asked,
    });
  }

  /** The holder no longer uses what it asked for up to this question. Later questions stay promised. */
  released(holder: string, asked: AskNumber): void {
    const given = this.#given.get(holder);
    if (given === undefined || given.asked.life !== asked.life || given.asked.number > asked.number) return;
    this.#given.delete(holder);
  }

  /** Whether a promise to this holder may still run. */
  mayHavePromised(holder: string, now: Instant): boolean {
    return now < this.#everybodyUntil || (this.#given.get(holder)?.until ?? NEVER) > now;
  }

  /** Whom this replica has promised, as seats. */
  mask(now: Instant): Mask {
    if (now < this.#everybodyUntil) return EVERYBODY;
    let mask = 0;
    for (const [holder, { until, seats }] of this.#given) {
      if (until > now) mask |= seats;
      else this.#given.delete(holder);
    }
    return mask;
  }

  /** When the mask next becomes smaller by itself. */
  nextExpiry(now: Instant): Instant | undefined {
    let next: Instant | undefined = now < this.#everybodyUntil ? this.#everybodyUntil : undefined;
    for (const { until } of this.#given.values()) if (until > now) next = soonest(next, until);
    return next;
  }
}

const isLater = (a: AskNumber, b: AskNumber): boolean =>
  a.life > b.life || (a.life === b.life && a.number > b.number);
