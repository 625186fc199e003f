/** What the page knows: written by what reads and listens, shown by everything else. */

import type { OwnerAnswer, RowAnswer } from './api.ts';

/** One reading of a pool's table. */
export interface ShownTable {
  readonly pool: string;
  /** As the pool said when it was read; when that has changed, it is read again. */
  readonly changedAt: number;
  readonly logPosition: number;
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
  /** Until when a range whose state was lost is marked, by where it starts, in milliseconds of this page. */
  readonly lostUntil: Map<string, number>;
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
  lostUntil: new Map(),
  litOwner: undefined,
  key: undefined,
  keyPosition: undefined,
};
