/**
 * Two living owners with one name. The later is taken for the restart of the earlier and gets its keys,
 * which is what a name is for; but if both live, somebody has started one server too many, and nothing
 * is wrong that either of them could see. So the Manager says it.
 *
 * It cannot know that the earlier one lives, only that it was heard a moment ago and has not said that
 * it leaves. A process that crashed and was back at once looks the same unless its death was proved.
 */

import type { Instant } from '../../runtime/time.ts';
import type { Change } from '../http/events.ts';
import type { OwnerObservation } from '../manager/observation.ts';
import type { OwnerAddress } from '../messages.ts';
import type { ManagerState } from '../state.ts';

export interface Namesakes {
  readonly pool: string;
  readonly earlier: OwnerAddress;
  readonly later: OwnerAddress;
  /** How long ago the earlier one was heard. */
  readonly heardAgoMs: number;
}

/** A member that was silent for so many renewals is not called alive. */
const RENEWALS = 2;

/**
 * Of those that have just joined: with whom each shares its name, if that one was heard just now.
 * `owners` is asked only if a name is there twice.
 */
export function namesakesIn(
  changes: readonly Change[],
  state: ManagerState,
  owners: () => readonly OwnerObservation[],
  renewEveryMs: (pool: string) => number,
  now: Instant,
): readonly Namesakes[] {
  const joined = changes.flatMap((change) => (change.kind === 'joined' ? [change] : []));
  const pools = new Map(
    [...new Set(joined.map(({ pool }) => pool))].map((pool) => [pool, twiceIn(state, pool)]),
  );
  const suspects = joined.filter(({ pool, owner }) => pools.get(pool)?.has(owner.name));
  if (suspects.length === 0) return [];
  const all = owners();
  return suspects.flatMap(({ pool, owner: later }, index) => {
    // Of two that came with one commit, the one told first is the earlier.
    const notBefore = new Set(suspects.slice(index).map(({ owner }) => owner.incarnation));
    return all.flatMap((earlier) => {
      const { lastHeardAt, isMember, isLeaving } = earlier;
      const isNamesake = earlier.pool === pool && earlier.name === later.name;
      if (!isNamesake || notBefore.has(earlier.incarnation) || !isMember || isLeaving) return [];
      if (lastHeardAt === undefined || now - lastHeardAt > RENEWALS * renewEveryMs(pool)) return [];
      return [{ pool, earlier, later, heardAgoMs: now - lastHeardAt }];
    });
  });
}

/** Names that more than one member has. */
function twiceIn(state: ManagerState, pool: string): ReadonlySet<string> {
  const [once, twice] = [new Set<string>(), new Set<string>()];
  for (const { name } of state.pool(pool).members.values()) (once.has(name) ? twice : once).add(name);
  return twice;
}
