/**
 * Moves of keys in every pool of a leader: the tickets of each, and when the pool begins to move keys at all.
 *
 * **A pool moves keys from a record on**, `moves`, which is written once. A Manager of an older version cannot read the record, so it stops,
 * and does not take a move for a grant of empty keys. The record also makes placement sticky. So it is written when there is
 * something to gain: two members can hand keys over, and one of them drains or has an order of an operator, or nobody has come or gone for a while; then one member that is alone suffices, so that
 * the next one to come costs no state. A pool that starts up is
 * placed by its ordinary policy, and is even at once.
 *
 * **Keys that need not move** do so only in a quiet pool, so that an owner that comes gets its part: nobody has come or gone for a while, nobody hands all
 * over, and every member was heard or had the time. No more than a part of the ring in each round, because every move is work for its owners.
 *
 * **How many owners could take the keys of an owner that drains** is not said by a leader that may know too few of them: without a target such
 * an owner may leave at once, and lose everything. So every member was heard in this term before, or has had the time to report.
 */

import { type Instant, later, latest, soonest } from '../../../runtime/time.ts';
import type { Expected, Intent, MoveOrder, Report } from '../messages.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { type HandOvers, handOvers } from '../moves/hand-overs.ts';
import type { Balance } from '../policy/policy.ts';
import { type MoveEnd, type ObservedMove, Tickets, type WantedMove } from '../moves/tickets.ts';
import { type ResolvedDurations, reportWithinMs } from '../options.ts';
import type { NumberedSpan } from '../messages.ts';
import type { Batch } from '../state.ts';
import type { MemberOrder, PoolTable, Row, TableRecord } from '../table.ts';
import { intentOf, isToBeEmpty, orderedIntent } from './intent.ts';
import { hasSuccessor, latestByName } from './namesakes.ts';
import type { Session } from './session.ts';

/** What a decision about a pool must know of moves. */
export interface MoveFacts {
  handOvers(table: PoolTable, most: number): HandOvers;
  /** Whether a move of some of these keys is under way. */
  isBusy(span: NumberedSpan): boolean;
  /** Whether keys of this owner leave it with their state, or not at all. A leader that has not heard the owner yet cannot say no. */
  mayMoveState(incarnation: string): boolean;
  /** The pool is to begin to move keys. */
  readonly isToBegin: boolean;
}

/** What an update says about moves. */
export interface MoveNews {
  readonly moves: readonly MoveOrder[];
  readonly incoming: readonly Expected[];
  readonly asked: Intent | undefined;
  readonly targets: number | undefined;
}

/** The moves of a pool, for an operator. */
export interface MovesObservation {
  /** Keys of the pool can move with their state already. */
  readonly canMove: boolean;
  readonly underway: readonly ObservedMove[];
  /** Every member, in the order in which they joined. */
  readonly members: readonly MoverObservation[];
}

export interface MoverObservation {
  readonly incarnation: string;
  readonly name: string;
  /** Its keys move with their state; undefined if this leader has not heard it. */
  readonly movesKeys: boolean | undefined;
  readonly intent: Intent;
  readonly order: MemberOrder | undefined;
  /** How many owners could take its keys; undefined as long as this leader does not know. */
  readonly targets: number | undefined;
  /** Since this leader was elected. */
  readonly sentBytes: number;
}

export interface MoveTerms {
  readonly term: number;
  /** Random, drawn by the process that leads: no two leaders issue one ticket. */
  readonly process: () => string;
  durations(pool: string): ResolvedDurations;
  quietAfterMs(pool: string): number;
  sessionsOf(pool: string): ReadonlyMap<string, Session>;
  lastSent(): number;
  due(at: Instant): void;
}

/** How much of the ring may be moved in a round for the sake of an even pool: enough for an owner in ten within two rounds. */
const BUDGET = (RING_SIZE * 9n) / 100n;
const ROUND_MS = 10_000;

