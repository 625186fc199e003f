/**
 * How soon: when there is something to do about a claim, and how long to pause when an attempt came to nothing.
 *
 *     asked ├ the rest, too ┤── answer by ──┤ failed   ├ pause ┤ again, up to twice as long each time
 *     held  ├── 0.4 × lease ──┤ renew        ├── notice ──┤ end
 *
 * Pauses are drawn at random up to these, so that two who outbid each other do not go on doing so.
 */

import type { Attempt } from './attempt.ts';
import type { Claim } from './claim.ts';
import type { Tenure } from './tenure.ts';
import type { Crowd } from './crowd.ts';
import type { ResolvedFleaseDurations } from './options.ts';

/** The first pause after a failed attempt, as a part of the time to answer. */
const FIRST_PAUSE = 1 / 32;
/** How long those who are asked first are waited for, as a part of the time to answer. */
const REST_AFTER = 1 / 8;

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
  return Math.min(workMs, tenure.state === 'held' ? tenure.untilMs - durations.noticeMs : tenure.untilMs);
}

function nextWorkMs(claim: Claim, crowd: Crowd, durations: ResolvedFleaseDurations): number {
  const { attempt, tenure, leaving, tryAtMs } = claim;
  if (attempt !== undefined) {
    return attempt.asksEverybody ? answerByMs(attempt, durations) : askTheRestAtMs(attempt, durations);
  }
  const leftMs = leaving?.untilMs ?? Number.POSITIVE_INFINITY;
  if (crowd.isRenewing(claim)) return leftMs;
  if (crowd.has(claim)) return tenure === undefined ? leftMs : renewAtMs(tenure, durations);
  if (tenure === undefined || leaving !== undefined || claim.wants('ask')) return tryAtMs;
  return Math.max(renewAtMs(tenure, durations), tryAtMs);
}
