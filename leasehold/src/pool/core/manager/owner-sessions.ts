/**
 * Updates to owners, and which of them each owner has confirmed.
 *
 * An update lists everything that an owner has, so a lost update needs no repair but the next one. A change is sent once, and
 * again until the owner has confirmed the update. Changes that happen meanwhile wait and go out together. So an owner never has
 * more than one unconfirmed update to catch up with, however fast the table changes:
 *
 *     leader   ── update 7 ──►   (changes)   (changes)   ◄── heard 7 ──   ── update 9 ──►
 *                 unheard          behind      behind                        unheard
 *
 * Updates are numbered through the whole term, across all owners. An owner that was removed and comes back has heard some of
 * them. The next update must still be new to that owner, and its earlier confirmations must not count as a sign of life.
 *
 * **Which owners may be given keys?** Only owners that hear this leader. A report can come late, from a process that is gone. So a
 * candidate becomes a member only while {@link OwnerSessions.isPresent}: the candidate has confirmed an update that was sent less
 * than a lease ago. The confirmation was written after that update, and the lease of the new member counts from the confirmation.
 * A candidate with an older confirmation is asked again, because a lease that rests on such a report may be over before the
 * grant arrives. One update is to be confirmed at a time, so a candidate is admitted however long a round trip takes, as long as
 * the round trip is shorter than a lease.
 *
 * A candidate with the name of a member waits, and confirms again with each report. If that member is removed, the same
 * batch admits the candidate; so a restarted owner gets the keys of its predecessor before other owners can. A candidate that
 * has not confirmed lately may be gone as well by then, and has to report again.
 *
 * An owner that reports but has confirmed nothing for a whole hold (`isUnconfirmed`) is still sent updates, but none of its
 * reports is acknowledged: neither its lease nor its hold is extended until the owner confirms an update.
 *
 * The leader decides whether an owner may be answered at all; this file knows which owners are due an update, and its content.
 * The batch on its way is unknown here: the caller passes the committed state, so nothing else can be sent.
 */

import { type Instant, later } from '../../../runtime/time.ts';
import { type TraceEffect, trace } from '../../../runtime/trace.ts';
import type { NumberedSpan, Report, Update } from '../messages.ts';
import { ownerPace, reportWithinMs, type ResolvedDurations } from '../options.ts';
import { covers, partsWithin } from '../spans.ts';
import type { ManagerState } from '../state.ts';
import type { PoolTable } from '../table.ts';
import type { MoveNews } from './pool-moves.ts';
import type { Recalls } from './decision.ts';
import { type CandidateLimits, Candidates } from './candidates.ts';
import { Session } from './session.ts';
import type { Stamps } from './stamps.ts';

const NOTHING: readonly NumberedSpan[] = [];
const NOBODY: ReadonlyMap<string, Session> = new Map();
/** How many released spans of one owner are kept: as many as fit into a batch by default. */
const MOST_LET_GO = 10_000;

export interface UpdateToOwner {
  readonly do: 'send';
  readonly to: string;
  readonly message: Update;
}

export interface Heard {
  readonly session: Session;
  readonly isMember: boolean;
  /** The first report of this incarnation; or the owner holds other spans than before. */
  readonly isFirst: boolean;
  readonly holdsOther: boolean;
  /** The owner confirms something of this term, and has not before. */
  readonly hearsTerm: boolean;
  /** The owner wants something else than before, or other state can be brought to it. */
  readonly intendsOther: boolean;
  /** The report confirms the update that the candidate was asked to confirm. */
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
  /** What a member is told about moves. */
  moves(session: Session, table: PoolTable): MoveNews | undefined;
  /** A member was told that. */
  toldMoves(session: Session, news: MoveNews): void;
  /** Asks to be called again at this instant. */
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

  /** The sessions of members and candidates, by incarnation. */
  get sessions(): ReadonlyMap<string, Session> {
    return this.#sessions;
  }

