/**
 * The changes between two states of a Manager, in words an operator would use.
 *
 * A table shows a state, not the events before; but every row remembers the commit that touched the row last and the
 * commit that lost the row's keys. So two states are enough to tell everything that an observer of only these two must
 * know, however many commits lie between:
 *
 *     owner before   owner now    lostAt       told as
 *     a              b            as before    moved from a to b
 *     a              b            later        lost by a, granted to b
 *     a              nobody       later        lost by a
 *     nobody, a      a            later        lost by the former owner, granted to a
 *     nobody         b            as before    granted to b
 *
 * Only the reason why an owner left is not in a state; the records give that reason ({@link reasonsIn}). Keys are
 * added up by owner, because one owner's death is hundreds of rows and one thing to know.
 */

import { formatHash, RING_SIZE } from '../../../runtime/keys/position.ts';
import { merge, type Span } from '../../../runtime/keys/range.ts';
import type { OwnerAddress } from '../../core/messages.ts';
import type { Batch, ManagerState } from '../../core/state.ts';
import type { LeaveReason, Member, MemberOrder, PoolTable } from '../../core/table.ts';
import { firstEndingAfter, percent, shareOf } from './shares.ts';

/** On the ring, `end` left out, as 16 hexadecimal digits each; one that ends at 2^64 ends at 0. */
export interface WrittenRange {
  readonly start: string;
  readonly end: string;
}

export interface Extent {
  /** How many ranges, those that touch counted as one. */
  readonly spans: number;
  readonly sharePercent: number;
  /** The first few of them. */
  readonly ranges: readonly WrittenRange[];
}

/** `unknown` when the state was read as a whole, and not change by change. */
export type WhyLeft = LeaveReason | 'unknown';

export type PoolEvent =
  | { readonly kind: 'pool.removed'; readonly pool: string }
  | { readonly kind: 'pool.joined'; readonly pool: string; readonly owner: OwnerAddress }
  | { readonly kind: 'pool.left'; readonly pool: string; readonly owner: OwnerAddress; readonly why: WhyLeft }
  | {
      readonly kind: 'pool.ordered';
      readonly pool: string;
      readonly owner: OwnerAddress;
      /** What an operator wants of the owner; null if nothing any more. */
      readonly order: MemberOrder | null;
    }
  | ({
      readonly kind: 'pool.lost';
      readonly pool: string;
      readonly owner: OwnerAddress | null;
      /**
       * Whether the owner released the keys itself: to another owner, or because of leaving. Otherwise the owner died
       * with the keys.
       */
      readonly isPlanned: boolean;
    } & Extent)
  | ({
      readonly kind: 'pool.moved';
      readonly pool: string;
      readonly from: OwnerAddress;
      readonly owner: OwnerAddress;
    } & Extent)
  | ({ readonly kind: 'pool.granted'; readonly pool: string; readonly owner: OwnerAddress } & Extent);

export type ManagerEvent =
  | { readonly kind: 'manager.elected'; readonly manager: string; readonly term: number }
  | { readonly kind: 'manager.deposed'; readonly manager: string; readonly term: number }
  | {
      readonly kind: 'manager.follows';
      readonly manager: string;
      /** Another Manager, which leads as far as this one knows, and the term. */
      readonly leader: string;
      readonly term: number;
    }
  | { readonly kind: 'manager.halted'; readonly manager: string; readonly why: string };

export type Change = PoolEvent | ManagerEvent;

/** Ranges named in an event; an owner has hundreds, and events are kept in memory. */
export const MOST_RANGES_NAMED = 8;

export type Reasons = (pool: string, incarnation: string) => LeaveReason | undefined;

const unknownReasons: Reasons = () => undefined;

/** Why members left, according to the records of these batches. */
export function reasonsIn(batches: readonly Batch[]): Reasons {
  const reasons = new Map<string, LeaveReason>();
  for (const batch of batches) {
    for (const { pool, records } of batch.pools) {
      for (const record of records) {
        if (record.kind === 'leave') reasons.set(JSON.stringify([pool, record.incarnation]), record.why);
      }
    }
  }
  return (pool, incarnation) => reasons.get(JSON.stringify([pool, incarnation]));
}

/** Pool by pool: the owners that joined or left, what operators ordered, and the keys that were lost, moved and granted. */
export function changesBetween(
  before: ManagerState,
  after: ManagerState,
  reasons: Reasons = unknownReasons,
): PoolEvent[] {
  const names = [...new Set([...before.pools.keys(), ...after.pools.keys()])].sort();
  return names.flatMap((pool) => {
    const [was, is] = [before.pool(pool), after.pool(pool)];
    if (!after.pools.has(pool)) {
      const gone: PoolEvent[] = membersBetween(pool, was, is, reasons);
      return before.pools.has(pool) ? [...gone, { kind: 'pool.removed', pool }] : [];
    }
    return was === is
      ? []
      : [
          ...membersBetween(pool, was, is, reasons),
          ...keysBetween({ pool, was, is, reasons }, before.position),
        ];
  });
}

