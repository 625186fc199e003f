/**
 * Everything a Manager must not forget, and its form in the log.
 *
 * The state is the result of the batches of the log, applied in order; nothing else changes it.
 * So a standby that follows, a leader that has just read the log, and a checker that replays it all
 * have the same state at the same position, and "the log replays to the table" can be tested.
 *
 * **A pool can be removed**, and then nothing is kept of its name. But a look-up that was away may not have heard of losses in
 * it, and would find an empty pool without any. So one number is kept for all that were ever removed together, the
 * position of the last removal (`removedAt`): a pool that is not there is one unowned row with keys that were lost then. A
 * look-up of a pool that never was is told of a loss too many, never of one too few. Lease numbers are positions
 * of the log and go on growing, so a pool that begins anew under an old name gives no number twice.
 *
 * Batches and snapshots are JSON: a person with the file can read the events, and positions
 * (64 bits) are written in hexadecimal. `docs/decisions/0004` has the cost.
 */

import { assert } from '../../runtime/assert.ts';
import { StorageError } from '../../runtime/errors.ts';
import type { LogStart } from '../../log/log.ts';
import type { Span } from '../../runtime/keys/range.ts';
import type { NumberedSpan } from './messages.ts';
import {
  type LeaveReason,
  type Member,
  type MemberOrder,
  PoolTable,
  type Row,
  type TableRecord,
} from './table.ts';

/** Which leader wrote a batch, and the facts about it that the next leader needs. */
export interface LeaderRecord {
  readonly term: number;
  /** The Manager that led. */
  readonly leader: string;
  /** The address at which that Manager said it can be reached. */
  readonly address?: string | undefined;
  /** The log was restored, and not everybody in it has been removed yet. */
  readonly recovering?: boolean | undefined;
  /**
   * How long the next leader must wait for leases that this leader, or an earlier one, may have
   * granted: Managers need not all have the same durations.
   */
  readonly takeoverMs: number;
}

/** The content of one append: everything decided in one turn. */
export interface Batch extends LeaderRecord {
  readonly pools: readonly { readonly pool: string; readonly records: readonly TableRecord[] }[];
}

/** The log holds something this version cannot read. Nothing was changed; use a newer version. */
const unreadableLog = (what: string, options?: ErrorOptions): StorageError =>
  new StorageError('UNREADABLE_LOG', `the log holds ${what}`, { module: 'manager', ...options });

/** Does the error say that a newer version wrote the log, or nothing that this version can read? */
export const isUnreadableLog = (error: unknown): error is StorageError =>
  error instanceof StorageError && error.code === 'UNREADABLE_LOG';

export class ManagerState {
  readonly position: number;
  /** The record of the last batch. */
  readonly leaderRecord: LeaderRecord;
  readonly pools: ReadonlyMap<string, PoolTable>;
  /** The state of a pool that is not among them. */
  readonly #absent: PoolTable;

  constructor(
    position: number,
    leaderRecord: LeaderRecord,
    pools: ReadonlyMap<string, PoolTable>,
    absent: PoolTable = PoolTable.empty,
  ) {
    this.position = position;
    this.leaderRecord = leaderRecord;
    this.pools = pools;
    this.#absent = absent;
  }

  /** Where a pool was last removed; 0 if none ever was. */
  get removedAt(): number {
    return this.#absent.changedAt;
  }

  static readonly empty: ManagerState = new ManagerState(
    0,
    { term: 0, leader: '', takeoverMs: 0 },
    new Map(),
  );

  get term(): number {
    return this.leaderRecord.term;
  }

  /** The state after everything the log holds. */
  static replay(start: LogStart): ManagerState {
    let state = start.snapshot
      ? decodeSnapshot(start.snapshot.position, start.snapshot.bytes)
      : ManagerState.empty;
    for (const batch of start.batches) state = state.apply(batch.position, decodeBatch(batch.bytes));
    return state;
  }

