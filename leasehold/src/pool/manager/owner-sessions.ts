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
 * **Whom to give keys?** Only those who hear us. A report can come late, from a process that is gone. So a
 * candidate becomes a member only while it is {@link OwnerSessions.isPresent}: it has confirmed an update that
 * was sent less than a lease ago. It wrote the confirmation after that update, and the lease it would get counts
 * from the confirmation. A candidate whose confirmation is older is asked again, because a lease that rests on
 * such a report may be over before the grant arrives. One update is to be confirmed at a time, so a candidate is
 * admitted however long a round trip takes, as long as it is shorter than a lease.
 *
 * A candidate whose name a member has waits, and goes on confirming with each report. If that member is removed, the same
 * batch admits the candidate, and so a restarted owner gets the keys of its predecessor before they are given to
 * others. By then a candidate that has not confirmed lately may be gone as well; it has to come again.
 *
 * An owner that reports but has confirmed nothing for a whole hold (`isUnconfirmed`) is still told
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
import { ownerPace, reportWithinMs, type ResolvedDurations } from '../options.ts';
import { covers, partsWithin } from '../spans.ts';
import type { ManagerState } from '../state.ts';
import type { Row } from '../table.ts';
import type { Recalls } from './decision.ts';
import { type CandidateLimits, Candidates } from './candidates.ts';
import { Session } from './session.ts';
import type { Stamps } from './stamps.ts';

const NOTHING: readonly NumberedSpan[] = [];
const NOBODY: ReadonlyMap<string, Session> = new Map();
/** How much of what one owner has let go of is kept: as much as fits into a batch by default. */
const MOST_LET_GO = 10_000;

export interface UpdateToOwner {
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
  /** It confirms what a candidate was asked to confirm. */
  readonly confirms: boolean;
  /** A candidate that had to make room for this one. */
  readonly displaced: Session | undefined;
}

/** There is no room for another candidate. */
export interface Full {
  readonly fullBy: keyof CandidateLimits;
}

interface Terms {
  readonly stamps: Stamps;
  readonly term: number;
  durations(pool: string): ResolvedDurations;
  limits(): CandidateLimits;
  /** Where a connection comes from. */
  originOf(connection: string): string;
  /** Something is to be looked at again at this instant. */
  due(at: Instant): void;
}

export class OwnerSessions {
  readonly #terms: Terms;
  readonly #sessions = new Map<string, Session>();
  readonly #byPool = new Map<string, Map<string, Session>>();
  readonly #recalls = new Map<string, Recalls>();
  readonly #candidates: Candidates;
  /** Updates sent in this term. */
  #sent = 0;

  constructor(terms: Terms) {
    this.#terms = terms;
    this.#candidates = new Candidates(() => terms.limits());
  }

  /** Everybody heard of, members or not, by incarnation. */
  get sessions(): ReadonlyMap<string, Session> {
    return this.#sessions;
  }

  sessionsOf(pool: string): ReadonlyMap<string, Session> {
    return this.#byPool.get(pool) ?? NOBODY;
  }

  /** Where a connection comes from. */
  originOf(connection: string): string {
    return this.#terms.originOf(connection);
  }

  originOfOwner(incarnation: string): string | undefined {
    const session = this.#sessions.get(incarnation);
    return session === undefined ? undefined : this.originOf(session.address);
  }

  /** Where the owner comes from that was first heard of, of those in this pool or before it; undefined if there is none. */
  waitsFrom(pool: string): string | undefined {
    for (const { address } of this.sessionsOf(pool).values()) return this.originOf(address);
    return undefined;
  }

  /** How many want to be members of this pool. */
  candidates(pool: string, state: ManagerState): number {
    let candidates = 0;
    for (const session of this.sessionsOf(pool).values()) if (!isMember(session, state)) candidates += 1;
    return candidates;
  }

  /** The connections over which members were last heard. */
  memberConnections(state: ManagerState): ReadonlySet<string> {
    const connections = new Set<string>();
    for (const session of this.#sessions.values()) {
      if (isMember(session, state)) connections.add(session.address);
    }
    return connections;
  }

  /** What an owner was asked to give back. */
  recalled(pool: string, incarnation: string): readonly NumberedSpan[] {
    return this.#recalls.get(pool)?.get(incarnation) ?? NOTHING;
  }

