/**
 * How much of the ring each owner has, as shares in [0, 1]: the figures that people read from a table of ranges.
 *
 * Tables are immutable, and clients ask every few seconds; so the sums for a table are kept for as long as the table
 * is. Parts that may make up the whole ring are added up in places and divided once: a sum of shares can come out
 * above 1, and alerts compare the sum.
 */

import { type Hash, RING_SIZE } from '../../../runtime/keys/position.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import type { Placement } from '../../core/policy/policy.ts';
import type { PoolTable, Row } from '../../core/table.ts';

export interface Share {
  readonly spans: number;
  readonly share: number;
}

export interface Tally {
  readonly unowned: number;
  /** By incarnation. */
  readonly owners: ReadonlyMap<string, Share>;
  /** The position of the log at which keys last lost their state; 0 if never. */
  readonly lastLostAt: number;
}

export const NOTHING: Share = { spans: 0, share: 0 };

const RING = Number(RING_SIZE);

export const shareOf = ({ start, end }: Span): number => Number(end - start) / RING;

const places = (sum: bigint, { start, end }: Span): bigint => sum + end - start;

const tallies = new WeakMap<PoolTable, Tally>();

export function tallyOf(table: PoolTable): Tally {
  let tally = tallies.get(table);
  if (tally === undefined) {
    tally = {
      unowned: Number(table.rows.filter(({ owner }) => owner === undefined).reduce(places, 0n)) / RING,
      owners: sharesBy(table.rows, (row) => row.owner),
      lastLostAt: table.rows.reduce((latest, { lostAt }) => Math.max(latest, lostAt), 0),
    };
    tallies.set(table, tally);
  }
  return tally;
}

/** By incarnation, how much the policy wants each to have. */
export const wantedShares = (target: readonly Placement[]): ReadonlyMap<string, Share> =>
  sharesBy(target, ({ incarnation }) => incarnation);

/** The spans, added up by owner. */
export function sharesBy<T extends Span>(
  spans: readonly T[],
  whose: (span: T) => string | undefined,
): ReadonlyMap<string, Share> {
  const shares = new Map<string, Share>();
  for (const span of spans) {
    const owner = whose(span);
    if (owner === undefined) continue;
    const before = shares.get(owner) ?? NOTHING;
    shares.set(owner, { spans: before.spans + 1, share: before.share + shareOf(span) });
  }
  return shares;
}

const misplaced = new WeakMap<PoolTable, { readonly target: readonly Placement[]; readonly share: number }>();

/** How much is not where the policy wants; undefined if the policy's target is unknown. */
export function misplacedShare(table: PoolTable, target: readonly Placement[]): number | undefined {
  if (target.length === 0) return table.members.size === 0 ? 0 : undefined;
  const known = misplaced.get(table);
  if (known?.target === target) return known.share;
  const share = apart(table.rows, target);
  misplaced.set(table, { target, share });
  return share;
}

function apart(rows: readonly Row[], target: readonly Placement[]): number {
  let sum = 0n;
  let next = 0;
  for (const row of rows) {
    for (let placed = target[next]; placed !== undefined; placed = target[next]) {
      if (placed.start < row.end && placed.incarnation !== row.owner) {
        sum = places(sum, {
          start: placed.start > row.start ? placed.start : row.start,
          end: placed.end < row.end ? placed.end : row.end,
        });
      }
      if (placed.end > row.end) break;
      next += 1;
    }
  }
  return Number(sum) / RING;
}

/** The one of these spans, in order, that has the position. */
export function spanAt<T extends Span>(spans: readonly T[], position: Hash): T | undefined {
  const found = spans[firstEndingAfter(spans, position)];
  return found !== undefined && found.start <= position ? found : undefined;
}

/** The index of the first of these spans, in order, that reaches beyond a position. */
export function firstEndingAfter(spans: readonly Span[], position: bigint): number {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((spans[middle]?.end ?? RING_SIZE) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** 0.12345 is 12.35: two digits, for people. */
export const percent = (share: number): number => Math.round(share * 10_000) / 100;
