/**
 * The target's half of moves: tickets by which this owner is brought keys.
 *
 * **Why a moved key is never served as empty, or as it was before** (rules 13 to 15 of `docs/design/moves.md`). A Manager commits a move only if this
 * owner has said the digest of everything it staged, and the grant names the ticket. So the owner takes such a grant only
 * together with the complete import of that very ticket; otherwise it releases the number unused, which the log records as a loss. A
 * grant that names no ticket starts empty, whatever is staged.
 *
 * (An update to a candidate names no ticket: an owner that is no member is given no keys by one, also not after it has joined again.)
 *
 * An import is therefore kept until one of two things is certain: its keys were granted, or they will not be. The second is certain if an update
 * no longer names the ticket and acknowledges a report that told the digest, because a Manager names a ticket until the *committed* table
 * shows another number. Absence from an update that acknowledges less means nothing: its Manager may not have heard of the ticket.
 */

import type { Span } from '../../../runtime/keys/range.ts';
import type { Expected, GrantedSpan, Receiving, TicketSpan } from '../messages.ts';
import type { Imports } from '../owner/holdings.ts';
import type { MoveEffect, MoveInput } from './seam.ts';

interface Arrival {
  readonly expected: Expected;
  /** Set once everything is staged. */
  digest: string | undefined;
  /** The first reports that named the ticket, and the digest. */
  toldIn: number | undefined;
  stagedIn: number | undefined;
}

export class Incoming implements Imports {
  readonly #arrivals = new Map<string, Arrival>();
  /** What the update at hand says about the keys that came by a ticket. */
  #arrived: readonly TicketSpan[] = [];
  #isNews = false;

  /** While an import is here, its keys may be granted to this owner at any time. */
  get isEmpty(): boolean {
    return this.#arrivals.size === 0;
  }

  get underway(): number {
    return this.#arrivals.size;
  }

  /** Something has changed since the last report that a Manager should hear of. */
  get hasNews(): boolean {
    return this.#isNews;
  }

  /** Before the spans of an update are looked at. */
  nowArrived(arrived: readonly TicketSpan[]): void {
    this.#arrived = arrived;
  }

  ticketOf({ start, end, number }: GrantedSpan): string | undefined {
    return this.#arrived.find((one) => one.number === number && one.start < end && start < one.end)?.ticket;
  }

  isComplete(ticket: string, { start, end }: Span): boolean {
    const arrival = this.#arrivals.get(ticket);
    if (arrival?.digest === undefined) return false;
    return arrival.expected.start <= start && end <= arrival.expected.end;
  }

  /**
   * After the spans of an update were looked at.
   *
   * @param taken the tickets whose state was taken in that
   * @param isValid whether the update gave a lease that is not over, so that its grants counted
   */
  hear(
    expected: readonly Expected[],
    acknowledged: number,
    taken: ReadonlySet<string>,
    isValid: boolean,
  ): MoveEffect[] {
    const effects: MoveEffect[] = [];
    const live = new Set(expected.map(({ ticket }) => ticket));
    const arrived = new Set(this.#arrived.map(({ ticket }) => ticket));
    for (const each of expected) {
      const { ticket, start, end, number, from, fromName } = each;
      if (this.#arrivals.has(ticket)) continue;
      this.#arrivals.set(ticket, {
        ...{ expected: each, digest: undefined, toldIn: undefined, stagedIn: undefined },
      });
      this.#isNews = true;
      effects.push({ do: 'receive', ticket, span: { start, end }, number, from, fromName });
    }
    for (const [ticket, { digest, toldIn, stagedIn }] of this.#arrivals) {
      if (live.has(ticket)) continue;
      const said = digest === undefined ? toldIn : stagedIn;
      const isKnown = said !== undefined && acknowledged >= said;
      if (arrived.has(ticket) ? !isValid : !isKnown) continue;
      this.#arrivals.delete(ticket);
      this.#isNews = true;
      if (!taken.has(ticket)) effects.push({ do: 'discard', ticket });
    }
    return effects;
  }

  /** What the shell says about a stage. */
  hearMove(input: MoveInput): void {
    const arrival = this.#arrivals.get(input.ticket);
    if (arrival === undefined) return;
    if (input.is === 'staged' && arrival.digest === undefined) {
      arrival.digest = input.digest;
      this.#isNews = true;
    } else if (input.is === 'unstaged' && arrival.digest !== undefined) {
      arrival.digest = undefined;
      arrival.stagedIn = undefined;
      this.#isNews = true;
    }
  }

  /** An owner that leaves, or cannot know which Manager to follow, takes nothing. */
  discardAll(): MoveEffect[] {
    const effects = [...this.#arrivals.keys()].map((ticket): MoveEffect => ({ do: 'discard', ticket }));
    this.#arrivals.clear();
    return effects;
  }

  /** For report number `sequence`. */
  tell(sequence: number): readonly Receiving[] {
    this.#isNews = false;
    return [...this.#arrivals.values()].map((arrival) => {
      arrival.toldIn ??= sequence;
      if (arrival.digest !== undefined) arrival.stagedIn ??= sequence;
      const { ticket, start, end, number, from } = arrival.expected;
      return { ticket, start, end, number, from, digest: arrival.digest };
    });
  }
}
