/**
 * What an owner holds, held, and still has to tell the Manager about: one piece for every stretch
 * of keys, each in one phase.
 *
 *      granted          loaded            recalled           flushed, deadline
 *     ─────────► loading ──────► serving ──────────► revoking ────────────────► released
 *                   │             │  ▲                   │      lease ran out       ▲
 *                   │      lapsed ◄┘  │ the number        └─────────────────────────┤
 *                   │        └────────┘ was continued                               │
 *                   └───────────────── lease ran out ──────────────────────────────┘
 *
 * Two rules make it safe, and everything below serves them:
 *
 *  1. **Letting go is permanent.** A piece that is lapsed or released under number m never serves
 *     under m again, whatever message still says so. It stays in the list, and in every report,
 *     until the Manager's complete set, made after it heard of that, no longer has it; the table
 *     then has another number for these keys, or another owner, and will never go back.
 *  2. **Continuity is what we remember ourselves.** `since` is the first number of this unbroken
 *     tenure. It survives a change of number only if the Manager says which number the new one
 *     continues *and* that is the number we have and have not released. If we released it, the
 *     memory is gone although the Manager says nothing was lost; so the new number is released as
 *     well, and the Manager records the loss.
 *
 * A piece that an update does not mention keeps its own end: absence means nothing.
 */

import type { Span } from '../../runtime/keys/range.ts';
import { RingTable } from '../../runtime/keys/ring-table.ts';
import type { Instant } from '../../runtime/time.ts';
import { earliest, latest } from '../../runtime/time.ts';
import type { GrantedSpan, LetGo, NumberedSpan } from '../messages.ts';

export type Phase = 'loading' | 'serving' | 'revoking' | 'lapsed' | 'released';

/** `until` and `revokeBy` change in place; a change of anything else makes a new piece. */
export interface Piece extends NumberedSpan {
  /** The first number of the unbroken tenure that `number` ends. */
  readonly since: number;
  readonly phase: Phase;
  /** The end of the lease; of no meaning once let go of. */
  until: Instant;
  /** When revoking must be over. */
  revokeBy: Instant | undefined;
  /** The first report that said it was let go of. */
  toldIn: number | undefined;
}

/** What the application has to hear about its keys. */
export interface Transitions {
  /** New to us: load, then serve. */
  readonly granted: NumberedSpan[];
  /** Stop new work, finish what is under way, then let go. */
  readonly revoking: NumberedSpan[];
  /** Not served for now, but remember. */
  readonly lapsed: NumberedSpan[];
  /** Lapsed, and now served again: what was remembered is valid. */
  readonly resumed: NumberedSpan[];
  /** Forget. */
  readonly dropped: NumberedSpan[];
}

const isHeld = (phase: Phase): boolean => phase === 'loading' || phase === 'serving' || phase === 'revoking';

export const noTransitions = (): Transitions => ({
  granted: [],
  revoking: [],
  lapsed: [],
  resumed: [],
  dropped: [],
});

export class Holdings {
  #pieces: readonly Piece[] = [];
  #table: RingTable<Piece | undefined> = RingTable.whole<Piece | undefined>(undefined);
  #held: readonly NumberedSpan[] = [];
  /** Grows with every change, so that others can tell whether to look again. */
  version = 0;

  get pieces(): readonly Piece[] {
    return this.#pieces;
  }

  /** Everything held, for a report. */
  get held(): readonly NumberedSpan[] {
    return this.#held;
  }

