/**
 * The keys that an owner holds, held, and still has to tell the Manager about: one piece for every stretch
 * of keys, each in one phase.
 *
 *      granted          loaded            recalled           flushed, deadline
 *     ─────────► loading ──────► serving ──────────► revoking ────────────────► released
 *                   │             │  ▲                   │      lease ran out       ▲
 *                   │      lapsed ◄┘  │ the number        └─────────────────────────┤
 *                   │        └────────┘ was continued                               │
 *                   └───────────────── lease ran out ──────────────────────────────┘
 *
 * Keys that move with their state (`../moves/`) go through more phases, on the way out and on the way in:
 *
 *     serving ──► stopping ──► frozen ──► handed ──► (departed)          granted by a ticket ──► arriving ──► serving
 *        ▲            │          │          │                                                      │  ▲
 *        └────────────┴──────────┴──────────┘ the number was continued                             ▼  │ continued
 *          served on under the same number, unless handed                                         lapsed
 *
 * `stopping` and `frozen` are held, but no check passes in `frozen`; they lapse with their memory, like `serving`. `handed` is let go of:
 * permanent for its number, and remembered until the table has another number here. Holdings know of a ticket only which pieces
 * it has; `../moves/outgoing.ts` decides.
 *
 * Two rules make it safe, and everything below serves them:
 *
 *  1. **Letting go is permanent.** A piece that is lapsed or released under number m never serves
 *     under m again, although a late message may say so. It stays in the list, and in every report,
 *     until the Manager's complete set, made after it heard of that, no longer has it; the table
 *     then has another number for these keys, or another owner, and will never go back.
 *  2. **Continuity rests on our own memory.** `since` is the first number of this unbroken
 *     tenure. It survives a change of number only if the Manager says which number the new one
 *     continues *and* that is the number we have and have not released. If we released it, the
 *     memory is gone although the Manager says nothing was lost; so the new number is released as
 *     well, and the Manager records the loss.
 *
 * A piece that an update does not mention keeps its own end: absence means nothing.
 *
 * (Not in the picture: a loading piece can be recalled, and a lapsed piece is released if the owner
 * is leaving. A grant to a leaving owner is released unused, and the application never hears of the grant. What
 * lapses while loading is told as both, lapsed and dropped.)
 */

import type { Span } from '../../../runtime/keys/range.ts';
import type { Instant } from '../../../runtime/time.ts';
import { earliest, latest } from '../../../runtime/time.ts';
import type { GrantedSpan, LetGo, NumberedSpan, TicketSpan } from '../messages.ts';
import { covers } from '../spans.ts';
import { LeaseIndex } from './lease-index.ts';
import type { Phase, Piece } from './piece.ts';
import { eachStretch } from './stretches.ts';
import type { Transitions } from './transitions.ts';

const isHeld = (phase: Phase): boolean => phase !== 'handed' && phase !== 'lapsed' && phase !== 'released';

export class Holdings {
  #pieces: readonly Piece[] = [];
  #index = new LeaseIndex([]);
  #held: readonly NumberedSpan[] = [];
  /** Grows with every change, of an end alone too, so that others can tell whether to look again. */
  version = 0;

  get pieces(): readonly Piece[] {
    return this.#pieces;
  }

  /** Everything held, for a report. */
  get held(): readonly NumberedSpan[] {
    return this.#held;
  }

  /** The index that the checks read. Ask for it each time: other pieces have another one. */
  get index(): LeaseIndex {
    return this.#index;
  }

  /** The earliest instant at which {@link expire} has something to do. */
  nextExpiry(): Instant | undefined {
    let next: Instant | undefined;
    for (const piece of this.#pieces) {
      if (!isHeld(piece.phase)) continue;
      const due = piece.revokeBy === undefined ? piece.until : earliest(piece.until, piece.revokeBy);
      if (next === undefined || due < next) next = due;
    }
    return next;
  }

