/**
 * The Manager that leads: decides which owner has which keys, commits the decision, and only then tells owners and look-ups.
 *
 * **When may keys be taken from an owner?** On three grounds: the owner has released them, its death was proved (`deaths.ts`), or
 * its hold is over (`holds.ts`).
 *
 * **When may an owner be answered?** An acknowledgement extends a lease, and is the one thing here that is *not* committed. So an
 * acknowledgement goes out together with a longer hold, and under five rules (`#answer`):
 *
 *  - Only while our leader lease is valid: a successor waits for every lease that can have been acknowledged until then.
 *  - Only when the log tells a successor how long that is.
 *  - Not while the removal of that owner is being written: if the removal commits, the answer would extend a lease on keys that
 *    are free.
 *  - Not while the log calls that owner silent, or may do so when the batch on its way commits, until the log says that the owner
 *    was heard: the longer an owner was silent, the sooner a successor frees its keys (`holds.ts`).
 *  - Not if the owner is unconfirmed: such an owner is sent updates, but no acknowledgement (`owner-sessions.ts`).
 *
 * **Decide, commit, speak.** `#decide` looks at the committed state and at the reports, and makes one batch of everything that
 * follows. Reports that arrive while the batch is being written wait (`pending-batch.ts`). So a slow log delays changes but no
 * renewal, and no owner or look-up ever hears of anything that is not committed.
 *
 * A lapse is not a loss. If an owner reports that its lease expired, but the table still shows that owner, no other owner can have
 * held the keys: they get a new number that continues the old one.
 *
 * **A log that was restored from a backup**, with counters that an operator has then raised (`floor`), knows less than its owners:
 * keys that the log shows as free may be leased, and numbers that the log shows may have been released. So no owner is answered
 * until every possible lease has expired; then all owners are removed, which is a loss, and may join again. If the removal takes
 * more than one batch, each batch but the last says so, and the leader at that time begins once more. A new log has a floor too,
 * because the log may replace another that is gone (`log/new-log.ts`). Only if this process has just begun the log, and its
 * operator says that there was no log before (`firstStart`), the leader does not wait for such leases. It waits until clients could
 * contradict (`witnesses.ts`). If a client has seen another log, the operator was wrong, and no key is granted until every lease
 * that the earlier log can have given has expired.
 *
 * A log that may have been put back without a recovery is not changed before clients could prove that (`witnesses.ts`).
 *
 * Inputs return effects, to be executed in order; nothing here does I/O. `manager.ts` wraps the leader.
 */

import type { LogStart } from '../../../log/log.ts';
import { earliest, type Instant, instant, later, latest } from '../../../runtime/time.ts';
import { type TraceEffect, trace } from '../../../runtime/trace.ts';
import type { Certificate, FromManager, Probe, Report, Seen, Sync } from '../messages.ts';
import { lookupPace, type ResolvedDurations, takeoverHoldMs } from '../options.ts';
import { encodeSnapshot, ManagerState } from '../state.ts';
import type { LeaveReason, Member, MemberOrder, TableRecord } from '../table.ts';
import { Admissions } from './admission.ts';
import { Subscribers, answerTo } from './subscribers.ts';
import { OwnerSessions, type Heard } from './owner-sessions.ts';
import { Deaths } from './deaths.ts';
import { Orders } from './orders.ts';
import { type Draft, describe, draft } from './draft.ts';
import { givesUp, staying } from './decision.ts';
import { Holds } from './holds.ts';
import { type LeaderObservation, observeOwners } from './observation.ts';
import { handsOver, type MoveFacts, PoolMoves } from './pool-moves.ts';
import { PoolPlaces } from './pool-places.ts';
import { inLine, nameInUse, noRoom, ownerOfUrl, tooManyPools, urlInUse } from './refusal.ts';
import { leads, leadsNone } from './role.ts';
import type { Session } from './session.ts';
import { limitsOf, longestHoldMs, type ManagerSettings, QUIET_AFTER_MS, settingsFor } from './settings.ts';
import { type Verdict, verdictOn } from './rollback-detector.ts';
import { Stamps } from './stamps.ts';
import { hasSeenAnotherLog, witnessesUntil } from './witnesses.ts';
import { PlacementCache } from './placement-cache.ts';
import { type InFlight, PendingBatch } from './pending-batch.ts';

