/**
 * The Manager that leads: it decides who owns what, commits it, and only then says so.
 *
 * **When may keys be taken from an owner?** On three grounds: the owner said that it let go of them,
 * its death was proved, or its hold has run out. The hold is counted from when we received
 * the last report that we acknowledged; the owner's lease, from when it sent that report; so the
 * lease is over first (see `owner/owner.ts`). An acknowledgement is the one thing here that is
 * *not* committed, hence two rules about who may give one:
 *
 *  - Only a leader whose leader lease is valid answers owners. Its successor cannot know what it
 *    answered, so it treats every lease it finds as renewed at the instant it took over, and by
 *    then even a leader that the log dropped early may go on for a whole leader lease more:
 *
 *        old leader   ───┤ dropped by the log
 *                        ├─── leader lease ───┤ the last answer it can give
 *        an owner                             ├───── lease ─────┤
 *        successor        ├─────────────── takeover hold ────────────┤ frees it at the earliest
 *
 *  - An owner whose removal is being written gets no answer until the outcome is known: had it
 *    committed, the answer would extend a lease on keys that are free.
 *
 * **Whom to give keys?** Only those who hear us. A report can come late, from a process that is gone,
 * so a stranger becomes a member only when it has confirmed an update of ours; and an owner that
 * speaks but has confirmed nothing for a whole hold is still told what it has, but nothing it says is
 * acknowledged any more: neither its lease nor its hold is extended until it shows that it hears.
 *
 * **Decide, commit, speak.** `#decide` looks at the committed state and at what was heard, and makes
 * one batch of everything that follows; while it is being written, what is heard waits for the
 * next. So under load batches grow instead of queues, a slow log delays changes but no renewal,
 * and nobody, owner or look-up, ever hears of anything that is not committed.
 *
 * A lapse is not a loss. If an owner says that its lease ran out but the table still has it, nobody
 * else can have held the keys: they get a new number that continues the old one. And while our own
 * leader lease is out we count no holds at all, so an engine that stalls for longer than a lease
 * costs a pause, not everybody's memory.
 *
 * **A log that was restored from a backup**, and whose counters an operator has then raised (`floor`),
 * knows less than its owners: keys it shows as free may be leased, numbers it shows may have been let
 * go of. So nobody is answered until everything that may be leased has run out; then everybody is
 * removed, which is a loss, and may join again.
 *
 * Inputs return effects, to be carried out in order; nothing here does I/O. `manager.ts` wraps it.
 */

import type { LogStart } from '../../log/log.ts';
import { assert } from '../../runtime/assert.ts';
import { earliest, type Instant, instant, latest, later } from '../../runtime/time.ts';
import { type TraceEffect, trace } from '../../runtime/trace.ts';
import type { Certificate, FromManager, NumberedSpan, Report, Seen, Sync, Update } from '../messages.ts';
import { lookupPace, ownerPace, type ResolvedDurations, takeoverHoldMs } from '../options.ts';
import { type Batch, encodeSnapshot, ManagerState } from '../state.ts';
import type { Placement } from '../policy/policy.ts';
import type { LeaveReason, Member } from '../table.ts';
import { Audience, answerTo } from './audience.ts';
import { Deaths } from './deaths.ts';
import type { Recalls } from './decision.ts';
import { type Draft, draft } from './draft.ts';
import type { OwnerObservation } from './observation.ts';
import { Pauses } from './pauses.ts';
import { ownerOfUrl, urlInUse } from './refusal.ts';
import { Session } from './session.ts';
import { longestHoldMs, longestTakeoverMs, type ManagerSettings, settingsFor } from './settings.ts';
import { Wishes } from './wishes.ts';

export type LeaderEffect =
  | { readonly do: 'send'; readonly to: string; readonly message: FromManager }
  | { readonly do: 'append'; readonly position: number; readonly bytes: Uint8Array }
  | { readonly do: 'compact'; readonly snapshot: Uint8Array; readonly upTo: number }
  | { readonly do: 'resign' }
  | { readonly do: 'halt'; readonly reason: string }
  | TraceEffect;

interface InFlight extends Draft {
  readonly sentAt: Instant;
  /** The state if it commits. */
  readonly next: ManagerState;
}

const NOTHING: readonly NumberedSpan[] = [];
/** So many who are no members are remembered at a time. */
const MOST_STRANGERS = 10_000;
const FOREVER: Instant = instant(Number.POSITIVE_INFINITY);