  /** Takes note of a report, if it is from somebody we can have to do with. */
  hear(from: string, report: Report, state: ManagerState, now: Instant): Heard | TraceEffect | Full {
    const { incarnation, pool } = report;
    const known = this.#sessions.get(incarnation);
    if (isElsewhere(known, report, state)) return trace('two-pools', { incarnation, pool });
    const member = state.pool(pool).members.get(incarnation);
    const isMember = member !== undefined;
    if (!isSameOwner(member ?? known?.identity, report))
      return trace('two-identities', { incarnation, pool });
    const heard = relevant(report, state.pool(pool).rowsOf(incarnation));
    if (known !== undefined) {
      const holdsOther = known.hear(from, heard, now);
      if (known.hasHeard(this.#terms.term, known.unheard ?? 0)) known.unheard = undefined;
      const { asked } = known;
      const confirms = asked !== undefined && known.hasHeard(this.#terms.term, asked.sequence);
      if (confirms) {
        known.aliveAt = asked.at;
        known.asked = undefined;
      }
      return { session: known, isMember, isFirst: false, holdsOther, confirms, displaced: undefined };
    }
    const session = new Session(from, heard, now);
    let displaced: Session | undefined;
    if (!isMember) {
      const origin = this.#terms.originOf(from);
      const room = this.#candidates.makeRoom(from, origin);
      if (!room.isThere) return { fullBy: room.limit };
      displaced = room.displaced;
      if (displaced !== undefined) this.#delete(displaced.identity.incarnation);
      this.#candidates.add(session, origin);
    }
    this.#add(session);
    return { session, isMember, isFirst: true, holdsOther: false, confirms: false, displaced };
  }

  /** A candidate has shown that it hears us, so lately that a lease could rest on it; one that has to wait, as lately as it can. */
  isPresent({ aliveAt, waitsForName, pool }: Session, now: Instant): boolean {
    const durations = this.#terms.durations(pool);
    const forMs = waitsForName ? reportWithinMs(durations) : durations.leaseMs;
    return aliveAt !== undefined && now < later(aliveAt, forMs);
  }

  /** The url of this candidate is in use. It has to confirm again when the url is free, and can be displaced until then. */
  cannotJoin(session: Session): void {
    session.asked = undefined;
    session.aliveAt = undefined;
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
  toMember(session: Session, state: ManagerState, now: Instant): UpdateToOwner {
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

  /** "You are no member here." A candidate shows by its answer that it hears. */
  toCandidate(session: Session, { position }: ManagerState, now: Instant): UpdateToOwner {
    const acknowledges = session.report.sequence;
    const said = { acknowledges, admitted: false, spans: [] };
    const letter = this.#write(session, position, undefined, said);
    session.asked ??= { sequence: session.sent, at: now };
    return letter;
  }

  /** Who wanted to leave and is removed can go. If this is lost, it asks again and hears it as a candidate. */
  farewells(removed: ReadonlySet<string>, state: ManagerState, now: Instant): UpdateToOwner[] {
    return [...removed].flatMap((incarnation) => {
      const session = this.#sessions.get(incarnation);
      return session?.report.leaving ? [this.toCandidate(session, state, now)] : [];
    });
  }

  /** Nobody could be answered until this instant: no owner becomes unconfirmed by that. */
  beginAnew(now: Instant): void {
    for (const session of this.#sessions.values()) session.provenAt = now;
  }

  forget(incarnation: string): void {
    this.#delete(incarnation);
    this.#candidates.delete(incarnation);
  }

  #add(session: Session): void {
    const { pool, identity } = session;
    this.#sessions.set(identity.incarnation, session);
    const others = this.#byPool.get(pool);
    if (others === undefined) this.#byPool.set(pool, new Map([[identity.incarnation, session]]));
    else others.set(identity.incarnation, session);
  }

  #delete(incarnation: string): void {
    const session = this.#sessions.get(incarnation);
    if (session === undefined) return;
    this.#sessions.delete(incarnation);
    const others = this.#byPool.get(session.pool);
    others?.delete(incarnation);
    if (others?.size === 0) this.#byPool.delete(session.pool);
  }

  /** This candidate is a member now. */
  admitted(incarnation: string): void {
    this.#candidates.delete(incarnation);
  }

  /** Forgets all lives of a process; returns the pools they were in or wanted to be in. */
  forgetDead(proof: string): string[] {
    const dead = [...this.#sessions.values()].filter(({ identity }) => identity.proof === proof);
    for (const { identity } of dead) this.forget(identity.incarnation);
    return dead.map(({ pool }) => pool);
  }

  /** Forgets those who are no members and have said nothing for a hold. */
  forgetCandidates(state: ManagerState, now: Instant): void {
    for (const [incarnation, session] of this.#sessions) {
      if (isMember(session, state)) continue;
      const forgetAt = later(session.receivedAt, this.#terms.durations(session.pool).holdMs);
      if (forgetAt <= now) this.forget(incarnation);
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
  ): UpdateToOwner {
    this.#sent += 1;
    session.sent = this.#sent;
    const { stamps, term, durations } = this.#terms;
    const inForce = given ?? durations(session.pool);
    const message: Update = {
      kind: 'update',
      pool: session.pool,
      incarnation: session.identity.incarnation,
      history: stamps.history,
      term,
      sequence: session.sent,
      position,
      stamp: stamps.of(term, position),
      leaseMs: inForce.leaseMs,
      pace: ownerPace(inForce),
      ...said,
    };
    return { do: 'send', to: session.address, message };
  }
}

export const isMember = ({ pool, identity }: Session, state: ManagerState): boolean =>
  state.pool(pool).members.has(identity.incarnation);

/**
 * Name, url and proof of an incarnation never change. A report that changes one of them is dropped: otherwise a candidate
 * could be checked under one name and admitted under another.
 */
const isSameOwner = (known: Session['identity'] | undefined, { name, url, proof }: Report): boolean =>
  known === undefined || (known.name === name && known.url === url && known.proof === proof);

/**
 * The report without the spans that cannot matter, because it is kept until the next and its sender chooses how long it is.
 *
 * An owner hears of a number only when that is committed. So spans under a number that its rows do not have are out of
 * date, for ever, and a candidate has no rows. Of `held`, only rows that are held whole are asked for (`decision.ts`). What
 * was let go of is said again until the table shows it, so the spans above the limit come with a later report.
 */
function relevant(report: Report, rows: readonly Row[]): Report {
  const held = rows.filter((row) => covers(report.held, row));
  return { ...report, held, letGo: partsWithin(report.letGo, rows).slice(0, MOST_LET_GO) };
}

/** An incarnation is one run of one owner in one pool: its hold is one, and so must its lease be. */
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