export type LeaderEffect =
  | { readonly do: 'send'; readonly to: string; readonly message: FromManager }
  | { readonly do: 'append'; readonly position: number; readonly bytes: Uint8Array }
  | { readonly do: 'compact'; readonly snapshot: Uint8Array; readonly upTo: number }
  | Verdict
  | TraceEffect;

const FOREVER: Instant = instant(Number.POSITIVE_INFINITY);

export class Leader {
  readonly term: number;
  readonly history: string;
  /** Where the log ended when this term began, or the floor. */
  readonly startPosition: number;
  readonly subscribers: Subscribers;
  readonly stamps: Stamps;
  #settings: ManagerSettings;
  #state: ManagerState;
  /** The end of the leader lease. */
  #until: Instant;
  readonly #holds: Holds;
  /** Owners that the log calls silent and that have reported. */
  readonly #reported = new Set<string>();
  /** When the log is next told which owners are silent. */
  #silencesAt: Instant;
  readonly #owners: OwnerSessions;
  readonly #deaths: Deaths;
  readonly #placements: PlacementCache;
  readonly #moves: PoolMoves;
  readonly #pending = new PendingBatch();
  readonly #admissions = new Admissions();
  /** Pools that are to be removed: by an operator, or to make room for another pool. */
  readonly #removals = new Set<string>();
  readonly #orders = new Orders();
  readonly #places: PoolPlaces;
  /** After a recovery, or on a log that was begun: when every possible earlier lease has expired. */
  #recoversAt: Instant | undefined;
  readonly #isBegunHere: boolean;
  /** Until then clients may prove that this log is older than the one they have seen. */
  #witnessesUntil: Instant;
  /** When leases of an earlier log have expired, of which nothing but the word of the operator says that there are none. */
  #firstUntil: Instant | undefined;
  #batchesSinceSnapshot: number;
  /** No later than the first instant at which something is due. */
  #dueAt: Instant;

