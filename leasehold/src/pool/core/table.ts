/**
 * The lease table of one pool: the owner of each key, under which number, and when they last lost
 * their state. It is the result of replaying the log, and it changes only by committed records.
 *
 * Every fact a reader may later need is a fact of a row, not of a change, because a reader may
 * have missed any number of changes:
 *
 *  - `number` is the position of the commit that granted the keys. Positions only grow, so numbers
 *    only grow, and the application can use them as fencing tokens.
 *  - `lostAt` is the position at which the keys last lost their state. Splitting copies it, merging
 *    takes the greater: a reader may be told of a loss too many, never of one too few.
 *  - `changedAt` is the position of the last commit that touched the row. "All rows with
 *    `changedAt > L`" is therefore everything that a reader at position L does not know, however
 *    long ago that was: there is no change log that could be cut too early.
 *  - `continues` says which numbers the same owner held the keys under just before, when only the
 *    number has changed. It is there until the number changes again.
 *  - `ticket` names the move by which the keys reached their owner with their state. The owner must not take the keys without that
 *    state, and may hear of the commit from a leader that has only the log. It is there until the number changes again.
 *
 * The effect of each record on a row:
 *
 *     record     owner      number    lostAt    requires
 *     free       none       same      position  owned
 *     grant      given      position  same      not owned
 *     renumber   same       position  same      owned
 *     merge      same       position¹ greatest  one owner       ¹ unless all are equal
 *     move       given      position  same      owned (source and target have confirmed the ticket: `moves/hand-overs.ts`)
 *     leave      frees all that the member owns
 *     silent, heard   change no row: they are about a member (`manager/holds.ts`)
 *     order           changes no row: what an operator wants of a member (`manager/intent.ts`)
 *     moves           changes no row: from here on keys of this pool can move, and placement is sticky
 *     remove     none       0         position  no members      the pool begins anew
 *
 * Always true: rows cover [0, 2^64) exactly once, in order; a row's owner is a member; `number`,
 * `lostAt` and `changedAt` are at most the position of the last record applied.
 */

import { assert, unreachable } from '../../runtime/assert.ts';
import { RING_SIZE } from '../../runtime/keys/position.ts';
import type { Span } from '../../runtime/keys/range.ts';
import type { NumberedSpan, OwnerAddress, TableRow } from './messages.ts';
import { clipSpans } from './spans.ts';

export interface Member extends OwnerAddress {
  /** The digest of the secret that proves its death. */
  readonly proof: string | undefined;
  readonly joinedAt: number;
  /** For how long no leader has renewed its lease, in milliseconds, as far as that was committed (`manager/holds.ts`). */
  readonly silentMs?: number | undefined;
  /** What an operator wants of it. */
  readonly order?: MemberOrder | undefined;
}

/**
 * `cordoned`: to take no more keys. `emptying`: and to hand over all it has, with their state. `released`: and to give back, without their state, what
 * has not been handed over by now.
 */
export type MemberOrder = 'cordoned' | 'emptying' | 'released';

export interface Row extends NumberedSpan {
  /** The owner's incarnation. */
  readonly owner: string | undefined;
  readonly lostAt: number;
  readonly changedAt: number;
  readonly continues: readonly NumberedSpan[];
  /** Of the `move` that gave the keys to this owner under this number. */
  readonly ticket: string | undefined;
}

/** `recovered`: the log was restored from a backup, and nothing in it can be relied on. */
export type LeaveReason = 'left' | 'expired' | 'certified' | 'recovered';

