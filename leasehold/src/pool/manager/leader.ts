/**
 * The Manager that leads: it decides who owns what, commits it, and only then says so.
 *
 * **When may keys be taken from an owner?** On three grounds: the owner said that it let go of them, its
 * death was proved (`deaths.ts`), or its hold has run out (`holds.ts`).
 *
 * **When may an owner be answered?** An acknowledgement extends a lease, and it is the one thing here that
 * is *not* committed. So it goes out together with a longer hold, and under four rules (`#answer`):
 *
 *  - Only while our leader lease is valid: a successor waits for all that can have been answered until then.
 *  - Only when the log tells a successor how long that is.
 *  - Not if the removal of that owner is being written, until the outcome is known: had it committed, the
 *    answer would extend a lease on keys that are free.
 *  - Not if it does not hear us: it is told what it has, but nothing is acknowledged (`correspondence.ts`).
 *
 * **Decide, commit, speak.** `#decide` looks at the committed state and at what was heard, and makes one
 * batch of everything that follows; what is heard while it is being written waits (`writing.ts`). So a slow
 * log delays changes but no renewal, and nobody, owner or look-up, ever hears of what is not committed.
 *
 * A lapse is not a loss. If an owner says that its lease ran out but the table still has it, nobody
 * else can have held the keys: they get a new number that continues the old one.
 *
 * **A log that was restored from a backup**, and whose counters an operator has then raised (`floor`),
 * knows less than its owners: keys it shows as free may be leased, numbers it shows may have been let
 * go of. So nobody is answered until everything that may be leased has run out; then everybody is
 * removed, which is a loss, and may join again. If that takes more than one batch, each but the last says so,
 * and whoever leads by then begins once more. A log that was just begun in etcd has a floor too: it may stand in the place
 * of another that is gone (`log/etcd/opening.ts`).
 *
 * Inputs return effects, to be carried out in order; nothing here does I/O. `manager.ts` wraps it.
 */

