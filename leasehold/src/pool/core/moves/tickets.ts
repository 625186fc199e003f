/**
 * The tickets of one pool, as its leader knows them.
 *
 * **Tickets are volatile.** A failover forgets them, and needs none of them: owners say theirs in every report, and a new leader takes over a
 * ticket that an owner names if the table still has the keys as the ticket says. A ticket that this leader does not take over, or withdraws, is *void*
 * for it: the target may drop the import from then on, so this leader never commits the move, whatever else it hears.
 *
 *     issued ──► named to the target ──► named by the target ──► named to the source ──► both say `handed` ──► committed
 *        └──────────────── withdrawn: void ────────────────────────────────┘
 *
 * The target is told first: so a target refuses a stream that no Manager named, and a source begins only what the target expects.
 * The target is told until the *committed* table shows another number, also while the move is being written: until then
 * it must keep the import. A source that heard of a ticket and names it nowhere has abandoned it for ever.
 *
 * No safety rests on which tickets are issued, nor on limits and pauses here. It rests on words and void tickets alone (`hand-overs.ts`).
 */

import { type Instant, later, soonest } from '../../../runtime/time.ts';
import type { Session } from '../manager/session.ts';
import type { Expected, Handed, MoveOrder, Moving, Receiving, Report, TicketSpan } from '../messages.ts';
import { covers, partsWithin } from '../spans.ts';
import { intentOf, isToBeEmpty } from '../manager/intent.ts';
import { latestByName } from '../manager/namesakes.ts';
import type { PoolTable } from '../table.ts';
import type { HandedWord } from './hand-overs.ts';
import { MOST_TICKETS } from './limits.ts';
import { Setbacks } from './setbacks.ts';

/** Keys that belong elsewhere. */
export interface WantedMove extends Omit<TicketSpan, 'ticket'> {
  readonly from: string;
  readonly to: string;
}

interface Ticket extends TicketSpan {
  readonly from: string;
  readonly fromName: string;
  readonly to: string;
  readonly toName: string;
  /** The owner that the policy wants, which is not the target if the last attempt with that owner came to nothing. */
  readonly wantedTo: string;
  readonly since: Instant;
  /** The first update of this term that named it to the source; 0: none. A source that named it by itself knows of it. */
  instructed: number;
}

interface Sent {
  /** By tickets that are over. */
  readonly over: number;
  readonly underway: ReadonlyMap<string, number>;
}

/** Its target has yet to say that it expects the keys, its source sends, or both have done all they can and a commit follows. */
export type MovePhase = 'waiting' | 'streaming' | 'handed';

/** A move under way, for an operator. */
export interface ObservedMove extends TicketSpan {
  readonly from: string;
  readonly fromName: string;
  readonly to: string;
  readonly toName: string;
  readonly phase: MovePhase;
  /** Sent so far. */
  readonly bytes: number;
}

/** The last words of a source, which outlive its session. */
interface Words {
  readonly handed: readonly Handed[];
  readonly isLeaving: boolean;
}

/**
 * What became of a ticket: the keys moved, the source had handed them over and was given them back, or the ticket was declared void before.
 */
export type MoveEnd = 'moved' | 'returned' | 'void';

export interface TicketTerms {
  readonly term: number;
  ended(how: MoveEnd): void;
  /** A ticket id that is unlike any other. */
  nextId(): string;
  sessions(): ReadonlyMap<string, Session>;
  /** The sequence of the last update that was sent. */
  lastSent(): number;
  readonly renewEveryMs: () => number;
}

/** Moves that one owner takes part in at a time, out and in. */
const MOST_AT_ONCE = 2;
/**
 * The same of an owner that is to have no keys, and of the owners that take them. Two of its moves are sent at a time; the others wait for the end of guarded work, and
 * one after another they would wait longer than a drain can take.
 */
const MOST_OF_A_DRAIN = 16;
/** A target that has not named a ticket within so many renewals will not. */
const RENEWALS_TO_NAME = 4;