export type TableRecord =
  | { readonly kind: 'join'; readonly member: Omit<Member, 'joinedAt' | 'silentMs' | 'order'> }
  | { readonly kind: 'leave'; readonly incarnation: string; readonly why: LeaveReason }
  /** No leader has renewed these members for so long, and none will before a `heard`. */
  | { readonly kind: 'silent'; readonly incarnations: readonly string[]; readonly silentMs: number }
  | { readonly kind: 'heard'; readonly incarnations: readonly string[] }
  | { readonly kind: 'free'; readonly spans: readonly Span[] }
  | { readonly kind: 'grant'; readonly incarnation: string; readonly spans: readonly Span[] }
  | { readonly kind: 'renumber'; readonly spans: readonly Span[] }
  | { readonly kind: 'merge'; readonly spans: readonly Span[] }
  | {
      readonly kind: 'move';
      readonly incarnation: string;
      readonly spans: readonly Span[];
      readonly ticket: string;
    }
  /** An operator wants this of a member, until another order or the end of its process; undefined: nothing. */
  | { readonly kind: 'order'; readonly incarnation: string; readonly order: MemberOrder | undefined }
  /** Keys of this pool can move with their state. Once a pool; never taken back, but for a removal. */
  | { readonly kind: 'moves' }
  /** The pool is no more, see `state.ts`. Alone in its batch. */
  | { readonly kind: 'remove' };

const UNOWNED: Row = {
  start: 0n,
  end: RING_SIZE,
  owner: undefined,
  number: 0,
  lostAt: 0,
  changedAt: 0,
  continues: [],
  ticket: undefined,
};

export class PoolTable {
  static readonly empty: PoolTable = new PoolTable([UNOWNED], new Map(), 0);

  /** Nobody owns anything, and all state of any key before this position is lost. */
  static unowned(lostAt: number): PoolTable {
    return new PoolTable([{ ...UNOWNED, lostAt, changedAt: lostAt }], new Map(), lostAt);
  }

  readonly rows: readonly Row[];
  readonly members: ReadonlyMap<string, Member>;
  /** The position of the last commit that touched this pool. */
  readonly changedAt: number;
  /** Whether keys of this pool can move with their state. */
  readonly hasMoves: boolean;
  #lookupRows: readonly TableRow[] | undefined;
  #since: { readonly from: number; readonly rows: readonly TableRow[] } | undefined;
  #rowsByOwner: ReadonlyMap<string, readonly Row[]> | undefined;

  constructor(
    rows: readonly Row[],
    members: ReadonlyMap<string, Member>,
    changedAt: number,
    hasMoves: boolean = false,
  ) {
    this.rows = rows;
    this.members = members;
    this.changedAt = changedAt;
    this.hasMoves = hasMoves;
  }

  /** The table after these records, all of which were committed at `position`. */
  apply(records: readonly TableRecord[], position: number): PoolTable {
    if (records.length === 0) return this;
    let { rows, hasMoves } = this;
    const members = new Map(this.members);
    for (const [index, record] of records.entries()) {
      switch (record.kind) {
        case 'join':
          members.set(record.member.incarnation, { ...record.member, joinedAt: position });
          break;
        case 'leave':
          // A network that was cut is the end of hundreds: all of a row of them go through the table at once.
          if (records[index - 1]?.kind !== 'leave') rows = leave(rows, leavesFrom(records, index), position);
          members.delete(record.incarnation);
          break;
        case 'silent':
          change(members, record.incarnations, { silentMs: record.silentMs });
          break;
        case 'heard':
          change(members, record.incarnations, { silentMs: undefined });
          break;
        case 'order':
          change(members, [record.incarnation], { order: record.order });
          break;
        case 'free':
          rows = rewrite(rows, record.spans, (row) => freed(row, position));
          break;
        case 'grant':
          assert(members.has(record.incarnation), `granted to an owner that is no member, at ${position}`);
          // One owner's death is grants to many: all of a row of them go through the table at once.
          if (records[index - 1]?.kind !== 'grant') rows = grant(rows, grantsFrom(records, index), position);
          break;
        case 'renumber':
          rows = rewrite(rows, record.spans, (row) => renumbered(row, position));
          break;
        case 'merge':
          rows = merged(rows, record.spans, position);
          break;
        case 'move':
          assert(members.has(record.incarnation), `moved to an owner that is no member, at ${position}`);
          rows = rewrite(rows, record.spans, (row) => moved(row, record, position));
          break;
        case 'moves':
          hasMoves = true;
          break;
        case 'remove':
          return PoolTable.unowned(position);
        default:
          return unreachable(record);
      }
    }
    return new PoolTable(rows, members, position, hasMoves);
  }