import type { LogStart } from '../../log/log.ts';
import { earliest, type Instant, instant, later, latest } from '../../runtime/time.ts';
import { type TraceEffect, trace } from '../../runtime/trace.ts';
import type { Certificate, FromManager, Report, Seen, Sync } from '../messages.ts';
import { lookupPace, type ResolvedDurations, takeoverHoldMs } from '../options.ts';
import { encodeSnapshot, ManagerState } from '../state.ts';
import type { LeaveReason, Member } from '../table.ts';
import { Audience, answerTo } from './audience.ts';
import { Correspondence } from './correspondence.ts';
import { Deaths } from './deaths.ts';
import { type Draft, describe, draft } from './draft.ts';
import { Holds } from './holds.ts';
import { type LeaderObservation, observeOwners } from './observation.ts';
import { ownerOfUrl, urlInUse } from './refusal.ts';
import type { Session } from './session.ts';
import { longestHoldMs, type ManagerSettings, settingsFor } from './settings.ts';
import { type Verdict, verdictOn } from './sightings.ts';
import { Wishes } from './wishes.ts';
import { type InFlight, Writing } from './writing.ts';

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
  readonly audience: Audience;
  #settings: ManagerSettings;
  #state: ManagerState;
  /** The end of the leader lease. */
  #until: Instant;
  readonly #holds: Holds;
  readonly #correspondence: Correspondence;
  readonly #deaths: Deaths;
  readonly #wishes: Wishes;
  readonly #writing = new Writing();
  /** After a recovery, or on a log that was begun: when everything that may have been leased has run out. */
  #recoversAt: Instant | undefined;
  #batchesSinceSnapshot: number;
  /** No later than the first instant at which something is due. */
  #dueAt: Instant;

  constructor(settings: ManagerSettings, term: number, start: LogStart, until: Instant, now: Instant) {
    this.term = term;
    this.history = start.history;
    this.#settings = settings;
    this.#state = ManagerState.replay(start);
    this.startPosition = Math.max(this.#state.position, start.floor);
    this.#until = until;
    this.#holds = new Holds(settings, this.#state, now);
    if (start.floor > this.#state.position || this.#state.reign.recovering === true)
      this.#recoversAt = this.#holds.foundUntil;
    this.#correspondence = new Correspondence({
      ...{ history: start.history, term },
      durations: (pool) => this.#durations(pool),
      due: (at) => this.#due(at),
    });
    this.audience = new Audience((pool) => this.#durations(pool).syncEveryMs);
    this.#deaths = new Deaths(() => longestHoldMs(this.#settings));
    this.#wishes = new Wishes((pool) => settingsFor(this.#settings, pool).policy);
    for (const pool of this.#state.pools.keys()) this.#writing.consider(pool);
    this.#batchesSinceSnapshot = start.batches.length;
    this.#dueAt = now;
  }

  get state(): ManagerState {
    return this.#state;
  }

  get wakeAt(): Instant {
    return this.#dueAt;
  }

  observe(): LeaderObservation {
    return {
      leadsUntil: this.#until,
      waitsUntil: this.#recoversAt,
      isWriting: this.#writing.inFlight !== undefined,
      owners: observeOwners(this.#state, this.#correspondence, this.#holds),
      wish: (pool) => this.#wishes.last(pool),
    };
  }

  /** The leader lease was extended. */
  extended(until: Instant, now: Instant): LeaderEffect[] {
    if (now >= this.#until) {
      this.#holds.beginAnew(now);
      this.#correspondence.beginAnew(now);
    }
    this.#until = latest(this.#until, until);
    return this.#decide(now);
  }

  /** Does as it is told from here on; what was promised before is kept. */
  configure(settings: ManagerSettings, now: Instant): LeaderEffect[] {
    this.#settings = settings;
    this.#holds.configure(settings, now);
    this.#wishes.forget();
    // Leases that make a successor wait longer can be given only when the log says so.
    if (this.#holds.takeoverMs(now) > this.#takeoverToldMs) this.#writing.writeInAnyCase();
    for (const pool of this.#state.pools.keys()) this.#writing.consider(pool);
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
    this.#correspondence.forgetStrangers(this.#state, now);
    const over = this.#holds.poolsWithOneOver(this.#state, now, (at) => this.#due(at));
    for (const pool of over) this.#writing.consider(pool);
    const unheard = this.#correspondence.overdue(this.#state, now);
    return [...unheard.flatMap((session) => this.#answer(session, now)), ...this.#decide(now)];
  }

  hearReport(from: string, report: Report, now: Instant): LeaderEffect[] {
    const verdict = this.#verdictOn(report.seen);
    if (verdict !== undefined) return [verdict];
    const { pool, proof } = report;
    if (proof !== undefined && this.#deaths.has(proof)) return [];
    const heard = this.#correspondence.hear(from, report, this.#state, now);
    if ('do' in heard) return [heard];
    const { session } = heard;
    const mayMerge = heard.holdsOther && this.#wishes.hasSplinters(session, this.#state);
    if (heard.isFirst || mayMerge) this.#writing.consider(pool);
    if (!heard.isMember) return this.#hearStranger(session, now);
    if (report.letGo.length > 0 || report.leaving) this.#writing.consider(pool);
    const answers = report.wantsAnswer || session.isDue ? this.#answer(session, now) : [];
    return [...answers, ...this.#decide(now)];
  }

  hearSync(from: string, sync: Sync, now: Instant): LeaderEffect[] {
    const verdict = this.#verdictOn(sync.seen);
    if (verdict !== undefined) return [verdict];
    this.audience.hear(from, sync, now);
    this.#due(later(now, this.audience.keepMs(sync.pool))); // Then it may be forgotten.
    const { leaderLeaseMs } = this.#durations(sync.pool);
    if (!this.#mayAnswer(now) || !this.#writing.mayVouch(leaderLeaseMs, now)) return [];
    const message = answerTo(sync, this.history, this.term, this.#state);
    if (message === undefined) return [];
    const pace = lookupPace(this.#durations(sync.pool));
    return [{ do: 'send', to: from, message: { ...message, pace } }];
  }

  hearCertificate(from: string, { secret }: Certificate, now: Instant): LeaderEffect[] {
    const proof = this.#deaths.hear(secret, from, now);
    this.#due(later(now, longestHoldMs(this.#settings))); // Then it is forgotten.
    for (const [pool, table] of this.#state.pools) if (table.hasProof(proof)) this.#writing.consider(pool);
    // It must not join any more; and if that is being written, it must leave.
    for (const pool of this.#correspondence.forgetDead(proof)) this.#writing.consider(pool);
    return [...this.#decide(now), ...this.#confirmDeaths(now)];
  }

  /** The batch in flight is in the log. */
  appended(position: number, now: Instant): LeaderEffect[] {
    const flight = this.#writing.appended(position, now);
    const { condemned } = flight;
    const before = this.#state;
    this.#state = flight.next;
    // What is left may turn out to be nothing, and the end of it has to be written all the same.
    if (flight.batch.recovering === true) this.#writing.writeInAnyCase();
    else this.#recoversAt = undefined;
    const farewells = this.#mayAnswer(now) ? this.#correspondence.farewells(condemned, this.#state) : [];
    this.#settle(flight, now);
    const effects: LeaderEffect[] = [
      trace('committed', { position, records: describe(flight.batch) }),
      ...farewells,
      ...this.#tellOwners(flight, now),
      ...this.audience.push(this.history, before, this.#state, now),
      ...this.#confirmDeaths(now),
      ...this.#compactIfLong(),
    ];
    return [...effects, ...this.#decide(now)];
  }

  /** The batch in flight was surely not written. What it was made of still holds; decide anew. */
  refused(now: Instant): LeaderEffect[] {
    const { position } = this.#writing.refused(this.#settings.durations.retryMs, now);
    this.#due(this.#writing.readyAt(now) ?? now);
    return [trace('append-refused', { position })];
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

  /** Somebody may have seen what is being written. */
  #verdictOn(seen: Seen | undefined): Verdict | undefined {
    const { position } = this.#writing.inFlight ?? this.#state;
    return verdictOn(seen, this, position);
  }

  /** A stranger is asked to show that it hears, and is admitted when it has. */
  #hearStranger(session: Session, now: Instant): LeaderEffect[] {
    const { report, pool, address } = session;
    if (report.leaving) {
      const isComing = this.#writing.inFlight?.next.pool(pool).members.has(report.incarnation);
      if (isComing) return []; // First it comes, then it goes.
      this.#correspondence.forget(report.incarnation); // It has nothing here: told so, it can go.
    } else {
      const rival = ownerOfUrl(this.#state.pool(pool), report.url, report.name);
      if (rival !== undefined) return this.#mayAnswer(now) ? [urlInUse(address, report, rival)] : [];
      if (this.#correspondence.isPresent(session)) {
        this.#writing.consider(pool);
        return this.#decide(now);
      }
    }
    this.#due(later(now, this.#durations(pool).holdMs)); // Then it is forgotten.
    return this.#mayAnswer(now) ? [this.#correspondence.toStranger(session, this.#state)] : [];
  }

  /** Answers an owner, which renews its lease: never without a leader lease, never a condemned one. */
  #answer(session: Session, now: Instant): LeaderEffect[] {
    const { incarnation } = session.identity;
    if (!this.#mayAnswer(now) || this.#writing.inFlight?.condemned.has(incarnation)) return [];
    const durations = this.#durations(session.pool);
    if (this.#takeoverToldMs < takeoverHoldMs(durations)) {
      const comingMs = this.#writing.inFlight?.batch.takeoverMs ?? 0;
      if (comingMs < takeoverHoldMs(durations)) this.#writing.writeInAnyCase();
      return [];
    }
    if (!session.isDeaf(durations.holdMs, now)) {
      session.acknowledge(durations);
      this.#holds.renew(incarnation, session.receivedAt, durations.holdMs);
    }
    return [this.#correspondence.toMember(session, this.#state, now)];
  }

  /** How long a successor would wait, whether what is on its way commits or not. */
  get #takeoverToldMs(): number {
    const { takeoverMs } = this.#state.reign;
    return Math.min(takeoverMs, this.#writing.inFlight?.batch.takeoverMs ?? takeoverMs);
  }

  #tellOwners({ recalls }: Draft, now: Instant): LeaderEffect[] {
    const told = this.#correspondence.news(recalls, this.#state);
    return told.flatMap((session) => this.#answer(session, now));
  }

  /** Makes one batch of everything that follows from what was heard. */
  #decide(now: Instant): LeaderEffect[] {
    const readyAt = this.#writing.readyAt(now);
    if (readyAt === undefined) return [];
    const at = latest(readyAt, this.#recoversAt ?? readyAt);
    if (now < at) {
      this.#due(at);
      return [];
    }
    const made = this.#draft(now);
    if (!this.#writing.begin(made, this.#state, now)) return this.#tellOwners(made, now);
    return [{ do: 'append', position: made.position, bytes: made.bytes }];
  }

  #draft(now: Instant): Draft {
    return draft(
      {
        state: this.#state,
        position: Math.max(this.#state.position, this.startPosition) + 1,
        reign: {
          ...{ term: this.term, leader: this.#settings.id, address: this.#settings.address },
          takeoverMs: this.#holds.takeoverMs(now),
          recovering: this.#recoversAt !== undefined,
        },
        facts: (pool) => ({
          sessions: this.#correspondence.sessionsOf(pool),
          isPresent: (session) => this.#correspondence.isPresent(session),
          whyGone: (member) => this.#whyGone(member, now),
          wish: (table) => this.#wishes.of(pool, table, this.#correspondence.sessions),
        }),
      },
      this.#writing.waiting,
      this.#settings,
    );
  }

  /** Whether an owner is gone against its will. */
  #whyGone({ incarnation, proof }: Member, now: Instant): LeaveReason | undefined {
    if (this.#recoversAt !== undefined) return 'recovered';
    if (proof !== undefined && this.#deaths.has(proof)) return 'certified';
    return this.#mayAnswer(now) && this.#holds.isOver(incarnation, now) ? 'expired' : undefined;
  }

  /** Keeps what is known of owners in line with what was committed. */
  #settle({ batch, condemned }: InFlight, now: Instant): void {
    for (const incarnation of condemned) {
      this.#holds.drop(incarnation);
      this.#correspondence.forget(incarnation);
    }
    for (const { pool, records } of batch.pools) {
      for (const record of records) {
        if (record.kind !== 'join') continue;
        const { incarnation } = record.member;
        const receivedAt = this.#correspondence.sessions.get(incarnation)?.receivedAt ?? now;
        this.#due(this.#holds.renew(incarnation, receivedAt, this.#durations(pool).holdMs));
      }
    }
  }

  #confirmDeaths(now: Instant): LeaderEffect[] {
    if (this.#writing.inFlight !== undefined || !this.#mayAnswer(now)) return [];
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