  find(high: number, low: number): Piece | undefined {
    return this.#table.find(high, low);
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
   * Brings what is held in line with the Manager's complete set.
   *
   * @param until the end of the lease that the update gives; it may already be over
   * @param acknowledged the latest of our reports that the Manager had heard
   */
  reconcile(
    spans: readonly GrantedSpan[],
    lease: { readonly until: Instant; readonly now: Instant; readonly revokeBy: Instant },
    acknowledged: number,
    transitions: Transitions,
  ): boolean {
    if (this.#extendAll(spans, lease.until)) return false;
    const next: Piece[] = [];
    let within: GrantedSpan | undefined;
    eachStretch(this.#pieces, spans, (stretch, piece, span) => {
      const result = reconciled(stretch, piece, span, lease, acknowledged, transitions);
      if (result === undefined) return;
      const previous = next.at(-1);
      // What is one span for the Manager, and alike for us, is one piece.
      if (previous !== undefined && span !== undefined && span === within && continues(previous, result)) {
        next[next.length - 1] = { ...previous, end: result.end };
      } else next.push(result);
      within = span;
    });
    return this.#replace(next);
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
    this.version += 1;
    return true;
  }

  /** Lets go of everything whose lease, or whose time to be given back, has run out. */
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
      piece.phase === 'loading' ? { ...piece, phase: 'serving' } : piece,
    );
  }

  /** The application has finished with these; they can go. */
  flushed(spans: readonly NumberedSpan[], transitions: Transitions): boolean {
    return this.#changeWithin(spans, (piece) =>
      piece.phase === 'revoking' ? released(piece, transitions) : piece,
    );
  }

  /** Gives everything back. */
  revokeAll(revokeBy: Instant, transitions: Transitions): boolean {
    return this.#change((piece) => {
      if (piece.phase === 'loading' || piece.phase === 'serving')
        return revoking(piece, revokeBy, transitions);
      return piece.phase === 'lapsed' ? released(piece, transitions) : piece;
    });
  }

  /** Forgets everything, the duties to tell included: the log it came from is no more. */
  clear(transitions: Transitions): void {
    for (const piece of this.#pieces) if (piece.phase !== 'released') transitions.dropped.push(plain(piece));
    this.#replace([]);
  }

  /** What report number `sequence` has to say of everything let go of. */
  tellLetGo(sequence: number): readonly LetGo[] {
    const letGo: LetGo[] = [];
    for (const piece of this.#pieces) {
      if (piece.phase !== 'lapsed' && piece.phase !== 'released') continue;
      piece.toldIn ??= sequence;
      letGo.push({ ...plain(piece), how: piece.phase });
    }
    return letGo;
  }

  #change(change: (piece: Piece) => Piece): boolean {
    return this.#replace(this.#pieces.map(change));
  }

  /** Changes the parts of pieces that lie in `spans` and whose tenure includes their number. */
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
    this.#table = tableOf(pieces);
    this.#held = pieces.filter(({ phase }) => isHeld(phase)).map(plain);
    this.version += 1;
    return true;
  }
}

/** What becomes of one stretch of keys: the piece we have there, if any, and what the Manager says. */
function reconciled(
  stretch: Span,
  piece: Piece | undefined,
  span: GrantedSpan | undefined,
  lease: { readonly until: Instant; readonly now: Instant; readonly revokeBy: Instant },
  acknowledged: number,
  transitions: Transitions,
): Piece | undefined {
  if (span === undefined) {
    if (piece === undefined) return undefined;
    const part = clip(piece, stretch);
    if (isHeld(part.phase) || part.toldIn === undefined || acknowledged < part.toldIn) return part;
    // The Manager has heard, and what it heard is committed: nobody will mention this number again.
    if (part.phase === 'lapsed') transitions.dropped.push(plain(part));
    return undefined;
  }
  const valid = lease.now < lease.until;
  if (piece === undefined) return newcomer(stretch, span, valid, lease, transitions);

  const part = clip(piece, stretch);
  if (part.number === span.number) {
    if (!isHeld(part.phase)) return part;
    if (valid) part.until = latest(part.until, lease.until);
    return span.recalled && part.phase !== 'revoking' ? revoking(part, lease.revokeBy, transitions) : part;
  }
  if (part.number > span.number) return part;

  const continued = span.continues.some(
    ({ start, end, number }) => start <= stretch.start && stretch.end <= end && number === part.number,
  );
  if (!continued) {
    if (!valid && isHeld(part.phase)) return part;
    if (part.phase !== 'released') transitions.dropped.push(plain(part));
    return newcomer(stretch, span, valid, lease, transitions);
  }
  if (part.phase === 'released') return letGoUnused(stretch, span, lease.now);
  if (!valid) return part;
  const renumbered: Piece = { ...part, number: span.number, until: lease.until, toldIn: undefined };
  if (part.phase === 'lapsed') {
    transitions.resumed.push(plain(renumbered));
    const serving: Piece = { ...renumbered, phase: 'serving' };
    return span.recalled ? revoking(serving, lease.revokeBy, transitions) : serving;
  }
  return span.recalled && part.phase !== 'revoking'
    ? revoking(renumbered, lease.revokeBy, transitions)
    : renumbered;
}

