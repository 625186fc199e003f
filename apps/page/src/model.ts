/** What the page knows: written by what reads and listens, shown by everything else. */

import type { OwnerAnswer, RowAnswer } from './api.ts';

/** One reading of a pool's table. */
export interface ShownTable {
  readonly pool: string;
  /** As the pool said when it was read; when that has changed, it is read again. */
  readonly changedAt: number;
  readonly position: number;
  readonly rows: readonly RowAnswer[];
  /** How many rows there are; more than were read if they are very many. */
  readonly rowCount: number;
}

interface Model {
  /** The one that is looked at; empty if there is none. */
  pool: string;
  table: ShownTable | undefined;
  /** By incarnation. */
  owners: ReadonlyMap<string, OwnerAnswer>;
  /** An owner that was not heard for longer is called silent. */
  silentAfterMs: number;
  /** When everything was last read: by the clock that only goes forward, and by that on the wall. */
  readAt: { readonly clockMs: number; readonly wallMs: number } | undefined;
  /** How far the Manager's clock is ahead of this page's. */
  clockAheadMs: number;
  /** Until when ranges that an owner died with are marked, by the commit that lost them, in milliseconds of this page. */
  readonly lostUntil: Map<number, number>;
  /** The owner under the pointer. */
  litOwner: string | undefined;
  /** The key that was asked for, and where it lies on the ring. */
  key: string | undefined;
  keyPosition: string | undefined;
}

export const model: Model = {
  pool: decodeURIComponent(location.hash.slice(1)),
  table: undefined,
  owners: new Map(),
  silentAfterMs: Number.POSITIVE_INFINITY,
  readAt: undefined,
  clockAheadMs: 0,
  lostUntil: new Map(),
  litOwner: undefined,
  key: undefined,
  keyPosition: undefined,
};

/** How old what is shown is. */
export const ageMs = (): number =>
  model.readAt === undefined ? 0 : performance.now() - model.readAt.clockMs;
