/**
 * Answers that no correct member can give: a lease that ends later than one asked for just now, or a ballot or number
 * of a future time. A peer with such an answer has a wrong clock, or worse, and believing the answer could mean
 * waiting for ever. The answer counts as a refusal.
 *
 * An acceptor accepts times ahead of its clock by up to the skew (`register.ts`), and that clock may be ahead of ours
 * by the skew: so twice the skew is allowed. A number may be ahead by the skew once more, because a proposer may take
 * one ahead of its own clock.
 */

import { NUMBERS_PER_MS } from './lease.ts';
import type { Answer } from './messages.ts';
import type { ResolvedFleaseDurations } from './options.ts';

export function isPlausible(answer: Answer, durations: ResolvedFleaseDurations, nowMs: number): boolean {
  if (answer.kind !== 'promised' && answer.kind !== 'found') return true;
  const { written, lease } = answer;
  if (written === undefined || lease === undefined) return true;
  const { leaseMs, clockSkewMs } = durations;
  return (
    lease.untilMs <= nowMs + leaseMs + 2 * clockSkewMs &&
    written.askedMs <= nowMs + 2 * clockSkewMs &&
    lease.number <= (nowMs + 3 * clockSkewMs) * NUMBERS_PER_MS
  );
}
