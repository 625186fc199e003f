/**
 * What no member can have, whatever happened to it: a lease that ends later than one that was asked for just now, a
 * ballot or a number of a time that is yet to come. A peer that says so is wrong about its clock, or worse, and to
 * believe it would be to wait for as long as it pleases. It counts as having refused.
 *
 * An acceptor heeds what is ahead of its clock by up to the skew (`register.ts`), and its clock may be ahead of ours
 * by as much: so twice the skew is allowed, and once more for a number, which may be ahead of the clock of whoever
 * took it.
 */

import { NUMBERS_PER_MS } from './lease.ts';
import type { Answer } from './messages.ts';
import type { ResolvedFleaseDurations } from './options.ts';

export function isCredible(answer: Answer, durations: ResolvedFleaseDurations, nowMs: number): boolean {
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
