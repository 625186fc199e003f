/**
 * The next operation on a resource, and whether an attempt begins with a query, for which no acceptor promises
 * anything.
 *
 * **Query first.** Observers must not outbid a holder that renews, regardless of how many there are and how often
 * they ask. A renewal has a lease to lose, so it skips the query. A waiting member polls rarely, so it skips the
 * query too. After being outbid it queries first: a rival whose clock runs ahead may own every higher ballot for one
 * clock skew. If so, the member belongs into the rival's waiting line, and its own unfinished release is void.
 */

import type { Operation } from './attempt.ts';
import type { ResourceState, Leaving } from './resource-state.ts';
import type { Self } from './decision.ts';
import { renewAtMs } from './timing.ts';

/** After so many queries with differing answers, as during a renewal, an `ask` reads under a ballot. */
const DOUBTS_MAX = 3;

export function nextOperation(
  state: ResourceState,
  { id, durations }: Pick<Self, 'id' | 'durations'>,
  nowMs: number,
): Operation | undefined {
  const { held, leaving } = state;
  if (leaving !== undefined) return isTurnOf(id, state, leaving) ? 'take' : 'free';
  if (held !== undefined && nowMs >= renewAtMs(held, durations)) return 'renew';
  const mayTake = held === undefined && state.isWanted;
  // A stream of `ask` requests must not starve requests that want the lease.
  if (state.wants('ask') && !(mayTake && state.isTurnOfTakers(nowMs))) return 'ask';
  return mayTake ? 'take' : undefined;
}

/** Whether the released lease goes to a request of this process. */
function isTurnOf(id: string, state: ResourceState, { successor }: Leaving): boolean {
  if (successor !== undefined) return false;
  const [first] = state.waiters;
  return first === undefined ? state.wants('try') : first === id;
}

export function queriesFirst(state: ResourceState, operation: Operation): boolean {
  if (operation === 'ask') return (state.backoff?.doubts ?? 0) < DOUBTS_MAX;
  if (operation === 'renew') return false;
  const isHurried = operation === 'take' && state.leaving === undefined && state.wants('try');
  return isHurried || state.backoff?.wasOutbid === true;
}