  /** The rows that a look-up at position `from` does not know. From 0, everything. */
  changedSince(from: number): readonly TableRow[] {
    if (from > 0 && from >= this.changedAt) return [];
    if (from > 0) {
      // Most look-ups are at the same place: where the last push left them.
      if (this.#since?.from !== from) {
        const changed = this.rows.filter((row) => row.changedAt > from);
        this.#since = { from, rows: changed.map((row) => this.#lookupRow(row)) };
      }
      return this.#since.rows;
    }
    this.#lookupRows ??= this.rows.map((row) => this.#lookupRow(row));
    return this.#lookupRows;
  }

  rowsOf(incarnation: string): readonly Row[] {
    this.#rowsByOwner ??= groupByOwner(this.rows);
    return this.#rowsByOwner.get(incarnation) ?? [];
  }

  /** Whether a member would be proved dead by the secret with this digest. */
  hasProof(proof: string): boolean {
    for (const member of this.members.values()) if (member.proof === proof) return true;
    return false;
  }

  /** A row as look-ups see it, made once: tables share rows, and so do thousands of messages. */
  #lookupRow(row: Row): TableRow {
    let seen = lookupRows.get(row);
    if (seen === undefined) {
      const { start, end, number, lostAt } = row;
      const member = row.owner === undefined ? undefined : this.members.get(row.owner);
      seen = { start, end, owner: member && addressOf(member), number, lostAt };
      lookupRows.set(row, seen);
    }
    return seen;
  }
}

const lookupRows = new WeakMap<Row, TableRow>();
const addresses = new WeakMap<Member, OwnerAddress>();

/** The public facts of a member, without the proof of its death. */
function addressOf(member: Member): OwnerAddress {
  let address = addresses.get(member);
  if (address === undefined) {
    const { incarnation, name, url } = member;
    address = { incarnation, name, url };
    addresses.set(member, address);
  }
  return address;
}

function groupByOwner(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    if (row.owner === undefined) continue;
    const group = groups.get(row.owner);
    if (group === undefined) groups.set(row.owner, [row]);
    else group.push(row);
  }
  return groups;
}

function change(
  members: Map<string, Member>,
  incarnations: readonly string[],
  changed: Pick<Member, 'silentMs'> | Pick<Member, 'order'>,
): void {
  for (const incarnation of incarnations) {
    const member = members.get(incarnation);
    if (member !== undefined) members.set(incarnation, { ...member, ...changed });
  }
}

type Move = TableRecord & { readonly kind: 'move' };
type Grant = TableRecord & { readonly kind: 'grant' };
type Leave = TableRecord & { readonly kind: 'leave' };

/** The grants that follow one another from here on. */
function grantsFrom(records: readonly TableRecord[], from: number): readonly Grant[] {
  const grants: Grant[] = [];
  for (let index = from; records[index]?.kind === 'grant'; index += 1) grants.push(records[index] as Grant);
  return grants;
}

/** The owners that leave one after the other from here on. */
function leavesFrom(records: readonly TableRecord[], from: number): ReadonlySet<string> {
  const gone = new Set<string>();
  for (let index = from; records[index]?.kind === 'leave'; index += 1)
    gone.add((records[index] as Leave).incarnation);
  return gone;
}

function leave(rows: readonly Row[], gone: ReadonlySet<string>, position: number): readonly Row[] {
  return rows.map((row) => (row.owner !== undefined && gone.has(row.owner) ? freed(row, position) : row));
}

function grant(rows: readonly Row[], grants: readonly Grant[], position: number): readonly Row[] {
  const spans = grants.flatMap(({ incarnation, spans: own }) =>
    own.map(({ start, end }) => ({ start, end, incarnation })),
  );
  if (grants.length > 1) spans.sort((one, other) => (one.start < other.start ? -1 : 1));
  return rewrite(rows, spans, (row, { incarnation }) => granted(row, incarnation, position));
}