/** What was moved since this instant. */
interface Round {
  readonly since: Instant;
  moved: bigint;
}

export class PoolMoves {
  readonly #terms: MoveTerms;
  readonly #tickets = new Map<string, Tickets>();
  readonly #changedAt = new Map<string, Instant>();
  readonly #dueAt = new Map<string, Instant>();
  readonly #since: Instant;
  /** Pools of which this leader knows the members well enough to count targets. */
  readonly #acquainted = new Set<string>();
  readonly #rounds = new Map<string, Round>();
  readonly #ended: Record<MoveEnd, number> = { moved: 0, returned: 0, void: 0 };
  #issued = 0;

  constructor(terms: MoveTerms, now: Instant) {
    this.#terms = terms;
    this.#since = now;
  }

  /** A report of a member; returns the owners that are to be told something else now. */
  hear(session: Session, table: PoolTable, now: Instant): ReadonlySet<string> {
    const { pool, report } = session;
    if (!this.#tickets.has(pool) && !speaksOfMoves(report)) return NOBODY;
    return this.#of(pool).hear(session, table, now);
  }

  #of(pool: string): Tickets {
    let tickets = this.#tickets.get(pool);
    if (tickets === undefined) {
      tickets = new Tickets({
        term: this.#terms.term,
        ended: (how) => {
          this.#ended[how] += 1;
        },
        nextId: () => `${this.#terms.process()}.${this.#terms.term}.${(this.#issued += 1)}`,
        sessions: () => this.#terms.sessionsOf(pool),
        lastSent: () => this.#terms.lastSent(),
        renewEveryMs: () => this.#terms.durations(pool).renewEveryMs,
      });
      this.#tickets.set(pool, tickets);
    }
    return tickets;
  }

  /** The rows of a pool as they will be when the moves under way are through. */
  rowsAfter(pool: string, { rows }: PoolTable): readonly Row[] {
    const underway = this.#tickets.get(pool)?.underway ?? [];
    if (underway.length === 0) return rows;
    return rows.flatMap((row) => afterMoves(row, underway));
  }

  /** Undefined where nobody speaks of moves. */
  facts(
    pool: string,
    table: PoolTable,
    now: Instant,
    isGone: (incarnation: string) => boolean,
    mayAnswer: boolean,
  ): MoveFacts | undefined {
    const tickets = table.hasMoves ? this.#of(pool) : this.#tickets.get(pool);
    if (tickets === undefined) return undefined;
    const sessions = this.#terms.sessionsOf(pool);
    this.#meet(pool, table, now);
    const { retryMs, renewEveryMs, holdMs } = this.#terms.durations(pool);
    const { term } = this.#terms;
    return {
      handOvers: (before, most) => {
        const confirmTimeoutMs = 2 * retryMs;
        // While nobody could be answered, nobody had anything to confirm.
        const isDeaf = (session: Session): boolean => mayAnswer && session.isUnconfirmed(holdMs, now);
        const known = { sessions, term, now, confirmTimeoutMs, renewEveryMs, isGone, isDeaf };
        const made = handOvers(before, tickets.words(), known, most);
        for (const at of made.dueAt) this.#due(pool, at);
        return made;
      },
      isBusy: (span) => tickets.isBusy(span),
      mayMoveState: (incarnation) => {
        const session = sessions.get(incarnation);
        const order = table.members.get(incarnation)?.order;
        if (order === 'released') return false;
        if (order === 'emptying') return true; // Keys that cannot be handed over stay.
        return session === undefined || session.report.transfer !== undefined;
      },
      isToBegin: !table.hasMoves && this.#isToBegin(pool, table, now),
    };
  }

