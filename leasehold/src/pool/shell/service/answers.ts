/**
 * The answers of the API, as values: their shapes, and how they follow from the Manager's observation.
 *
 * Three conventions hold throughout. Places on the ring are 16 hexadecimal digits (`hash`, `start`, `end`);
 * everything else called a position, number or `…At` counts commits of the Manager's log. Durations end in `Ms` or
 * `Seconds`, and an instant of the Manager's own clock is told as a time ago or a time ahead, because that clock means
 * nothing elsewhere. An unknown or inapplicable value is null, so that every field is always there.
 */

import { formatHash, RING_SIZE } from '../../../runtime/keys/position.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { ManagerObservation, OwnerObservation } from '../../core/manager/observation.ts';
import type { Intent, OwnerAddress } from '../../core/messages.ts';
import type { MovesObservation } from '../../core/manager/pool-moves.ts';
import { clockRateBound, lossBoundMs, type ResolvedDurations, takeoverHoldMs } from '../../core/options.ts';
import type { MemberOrder, PoolTable, Row } from '../../core/table.ts';
import { publicPart, type WrittenRange, writeRange } from './events.ts';
import { RequestProblem } from '../../../node/service/route.ts';
import type { HandleHead } from '../../../node/service/status-routes.ts';
import {
  firstEndingAfter,
  misplacedShare,
  NOTHING,
  percent,
  type Share,
  shareOf,
  tallyOf,
  wantedShares,
} from './shares.ts';
import type { ApiSource, ReplicaObservation, StoreObservation } from './source.ts';

export interface StatusAnswer extends HandleHead {
  readonly id: string;
  readonly role: ManagerObservation['role'];
  readonly haltedBecause: string | null;
  readonly history: string | null;
  /** The latest term that this Manager knows of; null if none. */
  readonly term: number | null;
  /** Null, like the pools, owners and rows below, of one that stands by and has read no log. */
  readonly position: number | null;
  /** How much longer this Manager may lead without hearing from the log; null unless leading. */
  readonly leadsForMs: number | null;
  /** How much longer this Manager leads without granting anything, see {@link waitsMs}; null if there is no wait. */
  readonly waitsMs: number | null;
  readonly isWriting: boolean;
  readonly startedAtMs: number;
  readonly uptimeSeconds: number;
  readonly createPools: ApiSource['createPools'];
  readonly pools: number | null;
  readonly owners: number | null;
  readonly lookups: number;
  readonly rows: number | null;
  readonly connections: number;
  /** Limits that have held somebody back, and how often. */
  readonly limited: readonly { readonly limit: string; readonly times: number }[];
  readonly store: StoreAnswer;
  /** The leader, as far as the log says. */
  readonly leader: { readonly id: string; readonly address: string | null } | null;
  /** All Managers that share the store, as far as is known; this one first. */
  readonly managers: readonly ManagerAnswer[];
  /** How many commits a standby was behind at the last look; null for a leader, and before the first look. */
  readonly behind: number | null;
  /** Where to begin reading events, for a client that knows everything up to now. */
  readonly latestEventId: string;
}

export interface ManagerAnswer {
  readonly id: string;
  /** Where owners and look-ups can reach the Manager. */
  readonly address: string;
  /** Where the Manager's HTTP API can be reached; null if others cannot. */
  readonly http: string | null;
  readonly isLeader: boolean;
  readonly isSelf: boolean;
}

/** The result of a request to remove a pool. */
export interface RemovePoolAnswer {
  readonly pool: string;
  /** False if the log had nothing of the pool: the pool is only declared, or asked for. */
  readonly isRemoved: boolean;
}

export interface StepDownAnswer {
  /** Whether this Manager led until then; otherwise there was nothing to do. */
  readonly hasSteppedDown: boolean;
  readonly term: number | null;
  /** The leader after that, as far as the log says. */
  readonly leader: {
    readonly id: string;
    readonly address: string | null;
    readonly http: string | null;
  } | null;
}