function membersBetween(pool: string, was: PoolTable, is: PoolTable, reasons: Reasons): PoolEvent[] {
  const missingIn = (members: ReadonlyMap<string, Member>, others: ReadonlyMap<string, Member>): Member[] =>
    [...others.values()].filter(({ incarnation }) => !members.has(incarnation));
  return [
    ...missingIn(was.members, is.members).map(
      (member): PoolEvent => ({ kind: 'pool.joined', pool, owner: publicPart(member) }),
    ),
    ...missingIn(is.members, was.members).map(
      (member): PoolEvent => ({
        kind: 'pool.left',
        pool,
        owner: publicPart(member),
        why: reasons(pool, member.incarnation) ?? 'unknown',
      }),
    ),
    ...[...is.members.values()].flatMap((member): PoolEvent[] => {
      const { incarnation, order } = member;
      if (order === was.members.get(incarnation)?.order) return [];
      return [{ kind: 'pool.ordered', pool, owner: publicPart(member), order: order ?? null }];
    }),
  ];
}

/** Spans by the event that tells of them: the owner, and for a move the former owner. */
class Heap {
  readonly #piles = new Map<string, { from: string | undefined; owner: string | undefined; spans: Span[] }>();

  add(from: string | undefined, owner: string | undefined, span: Span): void {
    const key = JSON.stringify([from, owner]);
    const pile = this.#piles.get(key);
    if (pile === undefined) this.#piles.set(key, { from, owner, spans: [span] });
    else pile.spans.push(span);
  }

  tell(
    event: (from: string | undefined, owner: string | undefined, extent: Extent) => PoolEvent,
  ): PoolEvent[] {
    return [...this.#piles.values()].map(({ from, owner, spans }) => event(from, owner, extentOf(spans)));
  }
}

interface Tables {
  readonly pool: string;
  readonly was: PoolTable;
  readonly is: PoolTable;
  readonly reasons: Reasons;
}

function keysBetween({ pool, was, is, reasons }: Tables, since: number): PoolEvent[] {
  const [lost, givenBack, moved, granted] = [new Heap(), new Heap(), new Heap(), new Heap()];
  /** A member that stays has released them; one that died is no member any more. */
  const isGivenBack = (owner: string | undefined): boolean =>
    owner !== undefined && (is.members.has(owner) || reasons(pool, owner) === 'left');
  for (const row of is.rows) {
    if (row.changedAt <= since) continue;
    const isLost = row.lostAt > since;
    for (let index = firstEndingAfter(was.rows, row.start), at = row.start; at < row.end; index += 1) {
      const old = was.rows[index];
      const end = old !== undefined && old.end < row.end ? old.end : row.end;
      const span = { start: at, end };
      if (isLost) (isGivenBack(old?.owner) ? givenBack : lost).add(undefined, old?.owner, span);
      if (row.owner !== undefined && (isLost || old?.owner === undefined)) {
        granted.add(undefined, row.owner, span);
      } else if (row.owner !== undefined && old?.owner !== row.owner) {
        moved.add(old?.owner, row.owner, span);
      }
      at = end;
    }
  }
  const address = (incarnation: string | undefined): OwnerAddress => {
    const member = is.members.get(incarnation ?? '') ?? was.members.get(incarnation ?? '');
    return member === undefined ? { incarnation: incarnation ?? '', name: '', url: '' } : publicPart(member);
  };
  const lossOf =
    (isPlanned: boolean) =>
    (_: string | undefined, owner: string | undefined, extent: Extent): PoolEvent => ({
      ...{
        kind: 'pool.lost',
        pool,
        owner: owner === undefined ? null : address(owner),
        isPlanned,
        ...extent,
      },
    });
  return [
    ...lost.tell(lossOf(false)),
    ...givenBack.tell(lossOf(true)),
    ...moved.tell((from, owner, extent) => ({
      kind: 'pool.moved',
      pool,
      from: address(from),
      owner: address(owner),
      ...extent,
    })),
    ...granted.tell((_, owner, extent) => ({ kind: 'pool.granted', pool, owner: address(owner), ...extent })),
  ];
}

export function extentOf(spans: readonly Span[]): Extent {
  const whole = merge(spans);
  return {
    spans: whole.length,
    sharePercent: percent(whole.reduce((sum, span) => sum + shareOf(span), 0)),
    ranges: whole.slice(0, MOST_RANGES_NAMED).map(writeRange),
  };
}

export const writeRange = ({ start, end }: Span): WrittenRange => ({
  start: formatHash(start),
  end: formatHash(end === RING_SIZE ? 0n : end),
});

/** The part of a member's data that others may know: without the proof of death. */
export const publicPart = ({ incarnation, name, url }: OwnerAddress): OwnerAddress => ({
  incarnation,
  name,
  url,
});
