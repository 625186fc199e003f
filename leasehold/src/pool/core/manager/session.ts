/**
 * One owner as the leader knows it beyond the committed table. A session is volatile, and gone with the leader.
 */

import { type Instant, later } from '../../../runtime/time.ts';
import type { GrantedSpan, NumberedSpan, OwnerAddress, Report, TicketSpan } from '../messages.ts';
import { MOST_TICKETS } from '../moves/limits.ts';
import type { ResolvedDurations } from '../options.ts';
import { clipSpans, covers } from '../spans.ts';
import type { Row } from '../table.ts';
import type { MoveNews } from './pool-moves.ts';

export class Session {
  readonly pool: string;
  readonly identity: OwnerAddress & { readonly proof: string | undefined };
  address: string;
  /** The latest report, and when it was received: the hold counts from that instant. */
  report: Report;
  receivedAt: Instant;
  /** When the owner last confirmed something new: its report named a later update than the report before. */
  provenAt: Instant;
  /** Of a candidate: the update to be confirmed next, and when that update was sent. */
  asked: { readonly sequence: number; readonly at: Instant } | undefined;
  /** Of a candidate: the process ran after this instant, because it has confirmed an update that was sent then. */
  aliveAt: Instant | undefined;
  /**
   * Of a candidate: a member has the same name. The candidate goes on confirming, so that the batch that removes the
   * member can admit the candidate.
   */
  waitsForName = false;
  /** The candidate withdrew while its join was being written: no update ever gave it a lease, and none will. */
  hasWithdrawn = false;
  /** The sequence of the last update sent to this owner; 0: none. */
  sent = 0;
  sentAt: Instant | undefined;
  /** The last report that was acknowledged to a member; 0: none. */
  acknowledged = 0;
  /** The durations in force at that acknowledgement: the lease that rests on the report has these. */
  given: ResolvedDurations | undefined;
  /** The last update with a change, until the owner has confirmed that update. */
  unheard: number | undefined;
  /** The owner was told that it is a member. */
  welcomed = false;
  /** A change was not sent yet. */
  behind = false;
  #rows: readonly Row[] = [];
  #recalls: readonly NumberedSpan[] = [];
  #moves: MoveNews | undefined;
  #spans: readonly GrantedSpan[] = [];

  constructor(from: string, report: Report, now: Instant) {
    const { pool, incarnation, name, url, proof } = report;
    this.pool = pool;
    this.identity = { incarnation, name, url, proof };
    this.address = from;
    this.report = report;
    this.receivedAt = now;
    this.provenAt = now;
  }

  /** Whether the owner has confirmed the update `sequence` of this term, or a later one. */
  hasHeard(term: number, sequence: number): boolean {
    const { heard } = this.report;
    return sequence > 0 && heard?.term === term && heard.sequence >= sequence;
  }

  /** Whether the owner has confirmed nothing that it was sent for this long. */
  isUnconfirmed(holdMs: number, now: Instant): boolean {
    return later(this.provenAt, holdMs) <= now;
  }

  /** A change is to be sent, and no earlier one is unconfirmed. */
  get isDue(): boolean {
    return this.behind && this.unheard === undefined;
  }

  /**
   * Records a report. A report that a later one has overtaken is ignored, with the releases in it: the later report
   * repeats them, unless the table already shows them. True if the owner holds other spans than before.
   */
  hear(from: string, report: Report, now: Instant): boolean {
    if (report.sequence <= this.report.sequence) return false;
    const { heard } = this.report;
    if (report.heard?.term !== heard?.term || report.heard?.sequence !== heard?.sequence) this.provenAt = now;
    const holdsOther =
      report.held !== this.report.held && !sameItems(report.held, this.report.held, sameSpan);
    this.address = from;
    this.report = report;
    this.receivedAt = now;
    return holdsOther;
  }

  /** The latest report is acknowledged: a lease of these durations rests on that report. */
  acknowledge(durations: ResolvedDurations): void {
    this.acknowledged = this.report.sequence;
    this.given = durations;
  }

  /** Everything that this owner has, in the form of an update. */
  get spans(): readonly GrantedSpan[] {
    return this.#spans;
  }

  /** What the owner is told about moves; undefined if it takes no part in any. */
  get moves(): MoveNews | undefined {
    return this.#moves;
  }

  /** Brings {@link spans} and {@link moves} up to date; true if that changed them. */
  compose(rows: readonly Row[], recalls: readonly NumberedSpan[], moves?: MoveNews): boolean {
    const hasOtherMoves = !sameMoves(moves, this.#moves);
    this.#moves = moves;
    const same =
      sameItems(rows, this.#rows, (a, b) => a === b) && sameItems(recalls, this.#recalls, sameSpan);
    if (same) return hasOtherMoves;
    this.#rows = rows;
    this.#recalls = recalls;
    this.#spans = rows.flatMap((row) => cutAtRecalls(row, recalls));
    return true;
  }

  /**
   * The spans that came by a ticket, and that the owner does not hold yet. So many fit into an update; a span that is left out of it
   * altogether means nothing, but one without its ticket would be taken as empty.
   */
  arrived(): { readonly spans: readonly GrantedSpan[]; readonly arrived: readonly TicketSpan[] } {
    const waiting = this.#rows.filter((row) => row.ticket !== undefined && !covers(this.report.held, row));
    if (waiting.length === 0) return { spans: this.#spans, arrived: [] };
    const [told, left] = [waiting.slice(0, MOST_TICKETS), waiting.slice(MOST_TICKETS)];
    return {
      spans: this.#spans.filter(({ start }) => !left.some((row) => row.start <= start && start < row.end)),
      arrived: told.flatMap(({ start, end, number, ticket }) =>
        ticket === undefined ? [] : [{ start, end, number, ticket }],
      ),
    };
  }
}

const sameMoves = (one: MoveNews | undefined, other: MoveNews | undefined): boolean =>
  one?.asked === other?.asked &&
  one?.targets === other?.targets &&
  sameItems(one?.moves ?? [], other?.moves ?? [], sameTicket) &&
  sameItems(one?.incoming ?? [], other?.incoming ?? [], sameTicket);

const sameTicket = (a: TicketSpan, b: TicketSpan): boolean => a.ticket === b.ticket;

const sameItems = <T>(a: readonly T[], b: readonly T[], same: (one: T, other: T) => boolean): boolean =>
  a.length === b.length && a.every((item, index) => same(item, b[index] as T));

const sameSpan = (a: NumberedSpan, b: NumberedSpan): boolean =>
  a.start === b.start && a.end === b.end && a.number === b.number;

function cutAtRecalls(row: Row, recalls: readonly NumberedSpan[]): GrantedSpan[] {
  const recalled = clipSpans(recalls, row.start, row.end).filter(({ number }) => number === row.number);
  const spans: GrantedSpan[] = [];
  let at = row.start;
  const add = (end: bigint, isRecalled: boolean): void => {
    if (end > at) {
      spans.push({
        start: at,
        end,
        number: row.number,
        recalled: isRecalled,
        continues: clipSpans(row.continues, at, end),
      });
    }
    at = end;
  };
  for (const { start, end } of recalled) {
    add(start, false);
    add(end, true);
  }
  add(row.end, false);
  return spans;
}