export interface StoreAnswer {
  readonly kind: StoreObservation['kind'];
  /** The directory, the prefix of all keys in etcd, or the group that elects or keeps the log. */
  readonly where: string | null;
  readonly bytes: number | null;
  readonly members: readonly {
    readonly endpoint: string;
    readonly isReachable: boolean;
    readonly isLeader: boolean;
    /** Whether this is the Manager that answers. */
    readonly isSelf: boolean;
    readonly complaint: string | null;
    readonly version: string | null;
    readonly databaseBytes: number | null;
  }[];
  /** Of Managers that keep nothing: the group that elects, as this Manager finds the group. */
  readonly group: {
    readonly view: number;
    readonly isSettled: boolean;
    /** Why this one does not take part, in words. */
    readonly recovery: string | null;
  } | null;
  /** Of a log in a quorum group: the replica in this Manager's process. */
  readonly replica: ReplicaObservation | null;
}

export interface PoolSummary {
  readonly name: string;
  readonly isDeclared: boolean;
  readonly policy: string;
  /** Members: the owners that may hold keys. */
  readonly owners: number;
  readonly lookups: number;
  readonly rows: number;
  readonly unownedPercent: number;
  /** Null unless this Manager leads. */
  readonly misplacedPercent: number | null;
  /** The position of the log at which the pool last changed; 0 if never. */
  readonly changedAt: number;
  /** The position of the log at which keys last lost their state; 0 if none ever did. */
  readonly lastLostAt: number;
}

export interface PoolsAnswer {
  readonly pools: readonly PoolSummary[];
  /** Null if there is no wait; otherwise pools, owners and keys of an earlier leader may be missing. */
  readonly waitsMs: number | null;
}

export interface PoolAnswer extends PoolSummary {
  readonly durations: ResolvedDurations;
  readonly virtualNodes: number | null;
  readonly bounds: {
    readonly clockRate: number;
    readonly lossToldWithinMs: number;
    readonly takeoverHoldMs: number;
  };
}

export interface OwnerAnswer extends OwnerAddress {
  readonly isMember: boolean;
  readonly isLeaving: boolean;
  readonly isProvable: boolean;
  /** The position of the log at which the owner joined; null for one that is no member. */
  readonly joinedAt: number | null;
  readonly ranges: number;
  readonly sharePercent: number;
  /** The share that the policy gives to the owner; null unless this Manager leads. */
  readonly wantedPercent: number | null;
  /** Ranges that the owner was asked to release. */
  readonly recalledRanges: number;
  readonly recalledPercent: number;
  /** Null if this leader has not heard from the owner yet. */
  readonly heardAgoMs: number | null;
  /** How much longer the Manager holds the owner's keys if nothing is heard. */
  readonly keptForMs: number | null;
  readonly load: number | null;
  /** What the owner is to do with its keys; null unless this Manager leads, and of one that is no member. */
  readonly intent: Intent | null;
  /** What an operator has ordered; null if nothing. */
  readonly order: MemberOrder | null;
  /** Moves under way, from this owner and to it; null unless this Manager leads. */
  readonly movesOut: number | null;
  readonly movesIn: number | null;
}

export interface OwnersAnswer {
  readonly pool: string;
  readonly count: number;
  readonly owners: readonly OwnerAnswer[];
  readonly next: string | null;
}

export interface LookupsAnswer {
  readonly pool: string;
  readonly count: number;
  readonly lookups: readonly { readonly address: string; readonly heardAgoMs: number }[];
  readonly next: string | null;
}

export interface RowAnswer extends WrittenRange {
  readonly owner: string | null;
  readonly ownerName: string | null;
  readonly sharePercent: number;
  readonly number: number;
  readonly lostAt: number;
  readonly changedAt: number;
}

export interface TableAnswer {
  readonly pool: string;
  readonly position: number;
  readonly count: number;
  readonly rows: readonly RowAnswer[];
  readonly next: string | null;
}