function freed(row: Row, position: number): Row {
  assert(row.owner !== undefined, `freed twice at ${position}`);
  return {
    ...row,
    owner: undefined,
    lostAt: position,
    changedAt: position,
    continues: [],
    ticket: undefined,
  };
}

function granted(row: Row, owner: string, position: number): Row {
  assert(row.owner === undefined, `granted at ${position} although ${row.owner} owns it`);
  return { ...row, owner, number: position, changedAt: position, continues: [], ticket: undefined };
}

function moved(row: Row, { incarnation: owner, ticket }: Move, position: number): Row {
  assert(row.owner !== undefined, `moved at ${position} although nobody owns it`);
  return { ...row, owner, number: position, changedAt: position, continues: [], ticket };
}

function renumbered(row: Row, position: number): Row {
  assert(row.owner !== undefined, `renumbered at ${position} although nobody owns it`);
  return { ...row, number: position, changedAt: position, continues: [numbered(row)], ticket: undefined };
}

/** Each span, which begins and ends at a boundary, becomes one row. */
function merged(rows: readonly Row[], spans: readonly Span[], position: number): readonly Row[] {
  const result: Row[] = [];
  let next = 0;
  let parts: Row[] = [];
  for (const row of rows) {
    const span = spans[next];
    if (span === undefined || row.end <= span.start) {
      result.push(row);
      continue;
    }
    assert(row.start >= span.start && row.end <= span.end, `merge across a row at ${position}`);
    parts.push(row);
    if (row.end < span.end) continue;
    result.push(oneRow(parts, position));
    parts = [];
    next += 1;
  }
  assert(next === spans.length, `merge beyond the table at ${position}`);
  return result;
}

function oneRow(parts: readonly Row[], position: number): Row {
  const [first] = parts;
  const last = parts.at(-1);
  assert(first !== undefined && last !== undefined, `merge of nothing at ${position}`);
  assert(first.owner !== undefined, `merge of unowned rows at ${position}`);
  assert(
    parts.every((row) => row.owner === first.owner),
    `merge of two owners' rows at ${position}`,
  );
  const sameNumber = parts.every((row) => row.number === first.number);
  return {
    start: first.start,
    end: last.end,
    owner: first.owner,
    number: sameNumber ? first.number : position,
    lostAt: parts.reduce((latest, row) => Math.max(latest, row.lostAt), 0),
    changedAt: position,
    continues: sameNumber ? parts.flatMap((row) => row.continues) : parts.map(numbered),
    ticket: sameNumber && parts.every(({ ticket }) => ticket === first.ticket) ? first.ticket : undefined,
  };
}

const numbered = ({ start, end, number }: NumberedSpan): NumberedSpan => ({ start, end, number });

/**
 * Changes the rows inside `spans` (in order, disjoint), cutting rows at the spans' edges. The part
 * of a row that stays outside keeps everything it had: for a reader nothing about it has changed.
 */
function rewrite<T extends Span>(
  rows: readonly Row[],
  spans: readonly T[],
  change: (row: Row, span: T) => Row,
): readonly Row[] {
  const result: Row[] = [];
  let next = 0;
  for (const row of rows) {
    let start = row.start;
    for (let span = spans[next]; span !== undefined && span.start < row.end; span = spans[next]) {
      const from = span.start > start ? span.start : start;
      const to = span.end < row.end ? span.end : row.end;
      assert(from < to && (span.start >= start || start === row.start), 'spans out of order');
      if (from > start) result.push(clip(row, start, from));
      result.push(change(clip(row, from, to), span));
      start = to;
      if (span.end > row.end) break;
      next += 1;
    }
    if (start < row.end) result.push(clip(row, start, row.end));
  }
  assert(next === spans.length, 'spans out of order or beyond the table');
  return result;
}

/** The part of a row between two positions. Everything else about it stays, its number above all. */
function clip(row: Row, start: bigint, end: bigint): Row {
  if (start === row.start && end === row.end) return row;
  return { ...row, start, end, continues: clipSpans(row.continues, start, end) };
}
