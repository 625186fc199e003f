/**
 * When there is work for a resource, and how long to pause after a failed attempt.
 *
 *     asked ├ the rest, too ┤── answer by ──┤ failed   ├ pause ┤ again, up to twice as long each time
 *     held  ├── 0.4 × lease ──┤ renew        ├── notice ──┤ end
 *
 * A pause is drawn at random up to its limit, so that two rivals do not outbid each other again and again.
 */

import type { Attempt } from './attempt.ts';
import type { ResourceState } from './resource-state.ts';
import type { HeldLease } from './held-lease.ts';
import type { AdmissionQueue } from './admission-queue.ts';
import type { ResolvedFleaseDurations } from './options.ts';

/** The first pause after a failed attempt, as a part of the answer timeout. */
const FIRST_PAUSE = 1 / 32;
/** How long an attempt waits for the members asked first, as a part of the answer timeout. */
const REST_AFTER = 1 / 8;

export const answerByMs = ({ ballot }: Attempt, { answerTimeoutMs }: ResolvedFleaseDurations): number =>
  ballot.askedMs + answerTimeoutMs;

/** When the attempt asks the remaining members as well. */
export const askTheRestAtMs = ({ sinceMs }: Attempt, { answerTimeoutMs }: ResolvedFleaseDurations): number =>
  sinceMs + answerTimeoutMs * REST_AFTER;

export const renewAtMs = (
  { untilMs }: HeldLease,
  { leaseMs, renewAfterMs }: ResolvedFleaseDurations,
): number => untilMs - leaseMs + renewAfterMs;

export const pauseMs = (failures: number, { answerTimeoutMs }: ResolvedFleaseDurations): number =>
  answerTimeoutMs * Math.min(1, FIRST_PAUSE * 2 ** (failures - 1));

/** When there will be work for this resource. */
export function nextMs(
  state: ResourceState,
  admissionQueue: AdmissionQueue,
  durations: ResolvedFleaseDurations,
): number {
  const { held } = state;
  const workMs = nextWorkMs(state, admissionQueue, durations);
  if (held === undefined) return workMs;
  return Math.min(workMs, held.state === 'held' ? held.untilMs - durations.noticeMs : held.untilMs);
}

function nextWorkMs(
  state: ResourceState,
  admissionQueue: AdmissionQueue,
  durations: ResolvedFleaseDurations,
): number {
  const { attempt, held, leaving, tryAtMs } = state;
  if (attempt !== undefined) {
    return attempt.asksEverybody ? answerByMs(attempt, durations) : askTheRestAtMs(attempt, durations);
  }
  const leftMs = leaving?.untilMs ?? Number.POSITIVE_INFINITY;
  if (admissionQueue.isRenewing(state)) return leftMs;
  if (admissionQueue.has(state)) return held === undefined ? leftMs : renewAtMs(held, durations);
  if (held === undefined || leaving !== undefined || state.wants('ask')) return tryAtMs;
  return Math.max(renewAtMs(held, durations), tryAtMs);
}