export function status(source: ApiSource): Omit<StatusAnswer, keyof HandleHead> {
  const seen = source.observe();
  const tables = [...seen.state.pools.values()];
  const known = (count: number): number | null => (knowsNothing(seen) ? null : count);
  return {
    id: seen.id,
    role: seen.role,
    haltedBecause: seen.haltedBecause ?? null,
    history: seen.history ?? null,
    term: termKnown(source, seen) ?? null,
    position: known(seen.state.position),
    leadsForMs: seen.leadsUntil === undefined ? null : msUntil(seen.leadsUntil, source.now()),
    waitsMs: waitsMs(source, seen),
    isWriting: seen.isWriting,
    startedAtMs: source.startedAtMs,
    uptimeSeconds: uptimeSeconds(source),
    createPools: source.createPools,
    pools: known(poolNames(source, seen).length),
    owners: known(tables.reduce((sum, { members }) => sum + members.size, 0)),
    lookups: seen.lookups.length,
    rows: known(tables.reduce((sum, { rows }) => sum + rows.length, 0)),
    connections: source.traffic().connections,
    limited: Object.entries(source.traffic().limited)
      .filter(([, times]) => times > 0)
      .map(([limit, times]) => ({ limit, times })),
    store: storeAnswer(source.store()),
    leader: leaderAnswer(source, seen),
    managers: managerAnswers(source, seen),
    behind: behindBy(seen) ?? null,
    latestEventId: source.events.latestId,
  };
}

export const uptimeSeconds = ({ wallMs, startedAtMs }: Pick<ApiSource, 'wallMs' | 'startedAtMs'>): number =>
  Math.max(0, Math.round((wallMs() - startedAtMs) / 1_000));

const storeAnswer = ({ kind, where, bytes, members, group, replica }: StoreObservation): StoreAnswer => ({
  ...{ kind, where: where ?? null, bytes: bytes ?? null },
  group: group === undefined ? null : { ...group, recovery: group.recovery ?? null },
  replica: replica ?? null,
  members: members.map(({ reachable, isSelf, complaint, version, databaseBytes, ...member }) => ({
    ...{ endpoint: member.endpoint, isReachable: reachable, isLeader: member.isLeader },
    ...{ isSelf: isSelf ?? false, complaint: complaint ?? null },
    ...{ version: version ?? null, databaseBytes: databaseBytes ?? null },
  })),
});

function leaderAnswer(
  source: ApiSource,
  { role, state: { leaderRecord } }: ManagerObservation,
): StatusAnswer['leader'] {
  const elected = role === 'leading' ? undefined : source.elected();
  if (elected !== undefined) return { id: elected.id, address: null };
  if (leaderRecord.leader === '') return null;
  return { id: leaderRecord.leader, address: leaderRecord.address ?? null };
}

/** A leader knows its own role for itself; about the others there is the word of the log. */
function managerAnswers(source: ApiSource, seen: ManagerObservation): readonly ManagerAnswer[] {
  const leader = seen.role === 'leading' ? seen.id : seen.state.leaderRecord.leader;
  return source.managers().map(({ id, address, http, isSelf }) => ({
    ...{ id, address, http: http ?? null, isSelf },
    isLeader: id === leader && (isSelf ? seen.role === 'leading' : true),
  }));
}

/** How many commits a standby lacked at the last look; undefined for others. */
export const behindBy = ({ headSeen, state }: ManagerObservation): number | undefined =>
  headSeen === undefined ? undefined : Math.max(0, headSeen.position - state.position);

export function stepDownAnswer(source: ApiSource, hasSteppedDown: boolean): StepDownAnswer {
  const seen = source.observe();
  const leader = leaderAnswer(source, seen);
  const place = managerAnswers(source, seen).find(({ id }) => id === leader?.id);
  return {
    hasSteppedDown,
    term: termKnown(source, seen) ?? null,
    leader: leader === null ? null : { ...leader, http: place?.http ?? null },
  };
}

/** The pools in the log, those declared, and those that an owner wants to join. A look-up makes no pool: its name may be misspelt. */
export function poolNames(source: ApiSource, seen: ManagerObservation): readonly string[] {
  const names = new Set([...seen.state.pools.keys(), ...source.declaredPools()]);
  for (const { pool } of seen.owners) names.add(pool);
  return [...names].sort();
}

/** @throws {RequestProblem} that names the pools there are, or says that this Manager cannot know */
export function checkPool(source: ApiSource, seen: ManagerObservation, pool: string): string {
  checkKnows(source, seen);
  const pools = poolNames(source, seen);
  if (pools.includes(pool)) return pool;
  throw new RequestProblem(404, 'UNKNOWN_POOL', unknownWords(seen, pool, pools), { pools });
}

