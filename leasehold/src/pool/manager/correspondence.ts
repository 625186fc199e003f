/**
 * What is said to owners, and what was heard of it.
 *
 * An update says all that an owner has, so a lost one needs no repair but the next. What is new is
 * said once, and again until the owner has confirmed it; whatever changes meanwhile waits and then goes
 * out as one. So an owner never has more than one unheard message to catch up with, however fast the
 * table changes:
 *
 *     leader   ── update 7 ──►   (changes)   (changes)   ◄── heard 7 ──   ── update 9 ──►
 *                 unheard          behind      behind                        unheard
 *
 * Updates are numbered through the whole term, to whomever they go. An owner that was removed and comes
 * back has heard some of them: the next must still be news to it, and what it confirmed before must not
 * pass for a sign of life.
 *
 * **Whom to give keys?** Only those who hear us. A report can come late, from a process that is gone, so
 * a stranger becomes a member only when it is {@link Correspondence.isPresent}: it has confirmed an update
 * of ours. And an owner that speaks but has confirmed nothing for a whole hold (`isDeaf`) is still told
 * what it has, but nothing that it says is acknowledged any more: neither its lease nor its hold is extended
 * until it shows that it hears.
 *
 * Whether an owner may be answered at all is for the leader to say; here is only to whom something is due,
 * and what. And nothing is known here of what is being written: whoever calls shows the committed state,
 * so there is nothing else to tell.
 */

import { type Instant, later } from '../../runtime/time.ts';
import { type TraceEffect, trace } from '../../runtime/trace.ts';
import type { NumberedSpan, Report, Update } from '../messages.ts';
import { ownerPace, type ResolvedDurations } from '../options.ts';
import type { ManagerState } from '../state.ts';
import type { Recalls } from './decision.ts';
import { Session } from './session.ts';

/** With more than that many who are no members, nobody else is remembered. */
const MOST_STRANGERS = 10_000;

const NOTHING: readonly NumberedSpan[] = [];

export interface Letter {
  readonly do: 'send';
  readonly to: string;
  readonly message: Update;
}

export interface Heard {
  readonly session: Session;
  readonly isMember: boolean;
  /** Nothing was heard of it before, or it holds something else than it did. */
  readonly isFirst: boolean;
  readonly holdsOther: boolean;
}

interface Terms {
  readonly history: string;
  readonly term: number;
  durations(pool: string): ResolvedDurations;
  /** Something is to be looked at again at this instant. */
  due(at: Instant): void;
}

export class Correspondence {
  readonly #terms: Terms;
  readonly #sessions = new Map<string, Session>();
  readonly #recalls = new Map<string, Recalls>();
  /** Updates sent in this term. */
  #sent = 0;

  constructor(terms: Terms) {
    this.#terms = terms;
  }

  /** Everybody heard of, members or not, by incarnation. */
  get sessions(): ReadonlyMap<string, Session> {
    return this.#sessions;
  }

