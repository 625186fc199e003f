/**
 * The owners of keys, by a pool: the owner of a key in the pool mints the tokens of that key.
 *
 * The pool says under which number a key is held, and since which number without another holder in between (`tenure`). This file remembers
 * when each such number was first seen. That is not before the last holder stopped, because the pool grants nothing before that.
 *
 * **Keys of a process that leaves** go to their next owners with their levels (`shared/hand-over.ts`). The process that leaves reads from its look-up which process owns the keys
 * now, and under which number. The next owner takes the levels if it holds the keys since that number, and has not begun to mint them. Can a third process have
 * minted the keys in between? It would have got them after the levels were read and lost them before the hand-over was sent, which is less than a loan
 * later (`HAND_OVER_MS`). A process mints nothing in the first loan, unless the keys were handed over to it; and the process that leaves hands each key over once. ∎
 */

import { keyHash } from '../../runtime/keys/hash.ts';
import { formatHash, RING_SIZE } from '../../runtime/keys/position.ts';
import type { Span } from '../../runtime/keys/range.ts';
import type { NumberedSpan, TableRow } from '../../pool/core/messages.ts';
import type { PoolLookup } from '../../pool/shell/lookup/pool-lookup.ts';
import type { PoolOwner } from '../../pool/shell/owner/pool-owner.ts';
import type { Instant } from '../../runtime/time.ts';
import { type Directory, isOpen, type Right, wholeRight } from '../core/shared/directory.ts';
import type { Heir } from '../core/shared/hand-over.ts';

/** The scheme of the URLs of processes that share limits. */
export const LIMIT_SCHEME = 'leasehold-limit://';

type OwnerView = Pick<
  PoolOwner,
  'tenure' | 'tenures' | 'ranges' | 'isAdmitted' | 'mayBeBare' | 'refusal' | 'pool' | 'url' | 'isHeld'
>;
type LookupView = Pick<PoolLookup, 'find' | 'isCutOff' | 'row' | 'position'>;

/** Keys that a process which left handed over to this one. */
interface Gained extends NumberedSpan {
  readonly since: Instant;
}

/** What fits into the scope of one hand-over. */
const SPANS_MAX = 64;
/** More are forgotten, the oldest first: their keys then count as owned since this process was granted them. */
const GAINED_MAX = 1_024;

export class PoolDirectory implements Directory {
  readonly #owner: OwnerView;
  readonly #lookup: LookupView;
  readonly #heldSince = new Map<number, Instant>();
  #isClosed = false;
  #hasOwned = false;
  /** The keys of this process when it began to leave, less those whose next owner is known; and since when the youngest were held. */
  #leaving: { spans: readonly NumberedSpan[]; readonly youngestMs: number } | undefined;
  #gained: Gained[] = [];
  /** The names at each address, at a position of the log. */
  #names:
    | { readonly position: number | undefined; readonly at: ReadonlyMap<string, Set<string>> }
    | undefined;
  /** The owners of the pool, at a position of its log. */
  #members: { readonly position: number | undefined; readonly count: number | undefined } | undefined;

  constructor(owner: OwnerView, lookup: LookupView) {
    this.#owner = owner;
    this.#lookup = lookup;
  }

