/**
 * What no member can have, whatever happened to it: a lease that ends later than one that was asked for just now, a ballot
 * or a number of a time that is yet to come. A peer that says so is wrong about its clock, or worse, and to believe
 * it would be to wait for as long as it pleases. It counts as having refused.
 */

import { NUMBERS_PER_MS } from './lease.ts';
import type { Answer } from './messages.ts';
import type { ResolvedFleaseDurations } from './options.ts';

/** The answer, or a refusal in its place. */
export function credible(answer: Answer, durations: ResolvedFleaseDurations, nowMs: number): Answer {
  if (answer.kind !== 'promised' && answer.kind !== 'found') return answer;
  const { written, lease, attempt } = answer;
  if (written === undefined || lease === undefined) return answer;
  const { leaseMs, clockSkewMs } = durations;
  const canBe =
    lease.untilMs <= nowMs + leaseMs + 2 * clockSkewMs &&
    written.askedMs <= nowMs + 2 * clockSkewMs &&
    lease.number <= (nowMs + 3 * clockSkewMs) * NUMBERS_PER_MS;
  return canBe ? answer : { kind: 'refused', attempt, of: 'read', why: 'early', detail: 0 };
}
