/**
 * With which round to begin. Our own acceptor is one of those that are asked, and knows what the others have been
 * promised, most of the time; so there is no need to be refused first.
 *
 *     it is free, or we had it, or were waiting for it     one more than what is known
 *     it is taken, and we have just come                   the first: if it is refused, we look who has it
 *
 * For who has just come disturbs those who have it, or are about to give it to the next, and gains nothing: it finds
 * that it has to wait.
 */

import { type Ballot, roundToExceed } from './ballot.ts';
import type { Lease } from './lease.ts';

/** What our own acceptor has, if anything. */
interface Known {
  readonly promised: Ballot | undefined;
  readonly lease: Lease | undefined;
}

/** @param hasJustCome nothing has come of it so far, nor is it known who has it */
export function roundToBegin(
  known: Known | undefined,
  hasJustCome: boolean,
  nowMs: number,
  intervalMs: number,
): number {
  const isTaken = known?.lease !== undefined && known.lease.state !== 'free';
  return hasJustCome && isTaken ? 1 : roundToExceed(known?.promised, nowMs, intervalMs) + 1;
}
