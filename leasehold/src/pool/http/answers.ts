/**
 * What the API answers, as values: the shapes, and how they follow from what the Manager shows.
 *
 * Three conventions hold throughout. Places on the ring are 16 hexadecimal digits (`ringPosition`,
 * `start`, `end`); everything else called a position, number or `…At` counts commits of the Manager's
 * log. Durations end in `Ms` or `Seconds`, and an instant of the Manager's own clock is told as how
 * long ago it was or how far ahead it is, because that clock means nothing elsewhere. What is not known
 * or does not apply is null, so that every field is always there.
 */

import { formatPosition, RING_SIZE } from '../../runtime/keys/position.ts';
import type { Instant } from '../../runtime/time.ts';
import type { ManagerObservation, OwnerObservation } from '../manager/observation.ts';
import type { OwnerAddress } from '../messages.ts';
import { clockRateBound, lossBoundMs, type ResolvedDurations, takeoverHoldMs } from '../options.ts';
import type { PoolTable, Row } from '../table.ts';
import { publicPart, type WrittenRange, writeRange } from './events.ts';
import { ApiProblem } from './exchange.ts';
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
import type { ApiSource, StoreObservation } from './source.ts';

export interface StatusAnswer {
  readonly id: string;
  readonly version: string;
  readonly role: ManagerObservation['role'];
  readonly haltedBecause: string | null;
  readonly isReady: boolean;
  readonly whyNotReady: string | null;
  readonly history: string | null;
  /** The latest that it knows of; null if it knows of none. */
  readonly term: number | null;
  /** Null, like the pools, owners and rows below, of one that stands by and has read no log. */
  readonly logPosition: number | null;
  /** How much longer it may lead without hearing from the log; null unless it leads. */
  readonly leadsForMs: number | null;
  /** How much longer it leads and gives out nothing, see {@link waitsMs}; null if it does not wait. */
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
  readonly store: StoreAnswer;
  /** Who leads, as far as the log says. */
  readonly leader: { readonly id: string; readonly address: string | null } | null;
  /** All Managers that share the store, as far as is known; this one first. */
  readonly managers: readonly ManagerAnswer[];
  /** How many commits a standby was behind when it last looked; null for one that leads, or has not looked yet. */
  readonly behind: number | null;
  /** Where to begin reading events, for somebody who knows everything up to now. */
  readonly latestEventId: string;
}

export interface ManagerAnswer {
  readonly id: string;
  /** Where owners and look-ups can reach it. */
  readonly address: string;
  /** Where its HTTP API can be reached; null if others cannot. */
  readonly http: string | null;
  readonly isLeader: boolean;
  readonly isSelf: boolean;
}

/** What came of a request to step down. */
export interface StepDownAnswer {
  /** It led until then; otherwise there was nothing to do. */
  readonly hasSteppedDown: boolean;
  readonly term: number | null;
  /** Who leads then, as far as the log says. */
  readonly leader: {
    readonly id: string;
    readonly address: string | null;
    readonly http: string | null;
  } | null;
}

export interface StoreAnswer {
  readonly kind: StoreObservation['kind'];
  /** The directory, the prefix of all keys in etcd, or the group that elects. */
  readonly where: string | null;
  readonly bytes: number | null;
  readonly members: readonly {
    readonly endpoint: string;
    readonly isReachable: boolean;
    readonly isLeader: boolean;
    /** It is the Manager that answers. */
    readonly isSelf: boolean;
    readonly complaint: string | null;
    readonly version: string | null;
    readonly databaseBytes: number | null;
  }[];
  /** Of Managers that keep nothing: the group that elects, as this one finds it. */
  readonly group: {
    readonly view: number;
    readonly isSettled: boolean;
    /** Why this one does not take part, in words. */
    readonly silence: string | null;
  } | null;
}

export interface PoolSummary {
  readonly name: string;
  readonly isDeclared: boolean;
  readonly policy: string;
  /** Members: those who may hold keys. */
  readonly owners: number;
  readonly lookups: number;
  readonly rows: number;
  readonly unownedPercent: number;
  /** Null unless this Manager leads. */
  readonly misplacedPercent: number | null;
  /** The position of the log at which the pool last changed; 0 if it never did. */
  readonly changedAt: number;
  /** The position of the log at which keys last lost their state; 0 if none ever did. */
  readonly lastLostAt: number;
}