  /**
   * Brings the held pieces in line with the Manager's complete set.
   *
   * @param lease the lease that the update gives; it may already be over
   * @param acknowledged the latest of our reports that the Manager had heard
   * @returns whether there is something that the Manager should hear of
   */
  reconcile(
    spans: readonly GrantedSpan[],
    lease: Lease,
    acknowledged: number,
    transitions: Transitions,
    imports: Imports = NO_IMPORTS,
  ): boolean {
    this.version += 1; // Ends may move in place.
    if (this.#extendAll(spans, lease.until)) return false;
    const hearing: Hearing = { lease, acknowledged, imports, transitions };
    const next: Piece[] = [];
    let within: GrantedSpan | undefined;
    eachStretch(this.#pieces, spans, (stretch, piece, span) => {
      const result = reconciled(stretch, piece, span, hearing);
      if (result === undefined) return;
      const previous = next.at(-1);
      // Pieces that are one span for the Manager, and alike for us, become one piece.
      if (previous !== undefined && span !== undefined && span === within && continues(previous, result)) {
        next[next.length - 1] = changed(previous, { end: result.end });
      } else next.push(result);
      within = span;
    });
    if (this.#replace(next)) return true;
    this.#index.extend(); // Some may have been renewed all the same.
    return false;
  }

  /** The common case, a mere renewal: the same spans, all held. Only the ends move. */
  #extendAll(spans: readonly GrantedSpan[], until: Instant): boolean {
    const pieces = this.#pieces;
    if (pieces.length !== spans.length) return false;
    for (let index = 0; index < pieces.length; index += 1) {
      const piece = pieces[index];
      const span = spans[index];
      if (piece === undefined || span === undefined) return false;
      if (piece.start !== span.start || piece.end !== span.end || piece.number !== span.number) return false;
      if (!isHeld(piece.phase) || (span.recalled && piece.phase !== 'revoking')) return false;
    }
    for (const piece of pieces) piece.until = latest(piece.until, until);
    this.#index.extend();
    return true;
  }