/** Keys of which we have no valid memory. */
function newcomer(
  stretch: Span,
  span: GrantedSpan,
  valid: boolean,
  lease: { readonly until: Instant; readonly now: Instant },
  transitions: Transitions,
): Piece | undefined {
  const claimsMemory = span.continues.some(({ start, end }) => start < stretch.end && stretch.start < end);
  if (span.recalled || claimsMemory) return letGoUnused(stretch, span, lease.now);
  if (!valid) return undefined;
  const piece: Piece = {
    start: stretch.start,
    end: stretch.end,
    number: span.number,
    since: span.number,
    phase: 'loading',
    until: lease.until,
    revokeBy: undefined,
    toldIn: undefined,
  };
  transitions.granted.push(plain(piece));
  return piece;
}

/** A number that was never used and never will be. */
const letGoUnused = ({ start, end }: Span, { number }: GrantedSpan, now: Instant): Piece => ({
  start,
  end,
  number,
  since: number,
  phase: 'released',
  until: now,
  revokeBy: undefined,
  toldIn: undefined,
});

/** Who was still loading remembers nothing yet, and so has nothing to come back to. */
function lapsed(piece: Piece, transitions: Transitions): Piece {
  transitions.lapsed.push(plain(piece));
  if (piece.phase === 'loading') return released(piece, transitions);
  return { ...piece, phase: 'lapsed' };
}

function revoking(piece: Piece, revokeBy: Instant, transitions: Transitions): Piece {
  transitions.revoking.push(plain(piece));
  return { ...piece, phase: 'revoking', revokeBy };
}

function released(piece: Piece, transitions: Transitions): Piece {
  transitions.dropped.push(plain(piece));
  return { ...piece, phase: 'released', toldIn: undefined };
}

const plain = ({ start, end, number }: NumberedSpan): NumberedSpan => ({ start, end, number });

const clip = (piece: Piece, { start, end }: Span): Piece =>
  piece.start === start && piece.end === end ? piece : { ...piece, start, end };

/** Walks two ordered lists of disjoint spans together, once for every stretch between edges. */
function eachStretch<A extends Span, B extends Span>(
  ones: readonly A[],
  others: readonly B[],
  visit: (stretch: Span, one: A | undefined, other: B | undefined) => void,
): void {
  let [i, j] = [0, 0];
  let at = 0n;
  for (;;) {
    while ((ones[i]?.end ?? -1n) <= at && i < ones.length) i += 1;
    while ((others[j]?.end ?? -1n) <= at && j < others.length) j += 1;
    const one = ones[i];
    const other = others[j];
    if (one === undefined && other === undefined) return;
    const start = lesser(
      one === undefined ? undefined : greater(one.start, at),
      other === undefined ? undefined : greater(other.start, at),
    );
    const inOne = one !== undefined && one.start <= start;
    const inOther = other !== undefined && other.start <= start;
    const end = lesser(one && (inOne ? one.end : one.start), other && (inOther ? other.end : other.start));
    visit({ start, end }, inOne ? one : undefined, inOther ? other : undefined);
    at = end;
  }
}

const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b);

function lesser(a: bigint | undefined, b: bigint | undefined): bigint {
  if (a === undefined) return b ?? 0n;
  return b === undefined || a < b ? a : b;
}

/** The next piece, differing in nothing but its place. */
const continues = (a: Piece, b: Piece): boolean =>
  a.end === b.start &&
  a.number === b.number &&
  a.since === b.since &&
  a.phase === b.phase &&
  a.until === b.until &&
  a.revokeBy === b.revokeBy &&
  a.toldIn === b.toldIn;

function tableOf(pieces: readonly Piece[]): RingTable<Piece | undefined> {
  return RingTable.whole<Piece | undefined>(undefined).overlay(
    pieces.map((piece) => ({ start: piece.start, end: piece.end, value: piece })),
  );
}