  constructor(settings: ManagerSettings, term: number, start: LogStart, until: Instant, now: Instant) {
    this.term = term;
    this.history = start.history;
    this.stamps = new Stamps(start);
    this.#settings = settings;
    this.#state = ManagerState.replay(start);
    this.startPosition = Math.max(this.#state.position, start.floor);
    this.#until = until;
    this.#holds = new Holds(settings, this.#state, now);
    this.#silencesAt = later(now, this.#holds.stepMs);
    this.#isBegunHere = start.begunHere === true;
    this.#witnessesUntil = witnessesUntil(settings, start, now);
    const isFirst = settings.firstStart === true && this.#isBegunHere;
    if (isFirst) this.#firstUntil = this.#holds.foundUntil;
    const isAbove = start.floor > this.#state.position && !isFirst;
    if (isAbove || this.#state.leaderRecord.recovering === true) this.#recoversAt = this.#holds.foundUntil;
    else if (this.#isUnopened && now < this.#witnessesUntil) this.#recoversAt = this.#witnessesUntil;
    this.#owners = new OwnerSessions({
      ...{ stamps: this.stamps, term },
      durations: (pool) => this.#durations(pool),
      limits: () => limitsOf(this.#settings),
      originOf: (connection) => this.#settings.originOf?.(connection) ?? connection,
      moves: (session, table) => this.#moves.newsFor(session, table),
      toldMoves: (session, news) => this.#moves.told(session, news),
      due: (at) => this.#due(at),
    });
    this.#places = new PoolPlaces({
      settings: () => this.#settings,
      state: () => this.#state,
      waitsFrom: (pool) => this.#owners.waitsFrom(pool),
      originOfOwner: (incarnation) => this.#owners.originOfOwner(incarnation),
    });
    this.subscribers = new Subscribers((pool) => this.#durations(pool).syncEveryMs);
    this.#deaths = new Deaths(
      () => longestHoldMs(this.#settings),
      () => limitsOf(this.#settings),
    );
    this.#placements = new PlacementCache((pool) => settingsFor(this.#settings, pool));
    this.#moves = new PoolMoves(
      {
        ...{ term, process: () => this.#settings.process ?? this.#settings.id },
        durations: (pool) => this.#durations(pool),
        quietAfterMs: (pool) => settingsFor(this.#settings, pool).quietAfterMs ?? QUIET_AFTER_MS,
        sessionsOf: (pool) => this.#owners.sessionsOf(pool),
        lastSent: () => this.#owners.lastSent,
        due: (at) => this.#due(at),
      },
      now,
    );
    for (const pool of this.#state.pools.keys()) this.#pending.consider(pool);
    this.#batchesSinceSnapshot = start.batches.length;
    this.#dueAt = now;
  }

  get state(): ManagerState {
    return this.#state;
  }

  get wakeAt(): Instant {
    return this.#dueAt;
  }

  /** A batch was handed to the log, and the outcome is unknown. */
  get isWriting(): boolean {
    return this.#pending.inFlight !== undefined;
  }

  get waitsUntil(): Instant | undefined {
    return this.#recoversAt;
  }

  isSureOfItsLog(now: Instant): boolean {
    return now >= this.#witnessesUntil && now < this.#until;
  }

  /** The connections over which members were last heard. */
  memberConnections(): ReadonlySet<string> {
    return this.#owners.memberConnections(this.#state);
  }

  observe(): LeaderObservation {
    return {
      leadsUntil: this.#until,
      waitsUntil: this.waitsUntil,
      isBegunHere: this.#isBegunHere,
      isFirst: this.#firstUntil !== undefined,
      isWriting: this.isWriting,
      owners: observeOwners(this.#state, this.#owners, this.#holds),
      target: (pool) => this.#placements.last(pool),
      heirs: (pool, incarnation) =>
        this.#placements.without(
          ...([pool, incarnation, this.#state.pool(pool), this.#owners.sessions] as const),
          (table) => this.#moves.rowsAfter(pool, table),
        ),
      moves: (pool) => this.#moves.observe(pool, this.#state.pool(pool)),
      movesEnded: { ...this.#moves.ended },
    };
  }

  /** The leader lease was extended. */
  extended(until: Instant, now: Instant): LeaderEffect[] {
    if (now >= this.#until) {
      this.#holds.beginAnew(this.#state, now);
      this.#silencesAt = later(now, this.#holds.stepMs);
      this.#owners.beginAnew(now);
    }
    this.#until = latest(this.#until, until);
    return this.#decide(now);
  }

  /** Applies new settings from here on; earlier promises are kept. */
  configure(settings: ManagerSettings, now: Instant): LeaderEffect[] {
    this.#settings = settings;
    this.#holds.configure(settings, now);
    this.#placements.forget();
    // Leases that make a successor wait longer can be given only when the log says so.
    if (this.#holds.takeoverMs(now) > this.#takeoverToldMs) this.#pending.writeInAnyCase();
    for (const pool of this.#state.pools.keys()) this.#pending.consider(pool);
    this.#due(now);
    return [trace('configured'), ...this.#decide(now)];
  }

  /** Has no effect if there is no such pool, or if the pool has members when the batch is made. */
  removePool(pool: string | undefined, now: Instant): LeaderEffect[] {
    if (pool === undefined || !this.#state.pools.has(pool)) return [];
    this.#removals.add(pool);
    this.#pending.consider(pool);
    return this.#decide(now);
  }

  isRemoving(pool: string): boolean {
    return this.#removals.has(pool);
  }

  /** Has no effect if this is no member when the batch is made. */
  order(pool: string, incarnation: string, order: MemberOrder | undefined, now: Instant): LeaderEffect[] {
    this.#orders.give(pool, incarnation, order);
    this.#pending.consider(pool);
    return this.#decide(now);
  }

  isOrdering(pool: string, incarnation: string): boolean {
    return this.#orders.has(pool, incarnation);
  }

  wake(now: Instant): LeaderEffect[] {
    this.#dueAt = FOREVER;
    this.#deaths.forget(now);
    this.subscribers.forget(now);
    if (!this.#mayAnswer(now)) {
      this.#due(later(now, this.#settings.durations.retryMs));
      return this.#decide(now);
    }
    this.#owners.forgetCandidates(this.#state, now);
    for (const pool of this.#admissions.rested(now)) this.#pending.consider(pool);
    this.#due(this.#admissions.nextAt ?? FOREVER);
    for (const pool of this.#moves.poolsDue(now)) this.#pending.consider(pool);
    const over = this.#holds.poolsWithOneOver(this.#state, now, (at) => this.#due(at));
    for (const pool of over) this.#pending.consider(pool);
    if (this.#holds.hasUnheard) this.#considerSilences(now);
    const unheard = this.#owners.overdue(this.#state, now);
    return [...unheard.flatMap((session) => this.#answer(session, now)), ...this.#decide(now)];
  }

  /**
   * When the leases of an earlier log have expired, if this log was called the first and a client has seen another one. Nothing is
   * granted until then.
   */
  deniesFirst(seen: Seen | undefined, now: Instant): Instant | undefined {
    const until = this.#firstUntil;
    if (until === undefined || now >= until || !hasSeenAnotherLog(seen, this.history)) return undefined;
    this.awaitEarlier(until);
    return until;
  }

  /** Until then nobody is answered; or, if this log has granted keys already, those are renewed and no more are granted. */
  awaitEarlier(until: Instant): void {
    this.#firstUntil = undefined;
    if (this.#isUnopened) this.#recoversAt = latest(this.#recoversAt ?? until, until);
    this.#witnessesUntil = latest(this.#witnessesUntil, until);
    this.#due(until);
  }

  hearReport(from: string, report: Report, now: Instant): LeaderEffect[] {
    const verdict = this.#verdictOn(report.seen);
    if (verdict !== undefined) return [verdict];
    const { pool, proof } = report;
    if (proof !== undefined && this.#deaths.has(proof)) return [];
    const noPlace = this.#state.pools.has(pool) ? undefined : this.#refusePool(from, report, now);
    if (noPlace !== undefined) return noPlace;
    const heard = this.#owners.hear(from, report, this.#state, now);
    if ('do' in heard) return [heard];
    if ('fullBy' in heard) return this.#mayAnswer(now) ? [noRoom(from, report, heard.fullBy)] : [];
    const { session, displaced } = heard;
    const mayMerge = heard.holdsOther && this.#placements.hasFragments(session, this.#state);
    // A candidate has yet to confirm something: nothing follows from its first report.
    if ((heard.isFirst && heard.isMember) || mayMerge) this.#pending.consider(pool);
    if (!heard.isMember) {
      const isTold = displaced !== undefined && this.#mayAnswer(now);
      const told = isTold ? [noRoom(displaced.address, displaced.report, 'candidates')] : [];
      return [...told, ...this.#hearCandidate(heard, now)];
    }
    const isHanding = handsOver(session.report);
    const hasNews = session.report.letGo.length > 0 || report.leaving || isHanding || heard.intendsOther;
    // What has arrived is confirmed, or an owner can be told tickets now: another range may take its turn.
    if (hasNews || this.#moves.awaits(pool, heard)) this.#pending.consider(pool);
    const told = this.#owners.moveNews(this.#moves.hear(session, this.#state.pool(pool), now), this.#state);
    if (told.length > 0) this.#pending.consider(pool);
    const answers = report.wantsAnswer || session.isDue ? this.#answer(session, now) : [];
    const others = told.filter((each) => each !== session).flatMap((each) => this.#answer(each, now));
    return [...answers, ...others, ...this.#decide(now)];
  }

  /** A pool that may not begin: an empty pool makes room, if there is one. */
  #refusePool(from: string, report: Report, now: Instant): LeaderEffect[] | undefined {
    const full = this.#places.whyNot(report.pool, this.#owners.originOf(from));
    return full && [...this.removePool(full.empty, now), tooManyPools(from, report, full)];
  }

  hearSync(from: string, sync: Sync, now: Instant): LeaderEffect[] {
    const verdict = this.#verdictOn(sync.seen);
    if (verdict !== undefined) return [verdict];
    this.subscribers.hear(from, sync, now);
    this.#due(later(now, this.subscribers.keepMs(sync.pool))); // Then it may be forgotten.
    const { leaderLeaseMs } = this.#durations(sync.pool);
    if (!this.#mayAnswer(now) || !this.#pending.mayVouch(leaderLeaseMs, now)) return [];
    const message = answerTo(sync, this.stamps, this.term, this.#state);
    if (message === undefined) return [];
    const pace = lookupPace(this.#durations(sync.pool));
    return [{ do: 'send', to: from, message: { ...message, pace } }];
  }

  /** A leader that waits answers too: clients that follow another leader then hear of this one before the first grant. */
  hearProbe(from: string, probe: Probe, now: Instant): LeaderEffect {
    if (now >= this.#until) return leadsNone(from, probe);
    const { id, process: leader = id } = this.#settings;
    const { isLogShared = false } = this.#settings;
    const holdMs = longestHoldMs(this.#settings);
    return leads(from, probe, { history: this.history, term: this.term, leader, holdMs, isLogShared });
  }

  hearCertificate(from: string, { secret }: Certificate, now: Instant): LeaderEffect[] {
    const isKnown = (proof: string): boolean =>
      [...this.#state.pools.values()].some((table) => table.hasProof(proof));
    const proof = this.#deaths.hear(secret, from, now, isKnown);
    this.#due(later(now, longestHoldMs(this.#settings))); // Then it is forgotten.
    for (const [pool, table] of this.#state.pools) if (table.hasProof(proof)) this.#pending.consider(pool);
    // The dead owner must not join any more; if its join is being written, the owner must be removed.
    for (const pool of this.#owners.forgetDead(proof)) this.#pending.consider(pool);
    return [...this.#decide(now), ...this.#confirmDeaths(now)];
  }

  /** The batch in flight is in the log. */
  appended(position: number, now: Instant): LeaderEffect[] {
    const flight = this.#pending.appended(position, now);
    const { condemned } = flight;
    const before = this.#state;
    this.#state = flight.next;
    this.#moves.committed(flight.batch, (pool) => this.#state.pool(pool), now);
    this.#places.committed(flight.batch, before);
    // The rest may turn out to be empty, and the end of the recovery has to be written all the same.
    if (flight.batch.recovering === true) this.#pending.writeInAnyCase();
    else this.#recoversAt = undefined;
    const farewells = this.#mayAnswer(now) ? this.#owners.farewells(condemned, this.#state, now) : [];
    this.#settle(flight, now);
    for (const { pool } of flight.batch.pools) this.#orders.keepOpen(pool, this.#state.pool(pool).members);
    const effects: LeaderEffect[] = [
      trace('committed', { position, records: describe(flight.batch) }),
      ...farewells,
      ...this.#answerHeard(flight, now),
      ...this.#tellOwners(flight, now),
      ...this.subscribers.push(this.stamps, before, this.#state, now),
      ...this.#confirmDeaths(now),
      ...this.#compactIfLong(),
    ];
    return [...effects, ...this.#decide(now)];
  }

  /** The batch in flight was surely not written. Its reasons still hold; decide anew. */
  refused(now: Instant): LeaderEffect[] {
    const { position } = this.#pending.refused(this.#settings.durations.retryMs, now);
    this.#due(this.#pending.readyAt(now) ?? now);
    return [trace('append-refused', { position })];
  }

  /** Nothing was committed since the log was begun, or its counters were raised. */
  get #isUnopened(): boolean {
    return this.#state.position < this.startPosition;
  }

  #durations(pool: string): ResolvedDurations {
    return settingsFor(this.#settings, pool).durations;
  }

  #due(at: Instant): void {
    this.#dueAt = earliest(this.#dueAt, at);
  }

  #mayAnswer(now: Instant): boolean {
    return now < this.#until && this.#recoversAt === undefined;
  }

  /** A client may have seen the batch that is being written. */
  #verdictOn(seen: Seen | undefined): Verdict | undefined {
    const { position } = this.#pending.inFlight ?? this.#state;
    const verdict = verdictOn(seen, this, position);
    return seen !== undefined && verdict !== undefined && this.stamps.isTrue(seen) ? verdict : undefined;
  }

  /** A candidate is asked to confirm an update, and is admitted when it has. */
  #hearCandidate(heard: Heard, now: Instant): LeaderEffect[] {
    const { session } = heard;
    const { report, pool, address } = session;
    if (heard.isFirst || heard.confirms) this.#admissions.candidateCame(pool, now);
    const isComing = this.#pending.inFlight?.next.pool(pool).members.has(report.incarnation) === true;
    if (report.leaving || (givesUp(report) && !isComing)) {
      if (isComing) {
        // The owner had not been told of any key when it withdrew, so it holds none: the next batch removes the owner.
        session.hasWithdrawn = true;
        this.#pending.consider(pool);
        return [];
      }
      this.#owners.forget(report.incarnation); // It has nothing here: told so, it can go.
    } else {
      const rival = ownerOfUrl(this.#state.pool(pool), report.url, report.name);
      const holder = rival === undefined && !isComing ? this.#holderOfName(report, now) : undefined;
      session.waitsForName = holder !== undefined;
      if (rival !== undefined) {
        this.#owners.cannotJoin(session);
        return this.#mayAnswer(now) ? [urlInUse(address, report, rival)] : [];
      }
      if (holder !== undefined) return this.#hearWaiting(session, holder, now);
      if (this.#owners.isPresent(session, now)) return this.#hearPresent(heard, isComing, now);
    }
    this.#due(later(now, this.#durations(pool).holdMs)); // Then it is forgotten.
    return this.#mayAnswer(now) ? [this.#owners.toCandidate(session, this.#state, now)] : [];
  }

  /** The member that has the name of this candidate, and is neither gone nor leaving. */
  #holderOfName({ pool, name, incarnation }: Report, now: Instant): Member | undefined {
    const table = this.#state.pool(pool);
    const isRival = (member: Member): boolean => member.name === name && member.incarnation !== incarnation;
    if (![...table.members.values()].some(isRival)) return undefined;
    const { sessions } = this.#owners;
    return staying(table, { sessions, whyGone: (member) => this.#whyGone(member, now) }).find(isRival);
  }

  /** A candidate with the name of a member is told so at each report, and asked to confirm again. */
  #hearWaiting(session: Session, holder: Member, now: Instant): LeaderEffect[] {
    this.#due(later(now, this.#durations(session.pool).holdMs)); // Then it is forgotten.
    if (!session.report.wantsAnswer || !this.#mayAnswer(now)) return [];
    return [this.#owners.toCandidate(session, this.#state, now), this.#nameInUse(session, holder, now)];
  }

  #nameInUse({ address, report }: Session, { incarnation, url }: Member, now: Instant): LeaderEffect {
    const receivedAt = this.#owners.sessions.get(incarnation)?.receivedAt;
    const heardAgoMs = receivedAt === undefined ? undefined : now - receivedAt;
    return nameInUse(address, report, {
      url,
      heardAgoMs,
      freeInMs: (this.#holds.endOf(incarnation) ?? now) - now,
    });
  }

  /** Admits a candidate that may be admitted, unless the pool rests or a batch is on its way; then a further report is answered so. */
  #hearPresent({ session, confirms }: Heard, wasComing: boolean, now: Instant): LeaderEffect[] {
    const { report, pool, address } = session;
    const restsUntil = this.#admissions.restsUntil(pool, now);
    if (restsUntil === undefined) this.#pending.consider(pool);
    else this.#due(restsUntil);
    const effects = this.#decide(now);
    const isComing = this.#pending.inFlight?.next.pool(pool).members.has(report.incarnation) === true;
    const isWaiting = wasComing || !isComing;
    if (confirms || !report.wantsAnswer || !isWaiting || !this.#mayAnswer(now)) return effects;
    const waiting = this.#owners.candidates(pool, this.#state);
    const asked = isComing ? [] : [this.#owners.toCandidate(session, this.#state, now)];
    return [...effects, ...asked, inLine(address, report, waiting)];
  }

  /** Answers an owner, which renews its lease: never without a leader lease, never a condemned one. */
  #answer(session: Session, now: Instant): LeaderEffect[] {
    const { incarnation } = session.identity;
    if (!this.#mayAnswer(now) || this.#pending.inFlight?.condemned.has(incarnation)) return [];
    if (session.hasWithdrawn) return []; // The owner was never told of any keys, so it holds none.
    const durations = this.#durations(session.pool);
    if (this.#takeoverToldMs < takeoverHoldMs(durations)) {
      const comingMs = this.#pending.inFlight?.batch.takeoverMs ?? 0;
      if (comingMs < takeoverHoldMs(durations)) this.#pending.writeInAnyCase();
      return [];
    }
    if (this.#isSilent(session)) {
      this.#reported.add(incarnation);
      this.#pending.consider(session.pool);
      return [];
    }
    if (!session.isUnconfirmed(durations.holdMs, now)) {
      session.acknowledge(durations);
      this.#holds.renew(incarnation, session.receivedAt, durations.holdMs);
    }
    return [this.#owners.toMember(session, this.#state, now)];
  }

  /** Whether a successor may find in the log that this owner is silent, whether or not the batch on its way commits. */
  #isSilent({ pool, identity: { incarnation } }: Session): boolean {
    const isCommitted = this.#state.pool(pool).members.get(incarnation)?.silentMs !== undefined;
    return isCommitted || this.#pending.inFlight?.silenced.has(incarnation) === true;
  }

  /** Owners that the log called silent until now wait for an answer. */
  #answerHeard({ batch }: InFlight, now: Instant): LeaderEffect[] {
    const heard = batch.pools.flatMap(({ records }) =>
      records.flatMap((record) => (record.kind === 'heard' ? record.incarnations : [])),
    );
    return heard.flatMap((incarnation) => {
      this.#reported.delete(incarnation);
      const session = this.#owners.sessions.get(incarnation);
      return session === undefined ? [] : this.#answer(session, now);
    });
  }

  #considerSilences(now: Instant): void {
    if (now < this.#silencesAt) {
      this.#due(this.#silencesAt);
      return;
    }
    for (const [pool, { members }] of this.#state.pools)
      for (const incarnation of members.keys())
        if (this.#holds.silentMs(incarnation, now) !== undefined) this.#pending.consider(pool);
  }

  /** The records about the silence of these members. */
  #silences(members: ReadonlyMap<string, Member>, now: Instant): TableRecord[] {
    const heard: string[] = [];
    const silent = new Map<number, string[]>();
    for (const [incarnation, { silentMs }] of members) {
      if (this.#reported.has(incarnation)) {
        if (silentMs !== undefined) heard.push(incarnation);
        continue;
      }
      const forMs = now < this.#silencesAt ? undefined : this.#holds.silentMs(incarnation, now);
      if (forMs !== undefined) silent.set(forMs, [...(silent.get(forMs) ?? []), incarnation]);
    }
    const records: TableRecord[] = [...silent].map(([silentMs, incarnations]) => ({
      ...{ kind: 'silent', silentMs, incarnations },
    }));
    return heard.length === 0 ? records : [...records, { kind: 'heard', incarnations: heard }];
  }

  /** How long a successor would wait, whether or not the batch on its way commits. */
  get #takeoverToldMs(): number {
    const { takeoverMs } = this.#state.leaderRecord;
    return Math.min(takeoverMs, this.#pending.inFlight?.batch.takeoverMs ?? takeoverMs);
  }

  #tellOwners({ recalls, wanted }: Draft, now: Instant): LeaderEffect[] {
    for (const [pool, spans] of wanted) this.#moves.plan(pool, spans, this.#state.pool(pool), now);
    const told = this.#owners.news(recalls, this.#state);
    return told.flatMap((session) => this.#answer(session, now));
  }

  /** Makes one batch of everything that follows from the reports. */
  #decide(now: Instant): LeaderEffect[] {
    const readyAt = this.#pending.readyAt(now);
    if (readyAt === undefined) return [];
    const isSure = now >= this.#witnessesUntil;
    // Standbys learn at once which Manager leads. A change of a pool waits.
    const sureAt = isSure || this.#pending.isWrittenInAnyCase ? readyAt : this.#witnessesUntil;
    const at = latest(latest(readyAt, this.#recoversAt ?? readyAt), sureAt);
    if (now < at) {
      this.#due(at);
      return [];
    }
    const made = this.#draft(now, isSure ? undefined : 0);
    this.#dropRefusedRemovals(made);
    for (const pool of made.recalls.keys()) this.#orders.keepOpen(pool, this.#state.pool(pool).members);
    if (now >= this.#silencesAt) this.#silencesAt = later(now, this.#holds.stepMs);
    if (this.#holds.hasUnheard) this.#due(this.#silencesAt);
    if (!this.#pending.begin(made, this.#state, now)) return this.#tellOwners(made, now);
    return [{ do: 'append', position: made.position, bytes: made.bytes }];
  }

  /** A pool that the draft does not remove stays: the pool has members. */
  #dropRefusedRemovals({ batch, unfinished }: Draft): void {
    for (const pool of this.#removals) {
      const isIn = batch.pools.some((each) => each.pool === pool && each.records[0]?.kind === 'remove');
      if (!isIn && !unfinished.includes(pool)) this.#removals.delete(pool);
    }
  }

  #draft(now: Instant, mostPools?: number): Draft {
    const cannotBegin = this.#places.cannotBegin(this.#pending.waiting);
    return draft(
      {
        state: this.#state,
        position: Math.max(this.#state.position, this.startPosition) + 1,
        leaderRecord: {
          ...{ term: this.term, leader: this.#settings.id, address: this.#settings.address },
          takeoverMs: this.#holds.takeoverMs(now),
          recovering: this.#recoversAt !== undefined,
        },
        facts: (pool) => ({
          sessions: this.#owners.sessionsOf(pool),
          mayJoin: cannotBegin.has(pool) ? () => false : this.#mayJoin(pool, now),
          whyGone: (member) => this.#whyGone(member, now),
          silences: (members) => (this.#recoversAt === undefined ? this.#silences(members, now) : []),
          target: (table) =>
            this.#placements.of(
              pool,
              table,
              this.#owners.sessions,
              this.#moves.rowsAfter(pool, table),
              this.#moves.balance(pool, table, now),
            ),
          moves: this.#moveFacts(pool, now),
          orders: (members) => this.#orders.records(pool, members),
          isToBeRemoved: this.#removals.has(pool),
        }),
      },
      this.#pending.waiting,
      this.#settings,
      mostPools,
    );
  }

  /** Undefined while the log recovers: nothing that was said before counts. */
  #moveFacts(pool: string, now: Instant): MoveFacts | undefined {
    if (this.#recoversAt !== undefined) return undefined;
    const table = this.#state.pool(pool);
    const isGone = (incarnation: string): boolean => {
      const member = table.members.get(incarnation);
      return member !== undefined && this.#whyGone(member, now) !== undefined;
    };
    return this.#moves.facts(pool, table, now, isGone, this.#mayAnswer(now));
  }

  #mayJoin(pool: string, now: Instant): (session: Session) => boolean {
    if (this.#admissions.restsUntil(pool, now) !== undefined) return () => false;
    return (session) => this.#owners.isPresent(session, now);
  }

  /** Whether an owner is gone against its will. */
  #whyGone({ incarnation, proof }: Member, now: Instant): LeaveReason | undefined {
    if (this.#recoversAt !== undefined) return 'recovered';
    if (proof !== undefined && this.#deaths.has(proof)) return 'certified';
    return this.#mayAnswer(now) && this.#holds.isOver(incarnation, now) ? 'expired' : undefined;
  }

  /** Brings sessions and holds in line with the committed batch. */
  #settle({ batch, condemned }: InFlight, now: Instant): void {
    for (const incarnation of condemned) {
      this.#holds.drop(incarnation);
      this.#reported.delete(incarnation);
      this.#owners.forget(incarnation);
    }
    for (const { pool, records } of batch.pools) {
      if (records.some(({ kind }) => kind === 'remove')) this.#removals.delete(pool);
      if (records.some(({ kind }) => kind === 'join')) {
        const members = this.#state.pool(pool).members.size;
        this.#due(this.#admissions.admitted(pool, members, this.#durations(pool), now) ?? FOREVER);
      }
      for (const record of records) {
        if (record.kind !== 'join') continue;
        const { incarnation } = record.member;
        this.#owners.admitted(incarnation);
        const receivedAt = this.#owners.sessions.get(incarnation)?.receivedAt ?? now;
        this.#due(this.#holds.renew(incarnation, receivedAt, this.#durations(pool).holdMs));
      }
    }
  }

  #confirmDeaths(now: Instant): LeaderEffect[] {
    if (this.#pending.inFlight !== undefined || !this.#mayAnswer(now)) return [];
    const tables = [...this.#state.pools.values()];
    return this.#deaths
      .confirm((proof) => tables.some((table) => table.hasProof(proof)))
      .map(({ to, proof }) => ({ do: 'send', to, message: { kind: 'certified', proof } }));
  }

  #compactIfLong(): LeaderEffect[] {
    this.#batchesSinceSnapshot += 1;
    if (this.#batchesSinceSnapshot < this.#settings.compactEveryBatches) return [];
    this.#batchesSinceSnapshot = 0;
    return [{ do: 'compact', snapshot: encodeSnapshot(this.#state), upTo: this.#state.position }];
  }
}