  apply(position: number, batch: Batch): ManagerState {
    assert(position > this.position, `batch ${position} applied at ${this.position}`);
    const pools = new Map(this.pools);
    let absent = this.#absent;
    for (const { pool, records } of batch.pools) {
      const table = (pools.get(pool) ?? this.#absent).apply(records, position);
      if (records.some(({ kind }) => kind === 'remove')) {
        pools.delete(pool);
        absent = table;
      } else pools.set(pool, table);
    }
    return new ManagerState(position, leaderRecordOf(batch), pools, absent);
  }

  /** A pool that nobody has joined yet, or that was removed, is one unowned row. */
  pool(name: string): PoolTable {
    return this.pools.get(name) ?? this.#absent;
  }
}

const leaderRecordOf = ({ term, leader, takeoverMs, address, recovering }: LeaderRecord): LeaderRecord => ({
  ...{ term, leader, takeoverMs },
  ...(address === undefined ? {} : { address }),
  ...(recovering === true ? { recovering } : {}),
});

const FORMAT = 1;
/**
 * Of a snapshot in which a member is silent, or after the removal of a pool. A version that knows of neither would renew the
 * one without a word in the log, and forget losses in the other, so it must not be able to read the snapshot.
 */
const FORMAT_2 = 2;
/**
 * Of a snapshot of a pool in which keys can move, or with a member that has an order. A version that does not know tickets would grant moved keys as empty, in silence.
 * It cannot read the records `moves` and `order` either, so it stops in time in all cases.
 */
const FORMAT_3 = 3;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const bytesOf = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** Bytes that are no JSON, of another format, or damaged, are unreadable: the reader has changed nothing yet. */
function readable<Written, T>(
  bytes: Uint8Array,
  read: (written: Written) => T,
  formats: readonly unknown[] = [FORMAT],
): T {
  const value = parsed(bytes);
  if (!formats.includes(value?.format))
    throw unreadableLog(`format ${value?.format}, and this version reads ${formats.join(', ')}`);
  try {
    return read(value as Written);
  } catch (cause) {
    if (isUnreadableLog(cause)) throw cause;
    throw unreadableLog(`something damaged of format ${value?.format}`, { cause });
  }
}

function parsed(bytes: Uint8Array): { readonly format?: unknown } | null {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (cause) {
    throw unreadableLog('bytes that are not JSON', { cause });
  }
}

/** Safety rests on these numbers, and JavaScript would go on with anything. */
function readLeaderRecord(written: LeaderRecord): LeaderRecord {
  const { term, leader, takeoverMs, address } = written;
  const isLeaderRecord =
    Number.isSafeInteger(term) && typeof leader === 'string' && Number.isFinite(takeoverMs);
  if (!isLeaderRecord || (address !== undefined && typeof address !== 'string'))
    throw unreadableLog('something of which it is not clear who wrote it');
  return leaderRecordOf(written);
}

// A record as it is written: the kind, then its facts.
type WrittenSpan = readonly [start: string, end: string];
type WrittenRecord =
  | readonly ['join', Omit<Member, 'joinedAt' | 'silentMs' | 'order'>]
  | readonly ['order', string, MemberOrder | null]
  | readonly ['silent', readonly string[], number]
  | readonly ['heard', readonly string[]]
  | readonly ['leave', string, LeaveReason]
  | readonly ['free' | 'renumber' | 'merge', readonly WrittenSpan[]]
  | readonly ['grant', string, readonly WrittenSpan[]]
  | readonly ['move', string, readonly WrittenSpan[], ticket: string]
  | readonly ['remove' | 'moves'];
type WrittenBatch = LeaderRecord & {
  readonly pools: Record<string, readonly WrittenRecord[]>;
};

export function encodeBatch(batch: Batch): Uint8Array {
  const pools = Object.fromEntries(batch.pools.map(({ pool, records }) => [pool, records.map(writeRecord)]));
  return bytesOf({ format: FORMAT, ...leaderRecordOf(batch), pools });
}

/** @throws {StorageError} */
export function decodeBatch(bytes: Uint8Array): Batch {
  return readable(bytes, (written: WrittenBatch) => ({
    ...readLeaderRecord(written),
    pools: Object.entries(written.pools).map(([pool, records]) => ({
      pool,
      records: records.map(readRecord),
    })),
  }));
}

const writeSpan = ({ start, end }: Span): WrittenSpan => [start.toString(16), end.toString(16)];
const readSpan = ([start, end]: WrittenSpan): Span => ({
  start: readPosition(start),
  end: readPosition(end),
});
const readPosition = (hexadecimal: string): bigint => BigInt(`0x${hexadecimal}`);

function writeRecord(record: TableRecord): WrittenRecord {
  switch (record.kind) {
    case 'join':
      return ['join', record.member];
    case 'leave':
      return ['leave', record.incarnation, record.why];
    case 'silent':
      return ['silent', record.incarnations, record.silentMs];
    case 'heard':
      return ['heard', record.incarnations];
    case 'order':
      return ['order', record.incarnation, record.order ?? null];
    case 'grant':
      return ['grant', record.incarnation, record.spans.map(writeSpan)];
    case 'move':
      return ['move', record.incarnation, record.spans.map(writeSpan), record.ticket];
    case 'remove':
    case 'moves':
      return [record.kind];
    default:
      return [record.kind, record.spans.map(writeSpan)];
  }
}

function readRecord(written: WrittenRecord): TableRecord {
  switch (written[0]) {
    case 'join':
      return { kind: 'join', member: { ...written[1], proof: written[1].proof } };
    case 'leave':
      return { kind: 'leave', incarnation: written[1], why: written[2] };
    case 'silent':
      return { kind: 'silent', incarnations: written[1], silentMs: milliseconds(written[2]) };
    case 'heard':
      return { kind: 'heard', incarnations: written[1] };
    case 'order':
      return { kind: 'order', incarnation: written[1], order: readOrder(written[2]) };
    case 'grant':
      return { kind: 'grant', incarnation: written[1], spans: written[2].map(readSpan) };
    case 'move':
      return {
        kind: 'move',
        incarnation: written[1],
        spans: written[2].map(readSpan),
        ticket: readTicket(written[3]),
      };
    case 'free':
    case 'renumber':
    case 'merge':
      return { kind: written[0], spans: written[1].map(readSpan) };
    case 'remove':
    case 'moves':
      return { kind: written[0] };
    default:
      throw unreadableLog(`a record of kind ${String(written[0])}`);
  }
}

type WrittenNumbered = readonly [start: string, end: string, number: number];
type WrittenRow = readonly [
  end: string,
  owner: string | null,
  number: number,
  lostAt: number,
  changedAt: number,
  continues: readonly WrittenNumbered[],
  /** Of format 3. */
  ticket?: string,
];
type WrittenPool = {
  /** Of format 3. */
  readonly moves?: true;
  readonly changedAt: number;
  readonly members: readonly Member[];
  readonly rows: readonly WrittenRow[];
};
type WrittenSnapshot = LeaderRecord & {
  readonly pools: Record<string, WrittenPool>;
  /** Of format 2. */
  readonly removedAt?: number;
};

export function encodeSnapshot(state: ManagerState): Uint8Array {
  const pools = Object.fromEntries([...state.pools].map(([name, table]) => [name, writePool(table)]));
  const { removedAt } = state;
  const removal = removedAt === 0 ? {} : { removedAt };
  const isOfFormat2 = hasSilence(state) || removedAt > 0;
  const format = hasMovesOrOrders(state) ? FORMAT_3 : isOfFormat2 ? FORMAT_2 : FORMAT;
  return bytesOf({ format, ...state.leaderRecord, ...removal, pools });
}

function hasSilence({ pools }: ManagerState): boolean {
  for (const { members } of pools.values())
    for (const { silentMs } of members.values()) if (silentMs !== undefined) return true;
  return false;
}

function hasMovesOrOrders({ pools }: ManagerState): boolean {
  for (const { hasMoves, members } of pools.values()) {
    if (hasMoves) return true;
    for (const { order } of members.values()) if (order !== undefined) return true;
  }
  return false;
}

/** Keys that came by a ticket must not be taken without the state that came with it. */
function readTicket(written: unknown): string {
  if (typeof written === 'string' && written !== '') return written;
  throw unreadableLog('a move without a ticket');
}

/** An order of a later version must not be taken for none. */
function readOrder(written: unknown): MemberOrder | undefined {
  if (written === null || written === undefined) return undefined;
  if (written === 'cordoned' || written === 'emptying' || written === 'released') return written;
  throw unreadableLog(`an order ${JSON.stringify(written)}`);
}

/** Safety rests on it: it is waited for less by so much. */
function milliseconds(written: unknown): number {
  if (typeof written === 'number' && Number.isFinite(written) && written >= 0) return written;
  throw unreadableLog('a duration that is none');
}

/** @throws {StorageError} */
export function decodeSnapshot(position: number, bytes: Uint8Array): ManagerState {
  const read = (written: WrittenSnapshot): ManagerState => {
    const tables = Object.entries(written.pools).map(([name, pool]) => [name, readPool(pool)] as const);
    return new ManagerState(position, readLeaderRecord(written), new Map(tables), readAbsent(written));
  };
  return readable(bytes, read, [FORMAT, FORMAT_2, FORMAT_3]);
}

function readAbsent({ removedAt = 0 }: WrittenSnapshot): PoolTable {
  if (!Number.isSafeInteger(removedAt)) throw unreadableLog('a removal without a position');
  return removedAt === 0 ? PoolTable.empty : PoolTable.unowned(removedAt);
}

const writePool = (table: PoolTable): WrittenPool => ({
  changedAt: table.changedAt,
  ...(table.hasMoves ? { moves: true } : {}),
  members: [...table.members.values()],
  rows: table.rows.map((row): WrittenRow => {
    const written = [
      row.end.toString(16),
      row.owner ?? null,
      row.number,
      row.lostAt,
      row.changedAt,
      row.continues.map(({ start, end, number }) => [start.toString(16), end.toString(16), number] as const),
    ] as const;
    return row.ticket === undefined ? written : [...written, row.ticket];
  }),
});

function readPool(pool: WrittenPool): PoolTable {
  let start = 0n;
  const rows = pool.rows.map(([end, owner, number, lostAt, changedAt, continues, ticket]): Row => {
    const row = {
      start,
      end: readPosition(end),
      owner: owner ?? undefined,
      number,
      lostAt,
      changedAt,
      continues: continues.map(readNumbered),
      ticket: ticket === undefined ? undefined : readTicket(ticket),
    };
    start = row.end;
    return row;
  });
  const members = pool.members.map((member) => [member.incarnation, readMember(member)] as const);
  return new PoolTable(rows, new Map(members), pool.changedAt, pool.moves === true);
}

const readMember = ({ silentMs, order, ...member }: Member): Member => ({
  ...{ ...member, proof: member.proof },
  ...(silentMs === undefined ? {} : { silentMs: milliseconds(silentMs) }),
  ...(order === undefined ? {} : { order: readOrder(order) }),
});

const readNumbered = ([start, end, number]: WrittenNumbered): NumberedSpan => ({
  start: readPosition(start),
  end: readPosition(end),
  number,
});
