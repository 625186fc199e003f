/**
 * The round with which an attempt begins. Our own acceptor is one of those asked, and mostly knows the promises of
 * the others, so an attempt need not be refused first.
 *
 *     free, or ours before, or we waited for it      one more than the highest round known
 *     held by another member, and new to us          round 1: if it is refused, we look for the holder
 *
 * A newcomer with a high round would disturb the holder, or a hand-over to the next member, and gain nothing: a
 * newcomer has to wait in any case.
 */

import { type Ballot, roundToExceed } from './ballot.ts';
import type { Lease } from './lease.ts';

/** The register of our own acceptor. */
interface Known {
  readonly promised: Ballot | undefined;
  readonly lease: Lease | undefined;
}

/** @param hasJustCome no attempt has had a result yet, and no holder is known */
export function firstRound(
  known: Known | undefined,
  hasJustCome: boolean,
  nowMs: number,
  intervalMs: number,
): number {
  const isTaken = known?.lease !== undefined && known.lease.state !== 'free';
  return hasJustCome && isTaken ? 1 : roundToExceed(known?.promised, nowMs, intervalMs) + 1;
}