  #meet(pool: string, { members }: PoolTable, now: Instant): void {
    if (this.#acquainted.has(pool)) return;
    const sessions = this.#terms.sessionsOf(pool);
    const isHeard = (incarnation: string): boolean =>
      sessions.get(incarnation)?.report.heard?.term === this.#terms.term;
    const by = later(this.#since, reportWithinMs(this.#terms.durations(pool)));
    if (now >= by || [...members.keys()].every(isHeard)) this.#acquainted.add(pool);
    else this.#due(pool, by);
  }

  #isToBegin(pool: string, table: PoolTable, now: Instant): boolean {
    const sessions = this.#terms.sessionsOf(pool);
    let movers = 0;
    let isAskedFor = false;
    for (const [incarnation, member] of table.members) {
      const report = sessions.get(incarnation)?.report;
      if (report?.transfer === undefined) continue;
      movers += 1;
      isAskedFor ||= member.order !== undefined || isToBeEmpty(member, report);
    }
    // An owner that is alone has what it gained while the pool was quiet: the next owner to come takes nothing by a recall.
    const isAlone = movers === 1 && table.members.size === 1;
    return (movers >= 2 && isAskedFor) || ((movers >= 2 || isAlone) && this.#isQuiet(pool, now));
  }

  #isQuiet(pool: string, now: Instant): boolean {
    const changedAt = latest(this.#changedAt.get(pool) ?? this.#since, this.#since);
    const quietAt = later(changedAt, this.#terms.quietAfterMs(pool));
    if (now < quietAt) this.#due(pool, quietAt);
    return now >= quietAt;
  }

  /** What may be moved in this pool although it need not; undefined: nothing. */
  balance(pool: string, table: PoolTable, now: Instant): Balance | undefined {
    const tickets = this.#tickets.get(pool);
    if (tickets === undefined || !table.hasMoves || !this.#acquainted.has(pool)) return undefined;
    const sessions = this.#terms.sessionsOf(pool);
    const { members } = table;
    for (const [incarnation, member] of members)
      if (isToBeEmpty(member, sessions.get(incarnation)?.report)) return undefined;
    if (latestByName(members).size < members.size) return undefined;
    if (!this.#isQuiet(pool, now)) return undefined;
    const budget = BUDGET - this.#movedIn(pool, tickets, now);
    return { budget, canTake: tickets.takers(table) };
  }

  /** How much of the ring this round has moved, or is about to. */
  #movedIn(pool: string, tickets: Tickets, now: Instant): bigint {
    let round = this.#rounds.get(pool);
    if (round === undefined || later(round.since, ROUND_MS) <= now) {
      round = { since: now, moved: 0n };
      this.#rounds.set(pool, round);
    }
    const moved = tickets.underway.reduce((sum, { start, end }) => sum + (end - start), round.moved);
    if (moved > 0n) this.#due(pool, later(round.since, ROUND_MS));
    return moved;
  }

  /** After a decision about a pool. */
  plan(pool: string, wanted: readonly WantedMove[] | undefined, table: PoolTable, now: Instant): void {
    const tickets = this.#tickets.get(pool);
    tickets?.plan(wanted, table, now);
    const dueAt = tickets?.dueAt(now);
    if (dueAt !== undefined) this.#due(pool, dueAt);
  }

  /** Whether a decision could follow from this alone: an owner holds other keys, or hears this leader for the first time. */
  awaits(pool: string, heard: { readonly holdsOther: boolean; readonly hearsTerm: boolean }): boolean {
    const tickets = this.#tickets.get(pool);
    if (tickets === undefined) return false;
    return heard.hearsTerm || (heard.holdsOther && tickets.isWaiting);
  }

  /** What became of moves in all pools, in this term. */
  get ended(): Readonly<Record<MoveEnd, number>> {
    return this.#ended;
  }

  observe(pool: string, table: PoolTable): MovesObservation {
    const tickets = this.#tickets.get(pool);
    const sessions = this.#terms.sessionsOf(pool);
    const knows = tickets !== undefined && this.#acquainted.has(pool);
    const members = [...table.members.values()].map((member): MoverObservation => {
      const { incarnation, name, order } = member;
      const report = sessions.get(incarnation)?.report;
      return {
        ...{ incarnation, name, order, intent: intentOf(member, report) },
        movesKeys: report === undefined ? undefined : report.transfer !== undefined,
        targets: knows ? tickets.targets(incarnation, table) : undefined,
        sentBytes: tickets?.sentBy(incarnation) ?? 0,
      };
    });
    return { canMove: table.hasMoves, underway: tickets?.observe() ?? [], members };
  }

  /** Undefined where nobody speaks of moves. */
  newsFor(session: Session, table: PoolTable): MoveNews | undefined {
    const tickets = this.#tickets.get(session.pool);
    const { incarnation } = session.identity;
    if (tickets === undefined || session.report.transfer === undefined) return undefined;
    const member = table.members.get(incarnation);
    const ordered = orderedIntent(member);
    const asked = hasSuccessor(incarnation, table.members) ? 'draining' : ordered;
    const isCounted = isToBeEmpty(member, session.report) && this.#acquainted.has(session.pool);
    const targets = isCounted ? tickets.targets(incarnation, table) : undefined;
    return { ...tickets.newsFor(session, table), asked, targets };
  }

  /** An update with this news was sent. */
  told(session: Session, news: MoveNews): void {
    this.#tickets.get(session.pool)?.instructed(news.moves, session.sent);
  }

  /** A batch is in the log. */
  committed({ pools }: Batch, tableOf: (pool: string) => PoolTable, now: Instant): void {
    for (const { pool, records } of pools) {
      if (records.some(({ kind }) => kind === 'join' || kind === 'leave')) this.#changedAt.set(pool, now);
      if (records.some(({ kind }) => kind === 'remove')) this.#forget(pool);
      const tickets = this.#tickets.get(pool);
      const round = this.#rounds.get(pool);
      if (round !== undefined) round.moved += movedBy(records);
      for (const record of records) if (record.kind === 'join') tickets?.admitted(record.member.incarnation);
      tickets?.committed(tableOf(pool), now);
    }
  }

  #forget(pool: string): void {
    this.#tickets.delete(pool);
    this.#acquainted.delete(pool);
    this.#rounds.delete(pool);
  }

  /** Pools that are to be decided about at this instant. The others are due when they will be. */
  poolsDue(now: Instant): string[] {
    const pools: string[] = [];
    for (const [pool, at] of this.#dueAt) {
      if (at > now) {
        this.#terms.due(at);
        continue;
      }
      this.#dueAt.delete(pool);
      pools.push(pool);
    }
    return pools;
  }

  #due(pool: string, at: Instant): void {
    const known = this.#dueAt.get(pool);
    this.#dueAt.set(pool, soonest(known, at) ?? at);
    this.#terms.due(at);
  }
}

/** How much of the ring these records give to another owner with its state. */
function movedBy(records: readonly TableRecord[]): bigint {
  let width = 0n;
  for (const record of records)
    if (record.kind === 'move') for (const { start, end } of record.spans) width += end - start;
  return width;
}

const NOBODY: ReadonlySet<string> = new Set();

/** Whether something may be there to be committed. */
export const handsOver = ({ handed = [], receiving = [] }: Report): boolean =>
  handed.length > 0 || receiving.some(({ digest }) => digest !== undefined);

const speaksOfMoves = ({ transfer, moving = [], receiving = [], handed = [] }: Report): boolean =>
  transfer !== undefined || moving.length > 0 || receiving.length > 0 || handed.length > 0;

/** The parts of a row, each with the owner that it is on its way to. */
function afterMoves(row: Row, underway: readonly (NumberedSpan & { readonly to: string })[]): readonly Row[] {
  const parts: Row[] = [];
  let at = row.start;
  for (const { start, end, number, to } of underway) {
    if (number !== row.number || start < at || end > row.end) continue;
    if (start > at) parts.push({ ...row, start: at, end: start });
    parts.push({ ...row, start, end, owner: to });
    at = end;
  }
  if (at === row.start) return [row];
  return at < row.end ? [...parts, { ...row, start: at }] : parts;
}
