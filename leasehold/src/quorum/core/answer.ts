/** What a replica answers to the callers in its process. Every answer to a read says how it was served. */

import type { ChangeRefusal } from './membership.ts';
import type { Found, Result } from './result.ts';

/**
 * - `local`: from this replica's own state, at once, under its lease;
 * - `held`: the same, after a pending write had been committed;
 * - `leader`: by the leader, under its lease;
 * - `quorum`: after a majority said how far their logs go; no clock was trusted;
 * - `log`: as an entry of the log;
 * - `weak`: from this replica's state as it happens to be; only if asked for.
 */
export type Served = 'local' | 'held' | 'leader' | 'quorum' | 'log' | 'weak';

export interface ReadAnswer {
  readonly kind: 'read';
  readonly served: Served;
  readonly found: readonly Found[];
  /** The values are those after this slot; a watch that begins here misses nothing. */
  readonly position: number;
}

/** Why nothing was done. All but `busy` mean that the request must be repeated, perhaps elsewhere. */
export type Refusal = 'busy' | 'session-required' | 'batch-too-large' | 'not-ready' | 'disk-full';

export type Answer =
  | ReadAnswer
  | { readonly kind: 'result'; readonly result: Result; readonly position: number }
  | { readonly kind: 'changed'; readonly position: number }
  | { readonly kind: 'not-changed'; readonly why: ChangeRefusal }
  | { readonly kind: 'refused'; readonly why: Refusal };
