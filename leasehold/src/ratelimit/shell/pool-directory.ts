/**
 * The owners of keys, by a pool: the owner of a key in the pool mints the tokens of that key.
 *
 * The pool says under which number a key is held, and since which number without another holder in between (`tenure`). This file remembers
 * when each such number was first seen. That is not before the last holder stopped, because the pool grants nothing before that.
 */

import type { PoolLookup } from '../../pool/shell/pool-lookup.ts';
import type { PoolOwner } from '../../pool/shell/pool-owner.ts';
import type { Instant } from '../../runtime/time.ts';
import { type Directory, type Right, wholeRight } from '../owner/directory.ts';

/** The scheme of the URLs of processes that share limits. */
export const LIMIT_SCHEME = 'leasehold-limit://';

type OwnerView = Pick<PoolOwner, 'tenure' | 'tenures' | 'held' | 'isAdmitted' | 'refusal' | 'pool' | 'url'>;
type LookupView = Pick<PoolLookup, 'find' | 'isCutOff'>;

export class PoolDirectory implements Directory {
  readonly #owner: OwnerView;
  readonly #lookup: LookupView;
  readonly #heldSince = new Map<number, Instant>();
  #isClosed = false;
  #hasOwned = false;

  constructor(owner: OwnerView, lookup: LookupView) {
    this.#owner = owner;
    this.#lookup = lookup;
  }

  rightTo(limiter: string, key: string, now: Instant): Right | undefined {
    if (this.#isClosed) return undefined;
    const tenure = this.#owner.tenure(poolKey(limiter, key));
    return tenure === undefined ? undefined : wholeRight(this.#since(tenure, now), now);
  }

  find(limiter: string, key: string): string | undefined {
    if (this.#isClosed) return undefined;
    const url = this.#lookup.find(poolKey(limiter, key))?.url;
    return url === undefined || url === this.#owner.url ? undefined : url.slice(LIMIT_SCHEME.length);
  }

  /** A pool leaves something to every member, so an owner that had keys and has none is cut off. A newcomer may wait for its first keys. */
  whyCutOff(): string | undefined {
    const { isAdmitted, refusal, pool } = this.#owner;
    if (this.#isClosed || this.#owner.held().length > 0) return undefined;
    if (isAdmitted && !this.#hasOwned && !this.#lookup.isCutOff) return undefined;
    const why =
      refusal?.message ?? 'no Manager has renewed its lease; is one running, and can it be reached?';
    return `this process owns no keys of pool ${pool}: ${why}`;
  }

  /** This process owns nothing any more, and asks no other. */
  close(): void {
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
}

/** Limiters are apart by their minters; in the pool their keys may meet. */
const poolKey = (limiter: string, key: string): string => `${limiter}/${key}`;