  sessionsOf(pool: string): ReadonlyMap<string, Session> {
    return new Map([...this.#sessions].filter(([, session]) => session.pool === pool));
  }

  /** What an owner was asked to give back. */
  recalled(pool: string, incarnation: string): readonly NumberedSpan[] {
    return this.#recalls.get(pool)?.get(incarnation) ?? NOTHING;
  }

  /** Takes note of a report, if it is from somebody we can have to do with. */
  hear(from: string, report: Report, state: ManagerState, now: Instant): Heard | TraceEffect {
    const { incarnation, pool } = report;
    const known = this.#sessions.get(incarnation);
    if (isElsewhere(known, report, state)) return trace('two-pools', { incarnation, pool });
    const isMember = state.pool(pool).members.has(incarnation);
    // What a stranger claims to hold is of no interest, and may be much.
    const heard = isMember ? report : { ...report, held: NOTHING, letGo: [] };
    if (known !== undefined) {
      const holdsOther = known.hear(from, heard, now);
      if (known.hasHeard(this.#terms.term, known.unheard ?? 0)) known.unheard = undefined;
      return { session: known, isMember, isFirst: false, holdsOther };
    }
    if (!isMember && this.#sessions.size > membersIn(state) + MOST_STRANGERS)
      return trace('too-many-strangers');
    const session = new Session(from, heard, now);
    this.#sessions.set(incarnation, session);
    return { session, isMember, isFirst: true, holdsOther: false };
  }

  /** A stranger has shown that it hears us, now and not only when it wrote. */
  isPresent(session: Session): boolean {
    return session.hasHeard(this.#terms.term, session.first);
  }

  /** Something was committed, and this is asked back: who is to be told? Who has yet to hear something waits. */
  news(recalls: ReadonlyMap<string, Recalls>, state: ManagerState): Session[] {
    for (const [pool, asked] of recalls) this.#recalls.set(pool, asked);
    const told: Session[] = [];
    for (const session of this.#sessions.values()) {
      if (!recalls.has(session.pool) || !isMember(session, state)) continue;
      if (!this.#compose(session, state) && session.welcomed) continue;
      session.welcomed = true;
      session.behind = true;
      if (session.isDue) told.push(session);
    }
    return told;
  }

  /** To whom something must be said again because it was not heard. */
  overdue(state: ManagerState, now: Instant): Session[] {
    const told: Session[] = [];
    for (const session of this.#sessions.values()) {
      if (session.unheard === undefined || !isMember(session, state)) continue;
      const again = later(session.sentAt ?? now, this.#terms.durations(session.pool).retryMs);
      if (now >= again) told.push(session);
      else this.#terms.due(again);
    }
    return told;
  }

  /** All that a member has. This renews its lease, so `leader.ts` is careful whom it is sent. */
  toMember(session: Session, state: ManagerState, now: Instant): Letter {
    const isNew = this.#compose(session, state) || session.behind;
    // A lease is what it was when its report was acknowledged: the hold was set together with it.
    const letter = this.#write(session, state.position, session.given, {
      acknowledges: session.acknowledged,
      admitted: true,
      spans: session.spans,
    });
    session.sentAt = now;
    if (isNew) session.unheard = session.sent;
    session.behind = false;
    session.welcomed = true;
    if (session.unheard !== undefined)
      this.#terms.due(later(now, this.#terms.durations(session.pool).retryMs));
    return letter;
  }

  /** "You are no member here." Who wants to be one shows by its answer that it hears. */
  toStranger(session: Session, { position }: ManagerState): Letter {
    const acknowledges = session.report.sequence;
    return this.#write(session, position, undefined, { acknowledges, admitted: false, spans: [] });
  }

  /** Who wanted to leave and is removed can go. If this is lost, it asks again and hears it as a stranger. */
  farewells(removed: ReadonlySet<string>, state: ManagerState): Letter[] {
    return [...removed].flatMap((incarnation) => {
      const session = this.#sessions.get(incarnation);
      return session?.report.leaving ? [this.toStranger(session, state)] : [];
    });
  }

  /** Nobody could be answered until this instant: nobody is deaf by that. */
  beginAnew(now: Instant): void {
    for (const session of this.#sessions.values()) session.provenAt = now;
  }

  forget(incarnation: string): void {
    this.#sessions.delete(incarnation);
  }

  /** Forgets all lives of a process; returns the pools they were in or wanted to be in. */
  forgetDead(proof: string): string[] {
    const dead = [...this.#sessions.values()].filter(({ identity }) => identity.proof === proof);
    for (const { identity } of dead) this.#sessions.delete(identity.incarnation);
    return dead.map(({ pool }) => pool);
  }

  /** Forgets those who are no members and have said nothing for a hold. */
  forgetStrangers(state: ManagerState, now: Instant): void {
    for (const [incarnation, session] of this.#sessions) {
      if (isMember(session, state)) continue;
      const forgetAt = later(session.receivedAt, this.#terms.durations(session.pool).holdMs);
      if (forgetAt <= now) this.#sessions.delete(incarnation);
      else this.#terms.due(forgetAt);
    }
  }

  /** True if it has something else than it was last told of. */
  #compose(session: Session, state: ManagerState): boolean {
    const { incarnation } = session.identity;
    return session.compose(
      state.pool(session.pool).rowsOf(incarnation),
      this.recalled(session.pool, incarnation),
    );
  }

  #write(
    session: Session,
    position: number,
    given: ResolvedDurations | undefined,
    said: Pick<Update, 'acknowledges' | 'admitted' | 'spans'>,
  ): Letter {
    this.#sent += 1;
    session.sent = this.#sent;
    if (session.first === 0) session.first = this.#sent;
    const { history, term, durations } = this.#terms;
    const inForce = given ?? durations(session.pool);
    const message: Update = {
      kind: 'update',
      pool: session.pool,
      incarnation: session.identity.incarnation,
      history,
      term,
      sequence: session.sent,
      position,
      leaseMs: inForce.leaseMs,
      pace: ownerPace(inForce),
      ...said,
    };
    return { do: 'send', to: session.address, message };
  }
}

export const isMember = ({ pool, identity }: Session, state: ManagerState): boolean =>
  state.pool(pool).members.has(identity.incarnation);

/** An incarnation is one life of one owner in one pool: its hold is one, and so must its lease be. */
function isElsewhere(
  session: Session | undefined,
  { incarnation, pool }: Report,
  state: ManagerState,
): boolean {
  if (session !== undefined) return session.pool !== pool;
  for (const [other, { members }] of state.pools) {
    if (other !== pool && members.has(incarnation)) return true;
  }
  return false;
}

function membersIn(state: ManagerState): number {
  let members = 0;
  for (const table of state.pools.values()) members += table.members.size;
  return members;
}