export class Leader {
  readonly term: number;
  readonly history: string;
  #settings: ManagerSettings;
  readonly #floor: number;
  readonly #startPosition: number;
  /** How long we wait for the leases we found, and when that is over. */
  #waitMs: number;
  #waitUntil: Instant;
  /** After a recovery: when everything that may have been leased has run out. */
  #recoversAt: Instant | undefined;
  readonly audience: Audience;
  #state: ManagerState;
  /** The end of the leader lease. */
  #until: Instant;
  readonly #sessions = new Map<string, Session>();
  /** Updates sent in this term, to whomever: an owner that was removed and comes back has heard some. */
  #sent = 0;
  /** For every member, by incarnation: when its leases may be taken for over. */
  readonly #holds = new Map<string, Instant>();
  readonly #deaths: Deaths;
  #recalls: ReadonlyMap<string, Recalls> = new Map();
  readonly #wishes: Wishes;
  /** Pools about which something was heard that may lead to a change. */
  readonly #dirty = new Set<string>();
  /** A new leader writes a first batch in any case, so that all who follow learn of its term. */
  #opening = true;
  #inFlight: InFlight | undefined;
  readonly #pauses = new Pauses();
  #batchesSinceSnapshot: number;
  /** No later than the first instant at which something is due. */
  #dueAt: Instant;