function unknownWords({ waitsUntil }: ManagerObservation, pool: string, pools: readonly string[]): string {
  const some = pools.slice(0, 20).join(', ');
  if (waitsUntil !== undefined)
    return `this Manager has just begun to lead, and knows of no pool "${pool}" yet; it knows of ${some || 'none'}`;
  return `there is no pool "${pool}"; ${some === '' ? 'there is none yet' : `there are ${some}`}`;
}

/**
 * A leader whose log may know less than the owners do waits until all grants of other leaders have expired; then this
 * leader grants keys. Until then a range that the table shows as free may have an owner. Null if there is no wait.
 */
export const waitsMs = (source: ApiSource, { waitsUntil }: ManagerObservation): number | null =>
  waitsUntil === undefined ? null : msUntil(waitsUntil, source.now());

/**
 * A standby has all knowledge from the log. Before the standby has read the log, or where there is none to follow, the
 * standby's table is empty, also for a declared pool, and would show every key as unowned. A Manager that has read an
 * empty log does know.
 */
export const knowsNothing = ({ role, history }: ManagerObservation): boolean =>
  role === 'standby' && history === undefined;

/** The latest term that the Manager knows of, from the log or from the electing group. */
export const termKnown = (source: ApiSource, seen: ManagerObservation): number | undefined =>
  knowsNothing(seen) ? source.elected()?.term : seen.term;

/** @throws {RequestProblem} Misdirected: the leader would know. */
function checkKnows(source: ApiSource, seen: ManagerObservation): void {
  if (!knowsNothing(seen)) return;
  const leader = leaderAnswer(source, seen);
  const http = managerAnswers(source, seen).find(({ id }) => id === leader?.id)?.http ?? null;
  const place = http === null ? '' : `, at ${http}`;
  const rest =
    leader === null ? ', nor who leads' : `; ${leader.id} leads, as far as it knows: ask that one${place}`;
  const message = `this Manager stands by, and knows neither pools nor owners${rest}`;
  throw new RequestProblem(421, 'NOT_LEADING', message, {
    leader: leader === null ? null : { ...leader, http },
  });
}

export function poolsAnswer(source: ApiSource, seen: ManagerObservation): PoolsAnswer {
  checkKnows(source, seen);
  const pools = poolNames(source, seen).map((name) => poolSummary(source, seen, name));
  return { pools, waitsMs: waitsMs(source, seen) };
}

export function poolSummary(source: ApiSource, seen: ManagerObservation, name: string): PoolSummary {
  const table = seen.state.pool(name);
  const tally = tallyOf(table);
  const isLeading = seen.role === 'leading';
  const misplaced = isLeading ? misplacedShare(table, seen.target(name)) : undefined;
  return {
    name,
    isDeclared: source.declaredPools().includes(name),
    policy: seen.policy(name),
    owners: table.members.size,
    lookups: seen.lookups.reduce((sum, { pool }) => (pool === name ? sum + 1 : sum), 0),
    rows: table.rows.length,
    unownedPercent: percent(tally.unowned),
    misplacedPercent: misplaced === undefined ? null : percent(misplaced),
    changedAt: table.changedAt,
    lastLostAt: tally.lastLostAt,
  };
}

export function poolAnswer(source: ApiSource, seen: ManagerObservation, name: string): PoolAnswer {
  const { durations, virtualNodes } = source.settings(name);
  return {
    ...poolSummary(source, seen, name),
    durations,
    virtualNodes: virtualNodes ?? null,
    bounds: {
      clockRate: clockRateBound(durations),
      lossToldWithinMs: lossBoundMs(durations),
      takeoverHoldMs: takeoverHoldMs(durations),
    },
  };
}

export interface Paging {
  readonly limit: number;
  /** The `next` of the page before. */
  readonly after: string | undefined;
}

export function ownersAnswer(
  source: ApiSource,
  seen: ManagerObservation,
  pool: string,
  paging: Paging,
): OwnersAnswer {
  const table = seen.state.pool(pool);
  const { owners } = tallyOf(table);
  const wanted = seen.role === 'leading' ? wantedShares(seen.target(pool)) : undefined;
  const moves = seen.moves(pool);
  const observed = seen.owners.filter((owner) => owner.pool === pool);
  const page = pageOf(observed, ({ name, incarnation }) => `${name} ${incarnation}`, paging);
  return {
    pool,
    count: observed.length,
    owners: page.items.map((owner) => ({
      ...ownerAnswer(owner, table, owners.get(owner.incarnation) ?? NOTHING, wanted, source.now()),
      ...movingPart(owner.incarnation, table, moves),
    })),
    next: page.next,
  };
}