export class Tickets {
  readonly #terms: TicketTerms;
  readonly #live = new Map<string, Ticket>();
  readonly #void = new Map<string, Omit<TicketSpan, 'ticket'> & { readonly from: string }>();
  readonly #words = new Map<string, Words>();
  readonly #heard = new Map<string, { readonly at: Instant; readonly after: number }>();
  /** What each source has sent in this term, for those who watch. */
  readonly #sent = new Map<string, Sent>();
  readonly #setbacks = new Setbacks();
  /** When to look again at keys that could not be moved yet, if nothing is heard before. */
  #retryAt: Instant | undefined;

  constructor(terms: TicketTerms) {
    this.#terms = terms;
  }

  /** There are keys that belong elsewhere, and that could not be moved yet. */
  get isWaiting(): boolean {
    return this.#retryAt !== undefined;
  }

  /** The rows as they will be when the tickets under way are through. */
  get underway(): readonly (TicketSpan & { readonly to: string })[] {
    return [...this.#live.values()].sort((one, other) => (one.start < other.start ? -1 : 1));
  }

  /** Whether something of these keys is under way: they are neither merged nor asked back. */
  isBusy({ start, end, number }: Omit<TicketSpan, 'ticket'>): boolean {
    for (const one of this.#live.values())
      if (one.number === number && one.start < end && start < one.end) return true;
    for (const { handed } of this.#words.values())
      if (handed.some((one) => one.number === number && one.start < end && start < one.end)) return true;
    return false;
  }

  *words(): Generator<HandedWord> {
    for (const [from, { handed, isLeaving: isSourceLeaving }] of this.#words)
      for (const word of handed) {
        const heard = this.#heard.get(word.ticket);
        if (heard === undefined) continue;
        const isVoid = this.#void.has(word.ticket);
        yield { word, from, isSourceLeaving, heardAt: heard.at, heardAfter: heard.after, isVoid };
      }
  }

  /** A report of a member; returns the owners that are to be told something else now. */
  hear(session: Session, table: PoolTable, now: Instant): ReadonlySet<string> {
    const { report, identity } = session;
    const { incarnation } = identity;
    const { moving = [], receiving = [], handed = [], leaving } = report;
    const told = new Set<string>();
    this.#words.set(incarnation, { handed, isLeaving: leaving });
    this.#noteSent(incarnation, [...moving, ...handed]);
    for (const { ticket } of handed)
      if (!this.#heard.has(ticket)) this.#heard.set(ticket, { at: now, after: this.#terms.lastSent() });
    for (const one of moving) this.#takeOver({ ...one, from: incarnation }, table, now, 1);
    for (const one of receiving) this.#takeOverFromTarget({ ...one, to: incarnation }, table, now);
    for (const ticket of [...this.#live.values()]) {
      if (ticket.from === incarnation && this.#hasAbandoned(session, ticket)) {
        this.#withdraw(ticket);
        this.#setbacks.note(ticket, now);
        told.add(ticket.to);
      }
      if (ticket.to === incarnation && ticket.instructed === 0 && this.#isNamed(ticket))
        told.add(ticket.from);
    }
    return told;
  }

  #noteSent(incarnation: string, tickets: readonly (Moving | Handed)[]): void {
    const known = this.#sent.get(incarnation) ?? { over: 0, underway: new Map<string, number>() };
    const underway = new Map(tickets.map(({ ticket, bytes }) => [ticket, bytes]));
    let { over } = known;
    for (const [ticket, bytes] of known.underway) if (!underway.has(ticket)) over += bytes;
    if (tickets.length > 0 || over > 0) this.#sent.set(incarnation, { over, underway });
  }

  /** The tickets under way, and how much this owner has sent in this term. */
  observe(): readonly ObservedMove[] {
    return [...this.#live.values()].map((live) => {
      const { ticket, start, end, number, from, fromName, to, toName } = live;
      const isSending = this.#terms
        .sessions()
        .get(from)
        ?.report.moving?.some((one) => one.ticket === ticket);
      return {
        ...{ ticket, start, end, number, from, fromName, to, toName },
        phase: this.#isHanded(live) ? 'handed' : isSending === true ? 'streaming' : 'waiting',
        bytes: this.#sent.get(from)?.underway.get(ticket) ?? 0,
      };
    });
  }

  sentBy(incarnation: string): number {
    const sent = this.#sent.get(incarnation);
    return sent === undefined ? 0 : [...sent.underway.values()].reduce((sum, one) => sum + one, sent.over);
  }

  #takeOver(
    one: TicketSpan & { readonly from: string; readonly to: string },
    table: PoolTable,
    now: Instant,
    instructed: number,
  ): void {
    const { ticket, start, end, number, from, to } = one;
    const known = this.#live.get(ticket);
    if (known !== undefined && known.instructed === 0) known.instructed = instructed;
    if (known !== undefined || this.#void.has(ticket)) return;
    const isFree = ![...this.#live.values()].some((other) => other.start < end && start < other.end);
    const names = namesOf(from, to, table);
    if (isFree && covers(table.rowsOf(from), one) && names !== undefined) {
      const owners = { from, to, ...names, wantedTo: to };
      this.#live.set(ticket, { ticket, start, end, number, ...owners, since: now, instructed });
    } else this.#declareVoid(ticket, { start, end, number, from });
  }

  /** Not against the word of a source that has heard this term and does not name the ticket. */
  #takeOverFromTarget(one: Receiving & { readonly to: string }, table: PoolTable, now: Instant): void {
    const source = this.#terms.sessions().get(one.from)?.report;
    const isDenied = source?.heard?.term === this.#terms.term && !names(source, one.ticket);
    if (!isDenied) this.#takeOver(one, table, now, 0);
    else if (!this.#live.has(one.ticket)) this.#declareVoid(one.ticket, one);
  }

  #hasAbandoned(session: Session, { ticket, instructed }: Ticket): boolean {
    return session.hasHeard(this.#terms.term, instructed) && !names(session.report, ticket);
  }

  #isNamed({ ticket, to }: Ticket): boolean {
    return (
      this.#terms
        .sessions()
        .get(to)
        ?.report.receiving?.some((one) => one.ticket === ticket) === true
    );
  }

  #isHanded({ ticket, from }: Ticket): boolean {
    return this.#words.get(from)?.handed.some((one) => one.ticket === ticket) === true;
  }

  #withdraw(ticket: Ticket): void {
    const { start, end, number, from } = ticket;
    this.#live.delete(ticket.ticket);
    this.#declareVoid(ticket.ticket, { start, end, number, from });
  }

  #declareVoid(ticket: string, span: Omit<TicketSpan, 'ticket'> & { readonly from: string }): void {
    if (!this.#void.has(ticket)) this.#terms.ended('void');
    this.#void.set(ticket, span);
  }

  /** After a decision: ends tickets that make no sense any more, and issues others. `undefined` if the decision did not get so far. */
  plan(wanted: readonly WantedMove[] | undefined, table: PoolTable, now: Instant): void {
    if (wanted === undefined || !table.hasMoves) return;
    const open = this.#openTargets(table);
    for (const ticket of [...this.#live.values()]) {
      // Decided by the words; and a source that this leader has not heard yet may have said its word.
      const source = this.#terms.sessions().get(ticket.from);
      if (this.#isHanded(ticket) || source === undefined || !this.#isHeard(source)) continue;
      const isWanted = wanted.some(
        ({ from, to, start, end }) =>
          from === ticket.from &&
          (to === ticket.to || to === ticket.wantedTo) &&
          start <= ticket.start &&
          ticket.end <= end,
      );
      const isIgnored = ticket.instructed === 0 && now >= this.#namedBy(ticket) && !this.#isNamed(ticket);
      if (isIgnored) this.#setbacks.note(ticket, now);
      if (!isWanted || isIgnored || !this.#canTake(ticket.from, ticket.to, open)) this.#withdraw(ticket);
    }
    for (const one of wanted) this.#issue(one, table, open, now);
    const isWaiting = wanted.some((one) => !this.isBusy(one));
    this.#retryAt = isWaiting ? later(now, this.#terms.renewEveryMs()) : undefined;
  }

  /** A candidate has become a member. As one it was told of no ticket, so it may have dropped what it was brought before. */
  admitted(incarnation: string): void {
    for (const one of this.#terms.sessions().get(incarnation)?.report.receiving ?? [])
      this.#declareVoid(one.ticket, one);
  }

  #issue(one: WantedMove, table: PoolTable, open: ReadonlySet<string>, now: Instant): void {
    const { from, start, end, number } = one;
    const source = this.#terms.sessions().get(from);
    if (source === undefined || !this.#isHeard(source) || !covers(table.rowsOf(from), one)) return;
    if (now >= later(source.receivedAt, 2 * this.#terms.renewEveryMs())) return;
    if (this.isBusy(one) || this.#setbacks.pauses(one, now)) return;
    if (this.#count(({ from: its }) => its === from) >= this.#mostAtOnce(from, table)) return;
    const to = this.#targetFor(one, table, open, now);
    const names = to === undefined ? undefined : namesOf(from, to, table);
    if (to === undefined || names === undefined) return;
    const ticket = this.#terms.nextId();
    const owners = { from, to, ...names, wantedTo: one.to };
    this.#live.set(ticket, { ticket, start, end, number, ...owners, since: now, instructed: 0 });
  }

  /**
   * The wanted target. Keys of an owner that is to have none go to another one, if the last attempt with it failed; keys that need not move
   * stay, because elsewhere they would help nobody.
   */
  #targetFor(
    { from, to, start }: WantedMove,
    table: PoolTable,
    open: ReadonlySet<string>,
    now: Instant,
  ): string | undefined {
    const failed = this.#setbacks.lastTarget({ from, start }, now);
    const isFit = (each: string): boolean => each !== from && this.#canTake(from, each, open);
    const mustMove = this.#mustMove(from, table);
    const most = this.#mostAtOnce(from, table);
    const others = mustMove && (to === failed || !isFit(to)) ? [...open].filter((each) => each !== to) : [];
    return [...others, to].find((each) => isFit(each) && this.#hasRoom(each, most, table));
  }

  #mustMove(from: string, table: PoolTable): boolean {
    return isToBeEmpty(table.members.get(from), this.#terms.sessions().get(from)?.report);
  }

  #mostAtOnce(from: string, table: PoolTable): number {
    return this.#mustMove(from, table) ? MOST_OF_A_DRAIN : MOST_AT_ONCE;
  }

  #hasRoom(to: string, most: number, table: PoolTable): boolean {
    const held = this.#terms.sessions().get(to)?.report.held ?? [];
    const unconfirmed = table.rowsOf(to).filter((row) => row.ticket !== undefined && !covers(held, row));
    return this.#count((ticket) => ticket.to === to) + unconfirmed.length < most;
  }

  #count(isCounted: (ticket: Ticket) => boolean): number {
    return [...this.#live.values()].filter(isCounted).length;
  }

  #isHeard({ report }: Session): boolean {
    return report.heard?.term === this.#terms.term;
  }

  /** Members that this leader hears, and that take keys: of two with one name the later. */
  #openTargets({ members }: PoolTable): ReadonlySet<string> {
    const latest = latestByName(members);
    const open = new Set<string>();
    for (const member of latest.values()) {
      const { incarnation } = member;
      const session = this.#terms.sessions().get(incarnation);
      if (session === undefined || !this.#isHeard(session)) continue;
      if (!session.report.leaving && intentOf(member, session.report) === 'stay') open.add(incarnation);
    }
    return open;
  }

  /** Whether this owner takes keys, and has all state that the source has, in a form that it reads. */
  #canTake(from: string, to: string, open: ReadonlySet<string>): boolean {
    const [source, target] = [from, to].map((each) => this.#terms.sessions().get(each)?.report);
    return open.has(to) && source !== undefined && target !== undefined && canTake(source, target);
  }

  /** Tells whether keys of one owner can be brought to another with all their state. */
  takers(table: PoolTable): (from: string, to: string) => boolean {
    const open = this.#openTargets(table);
    return (from, to) => this.#canTake(from, to, open);
  }

  /** How many owners could take the keys of this one. */
  targets(incarnation: string, table: PoolTable): number {
    const open = this.#openTargets(table);
    return [...open].filter((each) => each !== incarnation && this.#canTake(incarnation, each, open)).length;
  }

  /** What an update says to an owner about moves, as the committed table has them. */
  newsFor(
    session: Session,
    table: PoolTable,
  ): { moves: readonly MoveOrder[]; incoming: readonly Expected[] } {
    const { incarnation } = session.identity;
    const moves: MoveOrder[] = [];
    const incoming: Expected[] = [];
    for (const live of this.#live.values()) {
      const { ticket, start, end, number, from, fromName, to, toName, instructed } = live;
      if (!covers(table.rowsOf(from), live)) continue;
      if (to === incarnation) incoming.push({ ticket, start, end, number, from, fromName });
      if (from !== incarnation || (instructed === 0 && !this.#isNamed(live))) continue;
      const address = this.#terms.sessions().get(to)?.report.transfer?.address ?? UNHEARD;
      moves.push({ ticket, start, end, number, to, toName, address });
    }
    return { moves: moves.slice(0, MOST_TICKETS), incoming: incoming.slice(0, MOST_TICKETS) };
  }

  /** An update with these orders was sent. */
  instructed(orders: readonly MoveOrder[], sequence: number): void {
    for (const { ticket } of orders) {
      const live = this.#live.get(ticket);
      if (live !== undefined && live.instructed === 0) live.instructed = sequence;
    }
  }

  /** Something was committed: forgets what it has decided. */
  committed(table: PoolTable, now: Instant): void {
    for (const [ticket, live] of this.#live) {
      if (covers(table.rowsOf(live.from), live)) continue;
      this.#live.delete(ticket);
      const hasMoved = table.rowsOf(live.to).some((row) => row.ticket === ticket);
      const isBack = table.rowsOf(live.from).some((row) => row.start < live.end && live.start < row.end);
      if (hasMoved) this.#terms.ended('moved');
      else if (isBack) {
        this.#terms.ended(this.#isHanded(live) ? 'returned' : 'void'); // Given back, or merged meanwhile.
        this.#setbacks.note(live, now);
      } else this.#terms.ended('void');
    }
    for (const [ticket, span] of this.#void)
      if (partsWithin([span], table.rowsOf(span.from)).length === 0) this.#void.delete(ticket);
    for (const known of [this.#words, this.#sent])
      for (const incarnation of known.keys()) if (!table.members.has(incarnation)) known.delete(incarnation);
    const said = new Set(
      [...this.#words.values()].flatMap(({ handed }) => handed.map(({ ticket }) => ticket)),
    );
    for (const ticket of this.#heard.keys()) if (!said.has(ticket)) this.#heard.delete(ticket);
    this.#setbacks.keep(({ from, start }) =>
      table.rowsOf(from).some((row) => row.start <= start && start < row.end),
    );
  }

  #namedBy({ since }: Ticket): Instant {
    return later(since, RENEWALS_TO_NAME * this.#terms.renewEveryMs());
  }

  /** When to decide again although nothing was heard. */
  dueAt(now: Instant): Instant | undefined {
    let due = soonest(this.#setbacks.nextAfter(now), this.#retryAt);
    for (const ticket of this.#live.values())
      if (ticket.instructed === 0 && this.#namedBy(ticket) > now) due = soonest(due, this.#namedBy(ticket));
    return due;
  }
}

/** A source that named a ticket by itself has the address already, and this leader may not have heard the target yet. */
const UNHEARD = 'unheard';

/** Undefined if one of them is no member. */
function namesOf(
  from: string,
  to: string,
  { members }: PoolTable,
): Pick<Ticket, 'fromName' | 'toName'> | undefined {
  const [fromName, toName] = [members.get(from)?.name, members.get(to)?.name];
  return fromName === undefined || toName === undefined ? undefined : { fromName, toName };
}

type Named = Pick<Report, 'moving' | 'handed'>;

const names = ({ moving = [], handed = [] }: Named, ticket: string): boolean =>
  moving.some((one) => one.ticket === ticket) || handed.some((one) => one.ticket === ticket);

function canTake({ transfer: source }: Report, { transfer: target }: Report): boolean {
  if (source === undefined || target === undefined) return false;
  return source.names.every(({ name, version }) =>
    target.names.some(
      (other) => other.name === name && (other.version === version || other.reads.includes(version)),
    ),
  );
}
