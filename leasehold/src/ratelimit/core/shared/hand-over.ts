/**
 * The last word of an owner that leaves: the levels of its keys, for their next owners.
 *
 *     leaving owner     mints ──┤ frozen ├──── pages ────►        ◄── taken ──┤ gone
 *     next owner                                  ├ all pages are there: mints with the same bucket
 *
 * **Why no token is used twice.** The leaving owner mints nothing from the instant at which the levels are read, for as long as its process lives (`Sharer`). Each
 * key goes to one process. The next owner takes the levels only if no third process can have minted the key in between: the directory says
 * (`Directory.mayTake`). So F, the bucket with all tokens that are away (`minter.ts`), is at the next owner what it was at the last, less what the bucket would have gained on the
 * way. The loans go with the level, so the next owner need not wait until they have ended.
 *
 * All pages or none: the keys that are not named had full buckets, which is true only if no page is missing. If a page is lost, or there are too many keys, the next owner begins
 * as after a crash.
 */

import { type Instant, later } from '../../../runtime/time.ts';
import type { Cut, HandedKey, HandOver } from './messages.ts';
import { GRANT_MS } from './timing.ts';

/** A process to which keys are handed over. */
export interface Heir {
  readonly to: string;
  /** Which keys, for the directory of the next owner. */
  readonly scope: string;
  /** For how long the keys were owned, by the minting clock: those that were owned for the shortest time. */
  readonly ageMs: number;
  /** Cuts of the bucket, as of the instant of the hand-over. */
  readonly cuts: readonly Cut[];
  has(limiter: string, key: string): boolean;
}

/**
 * Levels are handed over within this time after they were read. A process that became the owner after that instant mints nothing for one loan, so none can have minted yet: the time is
 * shorter than a loan by the bound on clock rates and by the longest suspension that goes unnoticed.
 */
export const HAND_OVER_MS: number = GRANT_MS;
const SEND_AGAIN_MS = 40;
/** What fits into a message of a group, with room for one more key. */
const PAGE_BYTES = 32 * 1024;
export const PAGES_MAX = 256;

/** The hand-overs of a process that leaves. */
export class Handing {
  readonly #keys: readonly HandedKey[];
  readonly #until: Instant;
  #ids = 0;
  #sentAt: Instant | undefined;
  #left: { readonly to: string; readonly page: HandOver }[] = [];

  /** @param isOver nothing is handed over any more */
  constructor(keys: readonly HandedKey[], now: Instant, isOver: boolean = false) {
    this.#keys = keys;
    this.#until = isOver ? now : later(now, HAND_OVER_MS);
  }

  /** Nothing is handed over any more. */
  isOver(now: Instant): boolean {
    return now >= this.#until;
  }

  /** Pages that were sent and are not confirmed. */
  get unconfirmed(): number {
    return this.#left.length;
  }

  get wakeAt(): Instant | undefined {
    return this.#left.length === 0 || this.#sentAt === undefined
      ? undefined
      : later(this.#sentAt, SEND_AGAIN_MS);
  }

  add({ to, scope, ageMs, cuts, has }: Heir): void {
    const pages = pagesOf(this.#keys.filter(({ limiter, key }) => has(limiter, key)));
    if (pages.length > PAGES_MAX) return;
    this.#ids += 1;
    const id = this.#ids;
    const said = { kind: 'hand-over', id, scope, ageMs, cuts, pages: pages.length } as const;
    for (const [page, keys] of pages.entries()) this.#left.push({ to, page: { ...said, page, keys } });
    this.#sentAt = undefined;
  }

  confirmed(id: number, page: number): void {
    this.#left = this.#left.filter((each) => each.page.id !== id || each.page.page !== page);
  }

  /** The pages to send now. */
  due(now: Instant): readonly { readonly to: string; readonly page: HandOver }[] {
    if (this.isOver(now)) this.#left = [];
    if (this.#sentAt !== undefined && now < later(this.#sentAt, SEND_AGAIN_MS)) return [];
    this.#sentAt = now;
    return this.#left;
  }
}

/** At least one page: that there are no keys to name is worth knowing. */
function pagesOf(keys: readonly HandedKey[]): HandedKey[][] {
  let page: HandedKey[] = [];
  const pages = [page];
  let bytes = 0;
  for (const handed of keys) {
    const small = sizeOf(handed) > PAGE_BYTES ? withOneLoan(handed) : handed;
    bytes += sizeOf(small);
    if (bytes > PAGE_BYTES && page.length > 0) {
      pages.push((page = []));
      bytes = sizeOf(small);
    }
    page.push(small);
  }
  return pages;
}

const sizeOf = ({ limiter, key, loans }: HandedKey): number =>
  loans.reduce((sum, { borrower }) => sum + 3 * borrower.length + 30, 3 * (limiter.length + key.length) + 30);

/** The loans as one, of no borrower in particular and as long as the longest: reports do not shorten it. */
const withOneLoan = (handed: HandedKey): HandedKey => ({
  ...handed,
  loans: [
    {
      borrower: '?',
      id: 0,
      tokens: handed.loans.reduce((sum, { tokens }) => sum + tokens, 0),
      ms: Math.max(...handed.loans.map(({ ms }) => ms)),
    },
  ],
});

interface Pages {
  readonly from: string;
  readonly id: number;
  readonly got: Map<number, HandOver>;
}

/** Hand-overs of which pages are missing. */
const PENDING_MAX = 16;

export class IncomingPages {
  #pending: Pages[] = [];

  /** The keys of all pages, once: when the last page has come. */
  add(from: string, page: HandOver): readonly HandedKey[] | undefined {
    const isMeant = (each: Pages): boolean => each.from === from && each.id === page.id;
    const known = this.#pending.find(isMeant) ?? { from, id: page.id, got: new Map<number, HandOver>() };
    known.got.set(page.page, page);
    this.#pending = this.#pending.filter((each) => !isMeant(each)).slice(1 - PENDING_MAX);
    if (known.got.size < page.pages) {
      this.#pending.push(known);
      return undefined;
    }
    return [...known.got.values()].flatMap(({ keys }) => keys);
  }
}
