/** The events of a Manager, as the HTTP API keeps and shows them. */

import type { EventFilter, EventLog, Logged, ServiceEvent } from '../../../node/service/event-log.ts';
import type { Change } from './events.ts';

/** A change, and how far the Manager's log had got. */
export type ManagerLogEvent = Change & { readonly position: number };

export type ManagerEventLog = EventLog<ManagerLogEvent>;
export type LoggedEvent = Logged<ManagerLogEvent>;
export type { Gap } from '../../../node/service/event-log.ts';

export const at = (position: number, changes: readonly Change[]): readonly ManagerLogEvent[] =>
  changes.map((change) => ({ position, ...change }));

/** Only events of this pool, and those of the Manager; all if no pool is given. */
export const ofPool =
  (pool: string | undefined): EventFilter<ServiceEvent> =>
  (event) =>
    pool === undefined || !('pool' in event) || event.pool === pool;
