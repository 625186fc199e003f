/**
 * What the leader knows of one owner beyond what is committed: volatile, and gone with the leader.
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { GrantedSpan, NumberedSpan, OwnerAddress, Report } from '../messages.ts';
import type { ResolvedDurations } from '../options.ts';
import { clipSpans } from '../spans.ts';
import type { Row } from '../table.ts';

export class Session {
  readonly pool: string;
  readonly identity: OwnerAddress & { readonly proof: string | undefined };
  address: string;
  /** The latest report, and when it came: the hold is counted from here. */
  report: Report;
  receivedAt: Instant;
  /** When it last proved that it hears us, by a report that had heard more than the one before. */
  provenAt: Instant;
  /** As a candidate: the update that it has to confirm next, and when that was sent. */
  asked: { readonly sequence: number; readonly at: Instant } | undefined;
  /** As a candidate: it lived after this instant, because it has confirmed an update that was sent then. */
  aliveAt: Instant | undefined;
  /** As a candidate: a member has its name. It goes on confirming, so that the batch that removes the member can admit it. */
  waitsForName = false;
  /** It withdrew while its join was being written: no update ever gave it a lease, and none will. */
  hasWithdrawn = false;
  /** The sequence of the last update sent to it; 0: none. */
  sent = 0;
  sentAt: Instant | undefined;
  /** The last report that an update to it as a member acknowledged; 0: none. */
  acknowledged = 0;
  /** The durations in force when it was: those of the lease that rests on it. */
  given: ResolvedDurations | undefined;
  /** The last update that said something new, as long as the owner has not confirmed to have heard it. */
  unheard: number | undefined;
  /** It was told that it is a member. */
  welcomed = false;
  /** There is something new that was not sent yet. */
  behind = false;
  #rows: readonly Row[] = [];
  #recalls: readonly NumberedSpan[] = [];
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

  /** Whether it has heard an update of this session, sent as number `sequence` or later. */
  hasHeard(term: number, sequence: number): boolean {
    const { heard } = this.report;
    return sequence > 0 && heard?.term === term && heard.sequence >= sequence;
  }

  /** Whether the owner has confirmed nothing that it was sent for this long. */
  isUnconfirmed(holdMs: number, now: Instant): boolean {
    return later(this.provenAt, holdMs) <= now;
  }

  /** There is something new to say, and nothing unheard on its way. */
  get isDue(): boolean {
    return this.behind && this.unheard === undefined;
  }

  /**
   * Takes note of a report. One that was overtaken can be left aside, also what it says was let go
   * of: the later one says it again, unless the table already shows it. True if the owner holds
   * something else than before.
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

  /** The latest report is answered: a lease of these durations rests on it. */
  acknowledge(durations: ResolvedDurations): void {
    this.acknowledged = this.report.sequence;
    this.given = durations;
  }

  /** All that this owner has, as an update says it. */
  get spans(): readonly GrantedSpan[] {
    return this.#spans;
  }

  /** Brings {@link spans} up to date; true if that changed them. */
  compose(rows: readonly Row[], recalls: readonly NumberedSpan[]): boolean {
    const same =
      sameItems(rows, this.#rows, (a, b) => a === b) && sameItems(recalls, this.#recalls, sameSpan);
    if (same) return false;
    this.#rows = rows;
    this.#recalls = recalls;
    this.#spans = rows.flatMap((row) => cutAtRecalls(row, recalls));
    return true;
  }
}

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