export interface PoolsAnswer {
  readonly pools: readonly PoolSummary[];
  /** Null if it does not wait; otherwise pools, owners and keys of an earlier leader may be missing. */
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
  /** The position of the log at which it joined; null for one that is no member. */
  readonly joinedAt: number | null;
  readonly ranges: number;
  readonly sharePercent: number;
  /** What the policy wants it to have; null unless this Manager leads. */
  readonly wantedPercent: number | null;
  /** What it was asked to give back. */
  readonly recalledRanges: number;
  readonly recalledPercent: number;
  /** Null if this leader has not heard it yet. */
  readonly heardAgoMs: number | null;
  /** How much longer its keys are kept for it if nothing is heard. */
  readonly keptForMs: number | null;
  readonly load: number | null;
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
  readonly logPosition: number;
  readonly count: number;
  readonly rows: readonly RowAnswer[];
  readonly next: string | null;
}

export function status(source: ApiSource): StatusAnswer {
  const seen = source.observe();
  const whyNotReady = source.whyNotReady();
  const tables = [...seen.state.pools.values()];
  const known = (count: number): number | null => (knowsNothing(seen) ? null : count);
  return {
    id: seen.id,
    version: source.version,
    role: seen.role,
    haltedBecause: seen.haltedBecause ?? null,
    isReady: whyNotReady === undefined,
    whyNotReady: whyNotReady ?? null,
    history: seen.history ?? null,
    term: termKnown(source, seen) ?? null,
    logPosition: known(seen.state.position),
    leadsForMs: seen.leadsUntil === undefined ? null : msUntil(seen.leadsUntil, source.now()),
    waitsMs: waitsMs(source, seen),
    isWriting: seen.isWriting,
    startedAtMs: source.startedAtMs,
    uptimeSeconds: Math.max(0, Math.round((source.wallMs() - source.startedAtMs) / 1_000)),
    createPools: source.createPools,
    pools: known(poolNames(source, seen).length),
    owners: known(tables.reduce((sum, { members }) => sum + members.size, 0)),
    lookups: seen.lookups.length,
    rows: known(tables.reduce((sum, { rows }) => sum + rows.length, 0)),
    connections: source.traffic().connections,
    store: storeAnswer(source.store()),
    leader: leaderAnswer(source, seen),
    managers: managerAnswers(source, seen),
    behind: behindBy(seen) ?? null,
    latestEventId: source.events.latestId,
  };
}

const storeAnswer = ({ kind, where, bytes, members, group }: StoreObservation): StoreAnswer => ({
  ...{ kind, where: where ?? null, bytes: bytes ?? null },
  group: group === undefined ? null : { ...group, silence: group.silence ?? null },
  members: members.map(({ reachable, isSelf, complaint, version, databaseBytes, ...member }) => ({
    ...{ endpoint: member.endpoint, isReachable: reachable, isLeader: member.isLeader },
    ...{ isSelf: isSelf ?? false, complaint: complaint ?? null },
    ...{ version: version ?? null, databaseBytes: databaseBytes ?? null },
  })),
});

function leaderAnswer(
  source: ApiSource,
  { role, state: { reign } }: ManagerObservation,
): StatusAnswer['leader'] {
  const elected = role === 'leading' ? undefined : source.elected();
  if (elected !== undefined) return { id: elected.id, address: null };
  if (reign.leader === '') return null;
  return { id: reign.leader, address: reign.address ?? null };
}

/** Whoever leads knows it of itself; of others there is the word of the log. */
function managerAnswers(source: ApiSource, seen: ManagerObservation): readonly ManagerAnswer[] {
  const leader = seen.role === 'leading' ? seen.id : seen.state.reign.leader;
  return source.managers().map(({ id, address, http, isSelf }) => ({
    ...{ id, address, http: http ?? null, isSelf },
    isLeader: id === leader && (isSelf ? seen.role === 'leading' : true),
  }));
}

