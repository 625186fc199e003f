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
import type { ManagerObservation, OwnerObservation } from '../manager/observation.ts';
import type { OwnerAddress } from '../messages.ts';

export interface Namesakes {
  readonly pool: string;
  readonly earlier: OwnerObservation & { readonly lastHeardAt: Instant };
  readonly later: OwnerAddress;
}

/** A member that was silent for so many renewals is not called alive. */
const RENEWALS = 2;

/** Of those that have just joined: with whom each shares its name, if that one was heard just now. */
export function namesakesIn(
  changes: readonly Change[],
  observe: () => Pick<ManagerObservation, 'state' | 'owners'>,
  renewEveryMs: (pool: string) => number,
  now: Instant,
): readonly Namesakes[] {
  const joined = changes.flatMap((change) => (change.kind === 'joined' ? [change] : []));
  if (joined.length === 0) return [];
  const { state, owners } = observe();
  const isShared = (pool: string, name: string): boolean => {
    let count = 0;
    for (const member of state.pool(pool).members.values()) count += member.name === name ? 1 : 0;
    return count > 1;
  };
  return joined.flatMap(({ pool, owner: later }, index) => {
    if (!isShared(pool, later.name)) return [];
    // Of two that came with one commit, the one told first is the earlier.
    const after = new Set(joined.slice(index).map(({ owner }) => owner.incarnation));
    return owners.flatMap((earlier) => {
      const { lastHeardAt } = earlier;
      const isNamesake =
        earlier.pool === pool && earlier.name === later.name && !after.has(earlier.incarnation);
      if (!isNamesake || !earlier.isMember || earlier.isLeaving || lastHeardAt === undefined) return [];
      const isSilent = now - lastHeardAt > RENEWALS * renewEveryMs(pool);
      return isSilent ? [] : [{ pool, earlier: { ...earlier, lastHeardAt }, later }];
    });
  });
}