  /** Lets go of every piece with an expired lease, or an expired time to be given back. */
  expire(now: Instant, transitions: Transitions): boolean {
    const due = this.nextExpiry();
    if (due === undefined || now < due) return false;
    return this.#change((piece) => {
      if (!isHeld(piece.phase)) return piece;
      if (piece.phase === 'revoking') {
        return piece.until <= now || (piece.revokeBy ?? piece.until) <= now
          ? released(piece, transitions)
          : piece;
      }
      return piece.until <= now ? lapsed(piece, transitions) : piece;
    });
  }

  /** The clock cannot be trusted about the recent past: nothing is held any more. */
  lapseAll(transitions: Transitions): boolean {
    return this.#change((piece) => {
      if (!isHeld(piece.phase)) return piece;
      return piece.phase === 'revoking' ? released(piece, transitions) : lapsed(piece, transitions);
    });
  }

  /** The application has loaded these and can serve them. */
  loaded(spans: readonly NumberedSpan[]): boolean {
    return this.#changeWithin(spans, (piece) =>
      piece.phase === 'loading' || piece.phase === 'arriving' ? serving(piece) : piece,
    );
  }

  /** Whether all of a span is held under its number: served, or already on its way out by this ticket. */
  canMove({ ticket, ...span }: TicketSpan): boolean {
    const parts = this.#pieces.filter(
      (piece) => piece.phase === 'serving' || (isHeld(piece.phase) && piece.ticket === ticket),
    );
    return covers(parts, span);
  }

  /** Whether anything of these keys is here under this number, held or not. */
  has({ start, end, number }: NumberedSpan): boolean {
    return this.#pieces.some((piece) => piece.start < end && start < piece.end && piece.number === number);
  }

  /** What is served of this span takes no new guarded work. */
  stop({ ticket, ...span }: TicketSpan): void {
    this.#changeWithin([span], (piece) =>
      piece.phase === 'serving' ? changed(piece, { phase: 'stopping', ticket }) : piece,
    );
  }

  /** `frozen`: no check passes any more. `handed`: the target has everything. */
  goOut(ticket: string, from: 'stopping' | 'frozen', phase: 'frozen' | 'handed'): void {
    this.#change((piece) =>
      piece.phase === from && piece.ticket === ticket ? changed(piece, { phase }) : piece,
    );
  }

  /** The ticket is over: what it has stopped is served on. */
  serveOn(ticket: string): void {
    this.#change((piece) => (isStopped(piece) && piece.ticket === ticket ? serving(piece) : piece));
  }

  /** What could not be stopped in time is let go of. */
  releaseStopped(ticket: string, transitions: Transitions): void {
    this.#change((piece) =>
      isStopped(piece) && piece.ticket === ticket ? released(piece, transitions) : piece,
    );
  }

  /** The tickets of which something is handed. */
  handedTickets(): ReadonlySet<string> {
    const handed = this.#pieces.filter(({ phase }) => phase === 'handed');
    return new Set(handed.flatMap(({ ticket }) => ticket ?? []));
  }

  /** The application has finished with these; they can go. */
  flushed(spans: readonly NumberedSpan[], transitions: Transitions): boolean {
    return this.#changeWithin(spans, (piece) =>
      piece.phase === 'revoking' ? released(piece, transitions) : piece,
    );
  }

  /** Gives everything back but what was handed. */
  revokeAll(revokeBy: Instant, transitions: Transitions): boolean {
    return this.#change((piece) => {
      if (isHeld(piece.phase) && piece.phase !== 'revoking') return revoking(piece, revokeBy, transitions);
      return piece.phase === 'lapsed' ? released(piece, transitions) : piece;
    });
  }

  /** Lets go of everything at once, for good. */
  releaseAll(transitions: Transitions): void {
    this.#change((piece) => (piece.phase === 'released' ? piece : released(piece, transitions)));
  }

  /** Forgets everything, the duties to tell included: the log it came from is no more. */
  clear(transitions: Transitions): void {
    for (const piece of this.#pieces) if (piece.phase !== 'released') transitions.dropped.push(plain(piece));
    this.#replace([]);
  }

  /** The released and lapsed spans that report number `sequence` has to tell. */
  tellLetGo(sequence: number): readonly LetGo[] {
    const letGo: LetGo[] = [];
    for (const piece of this.#pieces) {
      if (isHeld(piece.phase)) continue;
      piece.toldIn ??= sequence;
      if (piece.phase === 'lapsed' || piece.phase === 'released')
        letGo.push({ ...plain(piece), how: piece.phase });
    }
    return letGo;
  }

  #change(change: (piece: Piece) => Piece): boolean {
    return this.#replace(this.#pieces.map(change));
  }

  /** Changes the parts of pieces that lie in `spans`, if the tenure of the piece includes the number of the span. */
  #changeWithin(spans: readonly NumberedSpan[], change: (piece: Piece) => Piece): boolean {
    const next: Piece[] = [];
    eachStretch(this.#pieces, spans, (stretch, piece, span) => {
      if (piece === undefined) return;
      const part = clip(piece, stretch);
      next.push(span && part.since <= span.number && span.number <= part.number ? change(part) : part);
    });
    return this.#replace(next);
  }

  /** True if anything is different now. */
  #replace(pieces: readonly Piece[]): boolean {
    const old = this.#pieces;
    if (pieces.length === old.length && pieces.every((piece, index) => piece === old[index])) return false;
    this.#pieces = pieces;
    this.#index = new LeaseIndex(pieces);
    this.#held = pieces.filter(({ phase }) => isHeld(phase)).map(plain);
    this.version += 1;
    return true;
  }
}

/** The time that an update gives. */
export interface Lease {
  readonly until: Instant;
  readonly now: Instant;
  /** By when recalled pieces must be given back. */
  readonly revokeBy: Instant;
  /** A leaving owner takes nothing new. The Manager did not know of the leave when it granted this. */
  readonly isLeaving: boolean;
}

