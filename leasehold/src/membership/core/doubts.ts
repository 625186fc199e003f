/**
 * Which servers this one cannot talk to, though they belong to the same view: a message to the server is not acknowledged, the server does not confirm the view, or is
 * registered and out of reach, each for `doubtMs`. A doubt becomes a conflict (`conflicts.ts`).
 */

import type { Instant } from '../../runtime/time.ts';
import type { ByRegistry } from './agreement/by-registry.ts';
import type { MemberId } from './incarnation.ts';
import type { Overlay } from './overlay.ts';
import type { RecordTable } from './record-table.ts';
import type { ViewLease } from './view-lease.ts';

interface Sources {
  readonly self: string;
  readonly doubtMs: number;
  readonly overlay: Overlay;
  readonly table: RecordTable;
  readonly registry: ByRegistry | undefined;
}

/** @param lease on the present view; undefined during a change */
export function* doubted(
  { self, doubtMs, overlay, table, registry }: Sources,
  lease: ViewLease | undefined,
  now: Instant,
): Generator<MemberId> {
  yield* overlay.doubtedAfter(doubtMs, now);
  if (registry !== undefined) yield* registry.outOfReachFor(doubtMs, self, table, now);
  for (const name of lease?.unconfirmedFor(doubtMs, now) ?? []) {
    const member = lease?.view.members.find((each) => each.name === name);
    if (member !== undefined) yield member;
  }
}