  rightTo(limiter: string, key: string, now: Instant): Right | undefined {
    if (this.#isClosed) return undefined;
    const text = poolKey(limiter, key);
    const tenure = this.#owner.tenure(text);
    if (tenure === undefined) return undefined;
    return wholeRight(this.#gainedSince(text) ?? this.#since(tenure, now), now);
  }

  find(limiter: string, key: string): string | undefined {
    if (this.#isClosed) return undefined;
    const url = this.#lookup.find(poolKey(limiter, key))?.url;
    return url === undefined || url === this.#owner.url ? undefined : addressOf(url);
  }

  /** The owners in the table whose address this is. Two, while the table still has the one that was there before. */
  namesAt(address: string): ReadonlySet<string> {
    const position = this.#lookup.position?.position;
    if (this.#names === undefined || this.#names.position !== position) {
      const at = new Map<string, Set<string>>();
      for (const { owner } of this.#rows({ start: 0n, end: RING_SIZE })) {
        if (owner === undefined) continue;
        const place = addressOf(owner.url);
        at.set(place, (at.get(place) ?? new Set()).add(owner.name));
      }
      this.#names = { position, at };
    }
    return this.#names.at.get(address) ?? NOBODY;
  }

  /**
   * Every member of a pool owns keys, but those that drain or are cordoned. So the owners in the table are the members, and perhaps this process; a
   * process that is bare of keys counts for itself alone.
   */
  members(): number | undefined {
    const position = this.#isClosed ? this.#members?.position : this.#lookup.position?.position;
    if (this.#isClosed || (this.#members !== undefined && this.#members.position === position))
      return this.#members?.count;
    const urls = new Set<string>();
    for (const { owner } of this.#rows({ start: 0n, end: RING_SIZE }))
      if (owner !== undefined) urls.add(owner.url);
    // While all keys are between two owners, and when no Manager was heard for long, the last number is the best.
    const count = urls.size === 0 ? this.#members?.count : urls.add(this.#owner.url).size;
    this.#members = { position, count };
    return count;
  }

  isReady(now: Instant): boolean {
    if (this.#isClosed) return false;
    if (this.#isBareOnPurpose()) return !this.#lookup.isCutOff;
    if (!this.#hasOwned || this.#owner.ranges().length === 0) return false;
    return [...this.#owner.tenures()].every((tenure) => isOpen(this.#since(tenure, now), now));
  }

  #isBareOnPurpose(): boolean {
    return this.#owner.isAdmitted && this.#owner.mayBeBare && this.#owner.ranges().length === 0;
  }

  get hasHeirless(): boolean {
    return (this.#leaving?.spans.length ?? 0) > 0;
  }

  heirs(now: Instant): readonly Heir[] {
    this.#leaving ??= { spans: this.#owner.ranges(), youngestMs: this.#youngestMs(now) };
    if (this.#isClosed) return [];
    const known = new Map<string, NumberedSpan[]>();
    const unknown: NumberedSpan[] = [];
    for (const span of this.#leaving.spans) {
      for (const row of this.#rows(span)) {
        const part = { start: greater(row.start, span.start), end: less(row.end, span.end) };
        const { owner } = row;
        const isNext = owner !== undefined && owner.url !== this.#owner.url && row.number > span.number;
        if (!isNext) unknown.push({ ...part, number: span.number });
        else known.set(owner.url, [...(known.get(owner.url) ?? []), { ...part, number: row.number }]);
      }
    }
    this.#leaving.spans = unknown;
    const ageMs = this.#leaving.youngestMs;
    return [...known].flatMap(([url, spans]) =>
      groupsOf(spans).map((group) => ({
        ...{ to: addressOf(url), scope: scopeOf(group), ageMs, cuts: [] },
        has: (limiter: string, key: string) => {
          const position = keyHash(poolKey(limiter, key));
          return group.some(({ start, end }) => start <= position && position < end);
        },
      })),
    );
  }

  mayTake(_from: string, scope: string, now: Instant): number | undefined {
    const spans = spansOf(scope);
    const mayBeTaken = ({ start, number }: NumberedSpan): boolean => {
      const tenure = this.#owner.tenure(start);
      if (tenure === undefined || !this.#owner.isHeld(start, number)) return false;
      return this.#gainedSince(start) === undefined && !isOpen(this.#since(tenure, now), now);
    };
    return !this.#isClosed && spans.length > 0 && spans.every(mayBeTaken) ? now : undefined;
  }

  take(_from: string, scope: string, ageMs: number, _cuts: unknown, now: Instant): void {
    const since = (now - ageMs) as Instant;
    this.#gained.push(...spansOf(scope).map((span) => ({ ...span, since })));
    const isHeld = ({ start, number }: Gained): boolean => this.#owner.isHeld(start, number);
    this.#gained = this.#gained.filter(isHeld).slice(-GAINED_MAX);
  }

  /**
   * A pool leaves something to every member that takes keys, so such an owner that had keys and has none is cut off. A newcomer may wait for its first
   * keys. Who takes none asks the others.
   */
  whyCutOff(): string | undefined {
    const { isAdmitted, refusal, pool } = this.#owner;
    if (this.#isClosed || this.#leaving !== undefined || this.#owner.ranges().length > 0) return undefined;
    const isExplained = !this.#hasOwned || this.#owner.mayBeBare;
    if (isAdmitted && isExplained && !this.#lookup.isCutOff) return undefined;
    const why =
      refusal?.message ?? 'no Manager has renewed its lease; is one running, and can it be reached?';
    return `this process owns no keys of pool ${pool}: ${why}`;
  }

  /** This process owns nothing any more, and asks no other. */
  close(): void {
    this.members();
    this.#isClosed = true;
  }

  /** The pool may have granted keys: their time begins now, and not with the first request for them. */
  noteGrants(now: Instant): void {
    const tenures = this.#owner.tenures();
    this.#hasOwned ||= tenures.size > 0;
    for (const tenure of tenures) this.#since(tenure, now);
    for (const tenure of this.#heldSince.keys()) if (!tenures.has(tenure)) this.#heldSince.delete(tenure);
  }

  #since(tenure: number, now: Instant): Instant {
    const since = this.#heldSince.get(tenure);
    if (since !== undefined) return since;
    this.#heldSince.set(tenure, now);
    return now;
  }

  /** Since when the keys were owned without a gap, by the processes that handed them over and by this one. */
  #gainedSince(key: string | bigint): Instant | undefined {
    if (this.#gained.length === 0) return undefined;
    const position = keyHash(key);
    const found = this.#gained.find(({ start, end }) => start <= position && position < end);
    return found !== undefined && this.#owner.isHeld(key, found.number) ? found.since : undefined;
  }

  #youngestMs(now: Instant): number {
    const ages = [...this.#owner.tenures()].map((tenure) => now - this.#since(tenure, now));
    return Math.min(...ages, now);
  }

  #rows({ start, end }: Span): TableRow[] {
    const rows: TableRow[] = [];
    for (let at = start; at < end; ) {
      const row = this.#lookup.row(at);
      if (row === undefined || row.end <= at) break;
      rows.push(row);
      at = row.end;
    }
    return rows;
  }
}

const NOBODY: ReadonlySet<string> = new Set();

/** Limiters are apart by their minters; in the pool their keys may meet. */
const poolKey = (limiter: string, key: string): string => `${limiter}/${key}`;
const addressOf = (url: string): string => url.slice(LIMIT_SCHEME.length);
const greater = (one: bigint, other: bigint): bigint => (one > other ? one : other);
const less = (one: bigint, other: bigint): bigint => (one < other ? one : other);

const groupsOf = (spans: readonly NumberedSpan[]): NumberedSpan[][] =>
  Array.from({ length: Math.ceil(spans.length / SPANS_MAX) }, (_, at) =>
    spans.slice(at * SPANS_MAX, (at + 1) * SPANS_MAX),
  );

/** Start, last position and number of each span. */
const scopeOf = (spans: readonly NumberedSpan[]): string =>
  spans.map(({ start, end, number }) => `${formatHash(start)}-${formatHash(end - 1n)}-${number}`).join(',');

/** Nothing for a scope that is none. */
function spansOf(scope: string): NumberedSpan[] {
  const spans = scope.split(',').map((text) => {
    const [, start = '', last = '', number = ''] =
      /^([0-9a-f]{16})-([0-9a-f]{16})-(\d{1,15})$/.exec(text) ?? [];
    return { start: BigInt(`0x${start || 0}`), end: BigInt(`0x${last || 0}`) + 1n, number: Number(number) };
  });
  return spans.some(({ number }) => number === 0) ? [] : spans;
}