function ownerAnswer(
  owner: OwnerObservation,
  table: PoolTable,
  { spans, share }: Share,
  wanted: ReadonlyMap<string, Share> | undefined,
  now: Instant,
): Omit<OwnerAnswer, keyof MovingPart> {
  const { incarnation, isMember, isLeaving, isProvable, lastHeardAt, holdUntil, load, recalled } = owner;
  return {
    ...publicPart(owner),
    isMember,
    isLeaving,
    isProvable,
    joinedAt: table.members.get(incarnation)?.joinedAt ?? null,
    ranges: spans,
    sharePercent: percent(share),
    wantedPercent: wanted === undefined ? null : percent((wanted.get(incarnation) ?? NOTHING).share),
    recalledRanges: recalled.length,
    recalledPercent: percent(recalled.reduce((sum, span) => sum + shareOf(span), 0)),
    heardAgoMs: lastHeardAt === undefined ? null : msUntil(now, lastHeardAt),
    keptForMs: holdUntil === undefined ? null : msUntil(holdUntil, now),
    load: load ?? null,
  };
}

type MovingPart = Pick<OwnerAnswer, 'intent' | 'order' | 'movesOut' | 'movesIn'>;

/** An order is in the log, which all know; what an owner intends itself, and what is under way, only the leader hears. */
function movingPart(incarnation: string, table: PoolTable, moves: MovesObservation | undefined): MovingPart {
  const member = moves?.members.find((each) => each.incarnation === incarnation);
  const count = (end: 'from' | 'to'): number | null =>
    moves?.underway.filter((move) => move[end] === incarnation).length ?? null;
  return {
    intent: member?.intent ?? null,
    order: table.members.get(incarnation)?.order ?? null,
    movesOut: count('from'),
    movesIn: count('to'),
  };
}

export function lookupsAnswer(
  source: ApiSource,
  seen: ManagerObservation,
  pool: string,
  paging: Paging,
): LookupsAnswer {
  const observed = seen.lookups.filter((lookup) => lookup.pool === pool);
  const { items, next } = pageOf(observed, ({ address }) => address, paging);
  const lookups = items.map(({ address, lastHeardAt }) => ({
    address,
    heardAgoMs: msUntil(source.now(), lastHeardAt),
  }));
  return { pool, count: observed.length, lookups, next };
}

export function tableAnswer(
  seen: ManagerObservation,
  pool: string,
  { limit, from }: { readonly limit: number; readonly from: bigint },
): TableAnswer {
  const table = seen.state.pool(pool);
  const first = firstEndingAfter(table.rows, from);
  const rows = table.rows.slice(first, first + limit);
  const end = rows.at(-1)?.end ?? RING_SIZE;
  return {
    pool,
    position: seen.state.position,
    count: table.rows.length,
    rows: rows.map((row) => rowAnswer(row, table)),
    next: end === RING_SIZE ? null : formatHash(end),
  };
}

function rowAnswer(row: Row, table: PoolTable): RowAnswer {
  const owner = row.owner === undefined ? undefined : table.members.get(row.owner);
  return {
    ...writeRange(row),
    owner: row.owner ?? null,
    ownerName: owner?.name ?? null,
    sharePercent: percent(shareOf(row)),
    number: row.number,
    lostAt: row.lostAt,
    changedAt: row.changedAt,
  };
}

/** In the order of their keys, those after the one that the page before ended with. */
function pageOf<T>(
  all: readonly T[],
  keyOf: (item: T) => string,
  { limit, after }: Paging,
): { readonly items: readonly T[]; readonly next: string | null } {
  const keyed = all
    .map((item) => ({ item, key: keyOf(item) }))
    .filter(({ key }) => after === undefined || key > after)
    .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0));
  const page = keyed.slice(0, limit);
  return {
    items: page.map(({ item }) => item),
    next: keyed.length > limit ? (page.at(-1)?.key ?? null) : null,
  };
}

/** From one instant to another of the same clock, never below zero: nothing was heard in the future. */
export const msUntil = (until: Instant, from: Instant): number => Math.max(0, Math.round(until - from));
