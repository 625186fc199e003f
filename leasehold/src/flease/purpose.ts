/**
 * What to do next about a claim, and whether to look before anybody has to promise anything.
 *
 * **Looking first.** Those who only ask must not outbid a holder that renews, however many they are and however often
 * they look. Who renews has a lease to lose, and asks nothing first. Who waits looks seldom, and saves the question;
 * unless it was outbid. For then somebody may have it by
 * this time whom it cannot outbid: by a clock that is ahead, another has the higher ballots for as long as the skew.
 * If so, its place is in line there; and what it still has to give back, if anything, is over.
 */

import type { Purpose } from './attempt.ts';
import type { Claim, Leaving } from './claim.ts';
import type { Self } from './decision.ts';
import { renewAtMs } from './pace.ts';

/** So often a query is made again if the answers differ, which they do while somebody renews; then under a ballot. */
const DOUBTS_MAX = 3;

export function purposeOf(
  claim: Claim,
  { id, durations }: Pick<Self, 'id' | 'durations'>,
  nowMs: number,
): Purpose | undefined {
  const { tenure, leaving } = claim;
  if (leaving !== undefined) return isTurnOf(id, claim, leaving) ? 'take' : 'free';
  if (tenure !== undefined && nowMs >= renewAtMs(tenure, durations)) return 'renew';
  const mayTake = tenure === undefined && claim.isWanted;
  // Those who ask, one after the other, must not keep those from having it who want to.
  if (claim.wants('ask') && !(mayTake && claim.isTurnOfTakers(nowMs))) return 'ask';
  return mayTake ? 'take' : undefined;
}

/** Whether what we let go of goes to somebody in this process. */
function isTurnOf(id: string, claim: Claim, { heir }: Leaving): boolean {
  if (heir !== undefined) return false;
  const [first] = claim.line;
  return first === undefined ? claim.wants('try') : first === id;
}

export function looksFirst(claim: Claim, purpose: Purpose): boolean {
  if (purpose === 'ask') return (claim.setbacks?.doubts ?? 0) < DOUBTS_MAX;
  if (purpose === 'renew') return false;
  const isHurried = purpose === 'take' && claim.leaving === undefined && claim.wants('try');
  return isHurried || claim.setbacks?.areOutbid === true;
}