/** How many commits a standby did not have when it last looked; undefined for others. */
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

/** Those in the log, those declared, and those that somebody asks for. */
export function poolNames(source: ApiSource, seen: ManagerObservation): readonly string[] {
  const names = new Set([...seen.state.pools.keys(), ...source.declaredPools()]);
  for (const { pool } of seen.owners) names.add(pool);
  for (const { pool } of seen.lookups) names.add(pool);
  return [...names].sort();
}

/** @throws {ApiProblem} that names the pools there are, or says that this Manager cannot know */
export function checkPool(source: ApiSource, seen: ManagerObservation, pool: string): string {
  checkKnows(source, seen);
  const pools = poolNames(source, seen);
  if (pools.includes(pool)) return pool;
  throw new ApiProblem(404, 'UNKNOWN_POOL', unknownWords(seen, pool, pools), { pools });
}

function unknownWords({ waitsUntil }: ManagerObservation, pool: string, pools: readonly string[]): string {
  const some = pools.slice(0, 20).join(', ');
  if (waitsUntil !== undefined)
    return `this Manager has just begun to lead, and knows of no pool "${pool}" yet; it knows of ${some || 'none'}`;
  return `there is no pool "${pool}"; ${some === '' ? 'there is none yet' : `there are ${some}`}`;
}

/**
 * A leader whose log may know less than its owners do waits until everything has run out that others may have given;
 * then it gives out keys. Until then somebody may own what its table shows as free. Null if it does not wait.
 */
export const waitsMs = (source: ApiSource, { waitsUntil }: ManagerObservation): number | null =>
  waitsUntil === undefined ? null : msUntil(waitsUntil, source.now());

/**
 * One that stands by has all it knows from the log. Before it has read that, or where there is none to follow, its
 * own table is empty, also for a pool that is declared: it would say of every key that nobody owns it. Whoever has
 * read a log that is empty does know.
 */
export const knowsNothing = ({ role, history }: ManagerObservation): boolean =>
  role === 'standby' && history === undefined;

/** The latest term it knows of, from the log or from those that elect. */
export const termKnown = (source: ApiSource, seen: ManagerObservation): number | undefined =>
  knowsNothing(seen) ? source.elected()?.term : seen.term;

/** @throws {ApiProblem} Misdirected: whoever leads would know. */
function checkKnows(source: ApiSource, seen: ManagerObservation): void {
  if (!knowsNothing(seen)) return;
  const leader = leaderAnswer(source, seen);
  const http = managerAnswers(source, seen).find(({ id }) => id === leader?.id)?.http ?? null;
  const place = http === null ? '' : `, at ${http}`;
  const rest =
    leader === null ? ', nor who leads' : `; ${leader.id} leads, as far as it knows: ask that one${place}`;
  const message = `this Manager stands by, and knows neither pools nor owners${rest}`;
  throw new ApiProblem(421, 'STANDS_BY', message, { leader: leader === null ? null : { ...leader, http } });
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
  const misplaced = isLeading ? misplacedShare(table, seen.wish(name)) : undefined;
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
  /** What the page before gave as `next`. */
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
  const wanted = seen.role === 'leading' ? wantedShares(seen.wish(pool)) : undefined;
  const observed = seen.owners.filter((owner) => owner.pool === pool);
  const page = pageOf(observed, ({ name, incarnation }) => `${name} ${incarnation}`, paging);
  return {
    pool,
    count: observed.length,
    owners: page.items.map((owner) =>
      ownerAnswer(owner, table, owners.get(owner.incarnation) ?? NOTHING, wanted, source.now()),
    ),
    next: page.next,
  };
}

export function ownerAnswer(
  owner: OwnerObservation,
  table: PoolTable,
  { spans, share }: Share,
  wanted: ReadonlyMap<string, Share> | undefined,
  now: Instant,
): OwnerAnswer {
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
    logPosition: seen.state.position,
    count: table.rows.length,
    rows: rows.map((row) => rowAnswer(row, table)),
    next: end === RING_SIZE ? null : formatPosition(end),
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
