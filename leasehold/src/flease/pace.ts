/**
 * How soon, and how high: when there is something to do about a claim, how long to pause when an attempt came to nothing, and
 * which round to take next.
 *
 *     asked ├ the rest, too ┤── answer by ──┤ failed   ├ pause ┤ again, up to twice as long each time
 *     held  ├── 0.4 × lease ──┤ renew        ├── notice ──┤ end
 *
 * Pauses are drawn at random up to these, so that two who outbid each other do not go on doing so.
 */

import type { Attempt } from './attempt.ts';
import type { Claim, Purpose, Tenure } from './claim.ts';
import type { Crowd } from './crowd.ts';
import { ROUND_MAX } from './messages.ts';
import type { ResolvedFleaseDurations } from './options.ts';

/** The first pause after a failed attempt, as a part of the time to answer. */
const FIRST_PAUSE = 1 / 32;
/** How long those who are asked first are waited for, as a part of the time to answer. */
const REST_AFTER = 1 / 8;
/** How often who renews takes a leap that is four times as high, above the round that has outbid it. */
const LEAPS_MAX = 12;

export const answerByMs = ({ ballot }: Attempt, { answerMs }: ResolvedFleaseDurations): number =>
  ballot.askedMs + answerMs;

/** When those who are asked have had their time, and the others are asked as well. */
export const askTheRestAtMs = ({ sinceMs }: Attempt, { answerMs }: ResolvedFleaseDurations): number =>
  sinceMs + answerMs * REST_AFTER;

export const renewAtMs = ({ untilMs }: Tenure, { leaseMs, renewAfterMs }: ResolvedFleaseDurations): number =>
  untilMs - leaseMs + renewAfterMs;

export const pauseMs = (failures: number, { answerMs }: ResolvedFleaseDurations): number =>
  answerMs * Math.min(1, FIRST_PAUSE * 2 ** (failures - 1));

/** When there will be something to do about this claim. */
export function nextMs(claim: Claim, crowd: Crowd, durations: ResolvedFleaseDurations): number {
  const { tenure } = claim;
  const workMs = nextWorkMs(claim, crowd, durations);
  if (tenure === undefined) return workMs;
  return Math.min(workMs, tenure.isNoticed ? tenure.untilMs : tenure.untilMs - durations.noticeMs);
}

function nextWorkMs(claim: Claim, crowd: Crowd, durations: ResolvedFleaseDurations): number {
  const { attempt, tenure, leaving, tryAtMs } = claim;
  if (attempt !== undefined) {
    return attempt.asksEverybody ? answerByMs(attempt, durations) : askTheRestAtMs(attempt, durations);
  }
  if (crowd.isRenewing(claim)) return Number.POSITIVE_INFINITY;
  if (crowd.has(claim)) return tenure === undefined ? Number.POSITIVE_INFINITY : renewAtMs(tenure, durations);
  if (tenure === undefined || leaving !== undefined) return tryAtMs;
  return Math.max(renewAtMs(tenure, durations), tryAtMs);
}

/**
 * Higher than any that is known in this interval: in the next one all begin anew. Who renews has a lease to lose, and
 * what it knows may be old: it soon exceeds those who have not.
 */
export function roundFor(
  claim: Claim,
  purpose: Purpose,
  nowMs: number,
  { attemptMs }: ResolvedFleaseDurations,
): number {
  const interval = Math.floor(nowMs / attemptMs);
  if (claim.roundInterval !== interval) claim.roundSeen = 0;
  claim.roundInterval = interval;
  const leap = purpose === 'renew' ? 4 ** Math.min(claim.failures, LEAPS_MAX) : 1;
  return Math.min(ROUND_MAX, claim.roundSeen + leap);
}