/** What was brought to this owner, as far as a grant asks. */
export interface Imports {
  /** The ticket by which the keys of a span came. */
  ticketOf(span: GrantedSpan): string | undefined;
  /** Whether all state of these keys has arrived by this ticket. */
  isComplete(ticket: string, keys: Span): boolean;
}

const NO_IMPORTS: Imports = { ticketOf: () => undefined, isComplete: () => false };

/** An update, as far as every stretch of keys has to know it. */
interface Hearing {
  readonly lease: Lease;
  /** The latest of our reports that the Manager had heard. */
  readonly acknowledged: number;
  readonly imports: Imports;
  readonly transitions: Transitions;
}

const isValid = ({ lease }: Hearing): boolean => lease.now < lease.until;

/** The new piece for one stretch of keys, from the piece we have there, if any, and the word of the Manager. */
function reconciled(
  stretch: Span,
  piece: Piece | undefined,
  span: GrantedSpan | undefined,
  hearing: Hearing,
): Piece | undefined {
  if (span === undefined) return piece && unmentioned(clip(piece, stretch), hearing);
  if (piece === undefined) return newcomer(stretch, span, hearing);
  const part = clip(piece, stretch);
  if (span.number < part.number) return part; // An older word than ours.
  if (span.number === part.number) return renewed(part, span, hearing);
  return follows(span, part) ? carriedOn(part, span, hearing) : replaced(part, span, hearing);
}

/** The Manager has heard of the release, and has committed it: then the piece can be forgotten. */
function unmentioned(part: Piece, { acknowledged, transitions }: Hearing): Piece | undefined {
  if (isHeld(part.phase) || part.toldIn === undefined || acknowledged < part.toldIn) return part;
  if (part.phase === 'lapsed') transitions.dropped.push(plain(part));
  if (part.phase === 'handed') transitions.departed.push(plain(part));
  return undefined;
}

/** The number we have: more time, unless we have let go of it. */
function renewed(part: Piece, span: GrantedSpan, hearing: Hearing): Piece {
  if (!isHeld(part.phase)) return part;
  if (isValid(hearing)) part.until = latest(part.until, hearing.lease.until);
  return recalledOrNot(part, span, hearing);
}

/** Whether the span's number continues the one we have here, which may have been several rows. */
const follows = ({ continues: line }: GrantedSpan, part: Piece): boolean =>
  covers(
    line.filter(({ number }) => number === part.number),
    part,
  );

/** Another number, and no other owner can have held the keys: remembered state stays valid. */
function carriedOn(part: Piece, span: GrantedSpan, hearing: Hearing): Piece {
  if (part.phase === 'released') return letGoUnused(part, span, hearing);
  if (!isValid(hearing)) return part;
  const { until } = hearing.lease;
  const next = changed(part, { number: span.number, until, toldIn: undefined });
  return recalledOrNot(goneOn(part.phase, next, hearing), span, hearing);
}

/** What was on its way out stays; what lapsed before it was served has yet to be. */
function goneOn(phase: Phase, next: Piece, { transitions }: Hearing): Piece {
  if (phase === 'lapsed' && next.ticket !== undefined) {
    transitions.arriving.push(plain(next));
    return changed(next, { phase: 'arriving' });
  }
  if (phase === 'lapsed') transitions.resumed.push(plain(next));
  else if (phase === 'handed') transitions.returned.push(plain(next));
  else if (!isStopped(next)) return next;
  return serving(next);
}

/** Another number, and other owners may have held the keys: remembered state is worth nothing. */
function replaced(part: Piece, span: GrantedSpan, hearing: Hearing): Piece | undefined {
  if (!isValid(hearing) && isHeld(part.phase)) return part;
  if (part.phase === 'handed') hearing.transitions.departed.push(plain(part));
  else if (part.phase !== 'released') hearing.transitions.dropped.push(plain(part));
  return newcomer(part, span, hearing);
}