  constructor(settings: ManagerSettings, term: number, start: LogStart, until: Instant, now: Instant) {
    this.#settings = settings;
    this.term = term;
    this.history = start.history;
    this.#floor = start.floor;
    this.audience = new Audience((pool) => this.#durations(pool).syncEveryMs);
    this.#deaths = new Deaths(() => longestHoldMs(this.#settings));
    this.#wishes = new Wishes((pool) => settingsFor(this.#settings, pool).policy);
    this.#state = ManagerState.replay(start);
    this.#batchesSinceSnapshot = start.batches.length;
    this.#until = until;
    this.#dueAt = now;
    this.#startPosition = Math.max(this.#state.position, start.floor);
    this.#waitMs = Math.max(longestTakeoverMs(settings), this.#state.reign.takeoverMs);
    this.#waitUntil = later(now, this.#waitMs);
    if (start.floor > this.#state.position) this.#recoversAt = this.#waitUntil;
    for (const [pool, table] of this.#state.pools) {
      this.#dirty.add(pool);
      for (const incarnation of table.members.keys()) this.#holds.set(incarnation, this.#waitUntil);
    }
  }

  /** Where the log ended when this term began, or the floor that an operator set. */
  get startPosition(): number {
    return this.#startPosition;
  }

  get state(): ManagerState {
    return this.#state;
  }

  get wakeAt(): Instant {
    return this.#dueAt;
  }

  get until(): Instant {
    return this.#until;
  }

  get isWriting(): boolean {
    return this.#inFlight !== undefined;
  }

  /** Everybody heard of, and members not heard of yet. */
  owners(): OwnerObservation[] {
    const members = [...this.#state.pools].flatMap(([pool, table]) =>
      [...table.members.values()].map((member) => ({ pool, member, isMember: true })),
    );
    const strangers = [...this.#sessions.values()]
      .filter((session) => !this.#isMember(session))
      .map(({ pool, identity }) => ({ pool, member: identity, isMember: false }));
    return [...members, ...strangers].map(({ pool, member, isMember }) => {
      const { incarnation, name, url, proof } = member;
      const session = this.#sessions.get(incarnation);
      return {
        ...{ pool, incarnation, name, url, isMember },
        isProvable: proof !== undefined,
        isLeaving: session?.report.leaving ?? false,
        lastHeardAt: session?.receivedAt,
        holdUntil: isMember ? this.#holds.get(incarnation) : undefined,
        load: session?.report.load,
        recalled: this.#recalls.get(pool)?.get(incarnation) ?? NOTHING,
      };
    });
  }

  /** Where the policy wants the keys of a pool. */
  wish(pool: string): readonly Placement[] {
    return this.#wishes.last(pool);
  }

  /** The leader lease was extended. */
  extended(until: Instant, now: Instant): LeaderEffect[] {
    if (now >= this.#until) {
      // While we could not answer, nobody could renew: nobody is late by that.
      const heldUntil = later(now, longestHoldMs(this.#settings));
      for (const [incarnation, hold] of this.#holds) this.#holds.set(incarnation, latest(hold, heldUntil));
      for (const session of this.#sessions.values()) session.provenAt = now;
    }
    this.#until = latest(this.#until, until);
    return this.#decide(now);
  }

  /** Does as it is told from here on; what was promised before is kept. */
  configure(settings: ManagerSettings, now: Instant): LeaderEffect[] {
    const waitMs = this.#takeoverMs(now);
    this.#settings = settings;
    this.#waitMs = Math.max(waitMs, longestTakeoverMs(settings));
    this.#waitUntil = latest(this.#waitUntil, later(now, waitMs));
    this.#wishes.forget();
    // Leases that make a successor wait longer can be given only when the log says so.
    this.#opening ||= this.#waitMs > this.#state.reign.takeoverMs;
    for (const pool of this.#state.pools.keys()) this.#dirty.add(pool);
    this.#due(now);
    return [trace('configured'), ...this.#decide(now)];
  }

  wake(now: Instant): LeaderEffect[] {
    this.#dueAt = FOREVER;
    this.#deaths.forget(now);
    this.audience.forget(now);
    if (!this.#mayAnswer(now)) {
      this.#due(later(now, this.#settings.durations.retryMs));
      return this.#decide(now);
    }
    this.#lookAtHolds(now);
    return [...this.#resend(now), ...this.#decide(now)];
  }

  hearReport(from: string, report: Report, now: Instant): LeaderEffect[] {
    const answer = this.#heardOfMore(report.seen);
    if (answer !== undefined) return [answer];
    const { incarnation, pool, proof } = report;
    if (proof !== undefined && this.#deaths.has(proof)) return [];

    let session = this.#sessions.get(incarnation);
    if (this.#isElsewhere(session, report)) return [trace('two-pools', { incarnation, pool })];
    const isMember = this.#state.pool(pool).members.has(incarnation);
    // What a stranger claims to hold is of no interest, and may be much.
    const heard = isMember ? report : { ...report, held: NOTHING, letGo: [] };
    if (session === undefined) {
      if (!isMember && this.#sessions.size > this.#holds.size + MOST_STRANGERS)
        return [trace('too-many-strangers')];
      session = new Session(from, heard, now);
      this.#sessions.set(incarnation, session);
      this.#dirty.add(pool);
    } else if (session.hear(from, heard, now) && this.#hasSplinters(session)) this.#dirty.add(pool);

    if (!isMember) return this.#hearStranger(session, now);
    const effects: LeaderEffect[] = [];
    if (session.hasHeard(this.term, session.unheard ?? 0)) session.unheard = undefined;
    if (report.letGo.length > 0 || report.leaving) this.#dirty.add(pool);
    const isDue = session.behind && session.unheard === undefined;
    if (report.wantsAnswer || isDue) effects.push(...this.#update(session, now));
    return [...effects, ...this.#decide(now)];
  }

  hearSync(from: string, sync: Sync, now: Instant): LeaderEffect[] {
    const answer = this.#heardOfMore(sync.seen);
    if (answer !== undefined) return [answer];
    this.audience.hear(from, sync, now);
    this.#due(later(now, this.audience.keepMs(sync.pool))); // Then it may be forgotten.
    if (!this.#mayAnswer(now) || !this.#mayVouch(now)) return [];
    const message = answerTo(sync, this.history, this.term, this.#state);
    if (message === undefined) return [];
    const pace = lookupPace(this.#durations(sync.pool));
    return [{ do: 'send', to: from, message: { ...message, pace } }];
  }

  hearCertificate(from: string, { secret }: Certificate, now: Instant): LeaderEffect[] {
    const proof = this.#deaths.hear(secret, from, now);
    this.#due(later(now, longestHoldMs(this.#settings))); // Then it is forgotten.
    for (const [pool, table] of this.#state.pools) if (table.hasProof(proof)) this.#dirty.add(pool);
    for (const [incarnation, { pool, identity }] of this.#sessions) {
      if (identity.proof !== proof) continue;
      this.#sessions.delete(incarnation); // It must not join any more;
      this.#dirty.add(pool); // and if that is being written, it must leave.
    }
    return [...this.#decide(now), ...this.#confirmDeaths(now)];
  }

  /** The batch in flight is in the log. */
  appended(position: number, now: Instant): LeaderEffect[] {
    const flight = this.#inFlight;
    assert(
      flight !== undefined && flight.position === position,
      `appended ${position}, which was not in flight`,
    );
    const before = this.#state;
    this.#inFlight = undefined;
    this.#recoversAt = undefined;
    this.#state = flight.next;
    this.#recalls = new Map([...this.#recalls, ...flight.recalls]);
    const farewells = this.#farewells(flight, now);
    this.#settle(flight, now);
    this.#batchesSinceSnapshot += 1;
    this.#pauses.worked(now, this.#rowsOf(flight));
    const effects: LeaderEffect[] = [
      trace('committed', { position, records: describe(flight.batch) }),
      ...farewells,
      ...this.#tellOwners([...flight.recalls.keys()], now),
      ...this.audience.push(this.history, before, this.#state, now),
      ...this.#confirmDeaths(now),
      ...this.#compactIfLong(),
    ];
    return [...effects, ...this.#decide(now)];
  }

  /** The batch in flight was surely not written. What it was made of still holds; decide anew. */
  refused(now: Instant): LeaderEffect[] {
    const flight = this.#inFlight;
    assert(flight !== undefined, 'refused, but nothing was in flight');
    this.#inFlight = undefined;
    for (const pool of flight.recalls.keys()) this.#dirty.add(pool);
    this.#opening ||= flight.batch.pools.length === 0;
    this.#pauses.refused(now, this.#settings.durations.retryMs);
    this.#due(this.#pauses.until(now) ?? now);
    return [trace('append-refused', { position: flight.position })];
  }

  #durations(pool: string): ResolvedDurations {
    return settingsFor(this.#settings, pool).durations;
  }

  #mayAnswer(now: Instant): boolean {
    return now < this.#until && this.#recoversAt === undefined;
  }

  /** A batch that is long on its way may be committed; then there is more than we know of. */
  #mayVouch(now: Instant): boolean {
    const sentAt = this.#inFlight?.sentAt;
    return sentAt === undefined || now < later(sentAt, this.#settings.durations.leaderLeaseMs);
  }

  /** An incarnation is one life of one owner in one pool: its hold is one, and so must its lease be. */
  #isElsewhere(session: Session | undefined, { incarnation, pool }: Report): boolean {
    if (session !== undefined) return session.pool !== pool;
    for (const [other, { members }] of this.#state.pools) {
      if (other !== pool && members.has(incarnation)) return true;
    }
    return false;
  }

  #isMember({ pool, identity }: Session): boolean {
    return this.#state.pool(pool).members.has(identity.incarnation);
  }

  /** A stranger is asked to show that it hears, and is admitted when it has. */
  #hearStranger(session: Session, now: Instant): LeaderEffect[] {
    const { report, pool } = session;
    const rival = report.leaving ? undefined : ownerOfUrl(this.#state.pool(pool), report.url, report.name);
    if (rival !== undefined) return this.#mayAnswer(now) ? [urlInUse(session.address, report, rival)] : [];
    if (!report.leaving && this.#isPresent(session)) {
      this.#dirty.add(pool);
      return this.#decide(now);
    }
    const { incarnation } = session.identity;
    if (report.leaving && this.#inFlight?.next.pool(pool).members.has(incarnation)) return []; // It is coming first.
    this.#due(later(now, this.#durations(pool).holdMs)); // Then it is forgotten.
    // Who wants to leave has nothing here: told so, it can go.
    if (report.leaving) this.#sessions.delete(incarnation);
    return this.#mayAnswer(now) ? [this.#say(session, [], false)] : [];
  }

  /** It owns its keys in more pieces than the policy wants, which may now be merged. */
  #hasSplinters({ pool, identity: { incarnation } }: Session): boolean {
    return this.#state.pool(pool).rowsOf(incarnation).length > this.#wishes.spansOf(pool, incarnation);
  }

  #isPresent(session: Session): boolean {
    return session.hasHeard(this.term, session.first);
  }

  /**
   * Somebody who has seen more of this log than we have: either we were deposed without knowing, or
   * the store went back in time. The log can tell, by electing us again or not.
   */
  #heardOfMore(seen: Seen | undefined): LeaderEffect | undefined {
    if (seen === undefined || seen.history !== this.history) return undefined;
    if (seen.term > this.term) return { do: 'resign' };
    // Whoever has not heard of our term can only have seen what was there when it began.
    const inFlight = this.#inFlight?.position ?? 0;
    const position = seen.term < this.term ? this.#startPosition : Math.max(this.#state.position, inFlight);
    if (seen.position <= position) return undefined;
    return {
      do: 'halt',
      reason: `somebody has seen position ${seen.position} of this log, which ends at ${position}: the store went back in time`,
    };
  }

  /** Answers an owner, which renews its lease: never without a leader lease, never a condemned one. */
  #update(session: Session, now: Instant): LeaderEffect[] {
    const { incarnation } = session.identity;
    const durations = this.#durations(session.pool);
    if (!this.#mayAnswer(now) || this.#inFlight?.condemned.has(incarnation)) return [];
    // What our leases make a successor wait for must be in the log before we give one.
    if (this.#state.reign.takeoverMs < takeoverHoldMs(durations)) {
      this.#opening ||= this.#inFlight === undefined;
      return [];
    }
    const isDeaf = later(session.provenAt, durations.holdMs) <= now;
    if (!isDeaf) session.acknowledge(durations);
    const recalls = this.#recalls.get(session.pool)?.get(incarnation) ?? NOTHING;
    const changed = session.compose(this.#state.pool(session.pool).rowsOf(incarnation), recalls);
    const message = this.#say(session, session.spans, true);
    session.sentAt = now;
    if (changed || session.behind) session.unheard = session.sent;
    session.behind = false;
    session.welcomed = true;
    if (session.unheard !== undefined) this.#due(later(now, durations.retryMs));
    if (isDeaf) return [message]; // It may yet show that it hears; its lease rests on what it had.
    const hold = this.#holds.get(incarnation) ?? session.receivedAt;
    this.#holds.set(incarnation, latest(hold, later(session.receivedAt, durations.holdMs)));
    return [message];
  }

  #say(session: Session, spans: Update['spans'], admitted: boolean): LeaderEffect {
    this.#sent += 1;
    session.sent = this.#sent;
    if (session.first === 0) session.first = this.#sent;
    // A lease is what it was when its report was acknowledged: the hold was set together with it.
    const durations = (admitted ? session.given : undefined) ?? this.#durations(session.pool);
    const message: Update = {
      kind: 'update',
      pool: session.pool,
      incarnation: session.identity.incarnation,
      history: this.history,
      term: this.term,
      sequence: session.sent,
      position: this.#state.position,
      acknowledges: admitted ? session.acknowledged : session.report.sequence,
      leaseMs: durations.leaseMs,
      pace: ownerPace(durations),
      admitted,
      spans,
    };
    return { do: 'send', to: session.address, message };
  }

  /** Tells every owner for whom something is new; one unheard message an owner, the rest waits. */
  #tellOwners(pools: readonly string[], now: Instant): LeaderEffect[] {
    const effects: LeaderEffect[] = [];
    for (const session of this.#sessions.values()) {
      if (!pools.includes(session.pool) || !this.#isMember(session)) continue;
      const { incarnation } = session.identity;
      const recalls = this.#recalls.get(session.pool)?.get(incarnation) ?? NOTHING;
      const rows = this.#state.pool(session.pool).rowsOf(incarnation);
      if (!session.compose(rows, recalls) && session.welcomed) continue;
      session.welcomed = true;
      session.behind = true;
      if (session.unheard === undefined) effects.push(...this.#update(session, now));
    }
    return effects;
  }

  /** Says again what was not heard. */
  #resend(now: Instant): LeaderEffect[] {
    const effects: LeaderEffect[] = [];
    for (const session of this.#sessions.values()) {
      if (session.unheard === undefined || !this.#isMember(session)) continue;
      const again = later(session.sentAt ?? now, this.#durations(session.pool).retryMs);
      if (now >= again) effects.push(...this.#update(session, now));
      else this.#due(again);
    }
    return effects;
  }

  #lookAtHolds(now: Instant): void {
    for (const [incarnation, session] of this.#sessions) {
      if (this.#isMember(session)) continue;
      const forgetAt = later(session.receivedAt, this.#durations(session.pool).holdMs);
      if (forgetAt <= now) this.#sessions.delete(incarnation);
      else this.#due(forgetAt);
    }
    for (const [pool, table] of this.#state.pools) {
      for (const incarnation of table.members.keys()) {
        const hold = this.#holds.get(incarnation) ?? now;
        if (hold <= now) this.#dirty.add(pool);
        else this.#due(hold);
      }
    }
  }

  #due(at: Instant): void {
    this.#dueAt = earliest(this.#dueAt, at);
  }

  /** Makes one batch of everything that follows from what was heard. */
  #decide(now: Instant): LeaderEffect[] {
    if (this.#inFlight !== undefined || (this.#dirty.size === 0 && !this.#opening)) return [];
    if (this.#recoversAt !== undefined && now < this.#recoversAt) {
      this.#due(this.#recoversAt);
      return [];
    }
    const pausedUntil = this.#pauses.until(now);
    if (pausedUntil !== undefined) {
      this.#due(pausedUntil);
      return [];
    }
    const made = this.#draft(now);
    this.#pauses.worked(now, this.#rowsOf(made));
    this.#dirty.clear();
    for (const pool of made.unfinished) this.#dirty.add(pool);
    if (made.batch.pools.length === 0 && !this.#opening) {
      this.#recalls = new Map([...this.#recalls, ...made.recalls]);
      return this.#tellOwners([...made.recalls.keys()], now);
    }
    this.#opening = false;
    this.#inFlight = { ...made, sentAt: now, next: this.#state.apply(made.position, made.batch) };
    return [{ do: 'append', position: made.position, bytes: made.bytes }];
  }

  #draft(now: Instant): Draft {
    return draft(
      {
        state: this.#state,
        position: Math.max(this.#state.position, this.#floor) + 1,
        reign: { term: this.term, leader: this.#settings.id, takeoverMs: this.#takeoverMs(now) },
        facts: (pool) => ({
          sessions: this.#sessionsOf(pool),
          isPresent: (session) => this.#isPresent(session),
          whyGone: (member) => this.#whyGone(member, now),
          wish: (table) => this.#wishes.of(pool, table, this.#sessions),
        }),
      },
      [...this.#dirty],
      this.#settings,
    );
  }

  #rowsOf({ recalls }: Draft): number {
    let rows = 0;
    for (const pool of recalls.keys()) rows += this.#state.pool(pool).rows.length;
    return rows;
  }

  /** What a successor must wait for: what we found, until that is over, and what we give. */
  #takeoverMs(now: Instant): number {
    return now < this.#waitUntil ? this.#waitMs : longestTakeoverMs(this.#settings);
  }

  /** Whether an owner is gone against its will. */
  #whyGone({ incarnation, proof }: Member, now: Instant): LeaveReason | undefined {
    if (this.#recoversAt !== undefined) return 'recovered';
    if (proof !== undefined && this.#deaths.has(proof)) return 'certified';
    const hold = this.#holds.get(incarnation);
    return hold !== undefined && hold <= now && this.#mayAnswer(now) ? 'expired' : undefined;
  }

  #sessionsOf(pool: string): ReadonlyMap<string, Session> {
    return new Map([...this.#sessions].filter(([, session]) => session.pool === pool));
  }

  /** Who wanted to leave and is removed can go. If this is lost, it asks again and hears it as a stranger. */
  #farewells({ condemned }: InFlight, now: Instant): LeaderEffect[] {
    if (!this.#mayAnswer(now)) return [];
    return [...condemned].flatMap((incarnation) => {
      const session = this.#sessions.get(incarnation);
      return session?.report.leaving ? [this.#say(session, [], false)] : [];
    });
  }

  /** Keeps the lists of owners in line with what was committed. */
  #settle({ batch, condemned }: InFlight, now: Instant): void {
    for (const incarnation of condemned) {
      this.#holds.delete(incarnation);
      this.#sessions.delete(incarnation);
    }
    for (const { pool, records } of batch.pools) {
      for (const record of records) {
        if (record.kind !== 'join') continue;
        const { incarnation } = record.member;
        const hold = later(this.#sessions.get(incarnation)?.receivedAt ?? now, this.#durations(pool).holdMs);
        this.#holds.set(incarnation, latest(this.#holds.get(incarnation) ?? hold, hold));
        this.#due(hold);
      }
    }
  }

  #confirmDeaths(now: Instant): LeaderEffect[] {
    if (this.#inFlight !== undefined || !this.#mayAnswer(now)) return [];
    const tables = [...this.#state.pools.values()];
    return this.#deaths
      .confirm((proof) => tables.some((table) => table.hasProof(proof)))
      .map(({ to, proof }) => ({ do: 'send', to, message: { kind: 'certified', proof } }));
  }

  #compactIfLong(): LeaderEffect[] {
    if (this.#batchesSinceSnapshot < this.#settings.compactEveryBatches) return [];
    this.#batchesSinceSnapshot = 0;
    return [{ do: 'compact', snapshot: encodeSnapshot(this.#state), upTo: this.#state.position }];
  }
}

function describe(batch: Batch): string {
  const kinds = batch.pools.flatMap(({ records }) =>
    records.map((record) => ('spans' in record ? `${record.kind}:${record.spans.length}` : record.kind)),
  );
  return kinds.length === 0 ? 'opening' : kinds.join(',');
}