  /** The sequence of the last update in this term. */
  get lastSent(): number {
    return this.#sent;
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

  /** The number of candidates of this pool. */
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

  /** The spans that an owner was asked to give back. */
  recalled(pool: string, incarnation: string): readonly NumberedSpan[] {
    return this.#recalls.get(pool)?.get(incarnation) ?? NOTHING;
  }

  /** Records a report, unless the incarnation belongs to another pool or another identity. */
  hear(from: string, report: Report, state: ManagerState, now: Instant): Heard | TraceEffect | Full {
    const { incarnation, pool } = report;
    const known = this.#sessions.get(incarnation);
    if (isElsewhere(known, report, state)) return trace('two-pools', { incarnation, pool });
    const member = state.pool(pool).members.get(incarnation);
    const isMember = member !== undefined;
    if (!isSameOwner(member ?? known?.identity, report))
      return trace('two-identities', { incarnation, pool });
    const heard = relevant(report, state.pool(pool));
    if (known !== undefined) {
      const before = known.report;
      const { term } = this.#terms;
      const holdsOther = known.hear(from, heard, now);
      const intendsOther = intentionOf(before) !== intentionOf(known.report);
      const hearsTerm = before.heard?.term !== term && known.report.heard?.term === term;
      if (known.hasHeard(term, known.unheard ?? 0)) known.unheard = undefined;
      const { asked } = known;
      const confirms = asked !== undefined && known.hasHeard(term, asked.sequence);
      if (confirms) {
        known.aliveAt = asked.at;
        known.asked = undefined;
      }
      const seen = { isFirst: false, holdsOther, hearsTerm, intendsOther, confirms, displaced: undefined };
      return { session: known, isMember, ...seen };
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
    const changed = { holdsOther: false, hearsTerm: true, intendsOther: true };
    const seen = { isFirst: true, ...changed, confirms: false, displaced };
    return { session, isMember, ...seen };
  }

  /**
   * Whether a candidate has confirmed an update so lately that a lease could rest on the report; if its name is in use,
   * as lately as reports come.
   */
  isPresent({ aliveAt, waitsForName, pool }: Session, now: Instant): boolean {
    const durations = this.#terms.durations(pool);
    const forMs = waitsForName ? reportWithinMs(durations) : durations.leaseMs;
    return aliveAt !== undefined && now < later(aliveAt, forMs);
  }

  /** The url of this candidate is in use: it confirms again when the url is free, and can be displaced until then. */
  cannotJoin(session: Session): void {
    session.asked = undefined;
    session.aliveAt = undefined;
  }

  /** After a commit with these recalls: the owners that are due an update. An owner with an unconfirmed update waits. */
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

  /** Members of these for whom there is something else to be told about moves. */
  moveNews(incarnations: ReadonlySet<string>, state: ManagerState): Session[] {
    return [...incarnations].flatMap((incarnation) => {
      const session = this.#sessions.get(incarnation);
      if (session === undefined || !isMember(session, state) || !this.#compose(session, state)) return [];
      session.behind = true;
      return session.isDue ? [session] : [];
    });
  }

  /** Owners with an unconfirmed update that must be repeated. */
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

  /** Everything that a member has. The update renews the lease, so `leader.ts` decides which members may get one. */
  toMember(session: Session, state: ManagerState, now: Instant): UpdateToOwner {
    const isNew = this.#compose(session, state) || session.behind;
    // The lease has the duration that was in force when the report was acknowledged: the hold was set at the same time.
    const { moves } = session;
    const { spans, arrived } = session.arrived();
    const letter = this.#write(session, state.position, session.given, {
      ...{ acknowledges: session.acknowledged, admitted: true, spans },
      ...moves,
      ...(moves === undefined && arrived.length === 0 ? {} : { arrived }),
    });
    if (moves !== undefined) this.#terms.toldMoves(session, moves);
    session.sentAt = now;
    if (isNew) session.unheard = session.sent;
    session.behind = false;
    session.welcomed = true;
    if (session.unheard !== undefined)
      this.#terms.due(later(now, this.#terms.durations(session.pool).retryMs));
    return letter;
  }

  /** "You are no member here." The next report of the candidate confirms this update. */
  toCandidate(session: Session, { position }: ManagerState, now: Instant): UpdateToOwner {
    const acknowledges = session.report.sequence;
    const said = { acknowledges, admitted: false, spans: [] };
    const letter = this.#write(session, position, undefined, said);
    session.asked ??= { sequence: session.sent, at: now };
    return letter;
  }

  /** Tells removed owners that wanted to leave. If the update is lost, the owner reports again and is answered as a candidate. */
  farewells(removed: ReadonlySet<string>, state: ManagerState, now: Instant): UpdateToOwner[] {
    return [...removed].flatMap((incarnation) => {
      const session = this.#sessions.get(incarnation);
      return session?.report.leaving ? [this.toCandidate(session, state, now)] : [];
    });
  }

  /** No owner could be answered until this instant, so no owner may become unconfirmed by the silence. */
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

  /** Forgets all incarnations of a process; returns the pools of which they were members or candidates. */
  forgetDead(proof: string): string[] {
    const dead = [...this.#sessions.values()].filter(({ identity }) => identity.proof === proof);
    for (const { identity } of dead) this.forget(identity.incarnation);
    return dead.map(({ pool }) => pool);
  }

  /** Forgets candidates that have not reported for a hold. */
  forgetCandidates(state: ManagerState, now: Instant): void {
    for (const [incarnation, session] of this.#sessions) {
      if (isMember(session, state)) continue;
      const forgetAt = later(session.receivedAt, this.#terms.durations(session.pool).holdMs);
      if (forgetAt <= now) this.forget(incarnation);
      else this.#terms.due(forgetAt);
    }
  }

  /** Whether the owner has other spans than in its last update. */
  #compose(session: Session, state: ManagerState): boolean {
    const { incarnation } = session.identity;
    const table = state.pool(session.pool);
    return session.compose(
      table.rowsOf(incarnation),
      this.recalled(session.pool, incarnation),
      this.#terms.moves(session, table),
    );
  }

  #write(
    session: Session,
    position: number,
    given: ResolvedDurations | undefined,
    said: Pick<Update, 'acknowledges' | 'admitted' | 'spans'> & Partial<Update>,
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

/** What an owner intends about keys, as a text to compare. */
const intentionOf = ({ intent, transfer }: Report): string =>
  transfer === undefined ? '' : JSON.stringify([intent, transfer]);

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
 * was let go of is said again until the table shows it, so the spans above the limit come with a later report. A ticket about
 * a number that the table does not have is over, for ever, too.
 */
function relevant(report: Report, table: PoolTable): Report {
  const rows = table.rowsOf(report.incarnation);
  const held = rows.filter((row) => covers(report.held, row));
  const letGo = partsWithin(report.letGo, rows).slice(0, MOST_LET_GO);
  const { moving, receiving, handed } = report;
  if (!moving?.length && !receiving?.length && !handed?.length) return { ...report, held, letGo };
  return {
    ...{ ...report, held, letGo },
    moving: moving?.filter((one) => covers(rows, one)),
    receiving: receiving?.filter((one) => covers(table.rowsOf(one.from), one)),
    handed: handed?.filter((one) => partsWithin([one], rows).length > 0),
  };
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