/** Keys of which we have no valid memory. */
function newcomer({ start, end }: Span, span: GrantedSpan, hearing: Hearing): Piece | undefined {
  const claimsMemory = span.continues.some((line) => line.start < end && start < line.end);
  if (span.recalled || claimsMemory || hearing.lease.isLeaving)
    return letGoUnused({ start, end }, span, hearing);
  if (!isValid(hearing)) return undefined;
  const { number } = span;
  const { until } = hearing.lease;
  const { imports, transitions } = hearing;
  const ticket = imports.ticketOf(span);
  if (ticket !== undefined && !imports.isComplete(ticket, { start, end }))
    return letGoUnused({ start, end }, span, hearing);
  if (ticket === undefined) transitions.granted.push({ start, end, number });
  else {
    transitions.taken.push({ start, end, number, ticket });
    transitions.arriving.push({ start, end, number });
  }
  return {
    start,
    end,
    number,
    since: number,
    phase: ticket === undefined ? 'loading' : 'arriving',
    until,
    revokeBy: undefined,
    toldIn: undefined,
    ticket,
  };
}

/** An owner that leaves serves nothing again that is given back to it. */
const recalledOrNot = (piece: Piece, { recalled }: GrantedSpan, { lease, transitions }: Hearing): Piece =>
  (recalled || lease.isLeaving) && isHeld(piece.phase) && piece.phase !== 'revoking'
    ? revoking(piece, lease.revokeBy, transitions)
    : piece;

/** A number that was never used and never will be. */
const letGoUnused = ({ start, end }: Span, { number }: GrantedSpan, { lease }: Hearing): Piece => ({
  start,
  end,
  number,
  since: number,
  phase: 'released',
  until: lease.now,
  revokeBy: undefined,
  toldIn: undefined,
  ticket: undefined,
});

/** A piece that was still loading has no remembered state, and so has nothing to come back to. */
function lapsed(piece: Piece, transitions: Transitions): Piece {
  transitions.lapsed.push(plain(piece));
  if (piece.phase === 'loading') return released(piece, transitions);
  const ticket = piece.phase === 'arriving' ? piece.ticket : undefined;
  return changed(piece, { phase: 'lapsed', ticket });
}

const isStopped = ({ phase }: Piece): boolean => phase === 'stopping' || phase === 'frozen';

const serving = (piece: Piece): Piece => changed(piece, { phase: 'serving', ticket: undefined });

function revoking(piece: Piece, revokeBy: Instant, transitions: Transitions): Piece {
  transitions.revoking.push(plain(piece));
  return changed(piece, { phase: 'revoking', revokeBy, ticket: undefined });
}

function released(piece: Piece, transitions: Transitions): Piece {
  transitions.dropped.push(plain(piece));
  return changed(piece, { phase: 'released', toldIn: undefined, ticket: undefined });
}

/** The same piece but for this. All are made of one literal: pieces of one shape are read quicker than of several. */
function changed(piece: Piece, change: Partial<Piece>): Piece {
  return {
    start: change.start ?? piece.start,
    end: change.end ?? piece.end,
    number: change.number ?? piece.number,
    since: piece.since,
    phase: change.phase ?? piece.phase,
    until: change.until ?? piece.until,
    revokeBy: change.revokeBy ?? piece.revokeBy,
    toldIn: 'toldIn' in change ? change.toldIn : piece.toldIn,
    ticket: 'ticket' in change ? change.ticket : piece.ticket,
  };
}

const plain = ({ start, end, number }: NumberedSpan): NumberedSpan => ({ start, end, number });

const clip = (piece: Piece, { start, end }: Span): Piece =>
  piece.start === start && piece.end === end ? piece : changed(piece, { start, end });

/** The next piece, differing in nothing but its place. */
const continues = (a: Piece, b: Piece): boolean =>
  a.end === b.start &&
  a.number === b.number &&
  a.since === b.since &&
  a.phase === b.phase &&
  a.until === b.until &&
  a.revokeBy === b.revokeBy &&
  a.toldIn === b.toldIn &&
  a.ticket === b.ticket;
