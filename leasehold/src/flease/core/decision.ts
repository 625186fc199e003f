/**
 * The decision after a read: lines 3 to 11 of the paper's algorithm 4, and the cases it leaves out.
 *
 *     operation found                                     then
 *     take      nothing, or over since the skew, or free  write our own, under a higher number
 *               left for us, or held by this incarnation  the same: that lease has ended already
 *               another member's                          leave it, until the skew after its end
 *     renew     the lease that we hold                    write it with a later end
 *               anything else                             lost: believe the register
 *     free      the lease that we held                    write that it is free, or left for a successor
 *     ask       another member's                          report it; first write it to a majority if it is not there
 *               over since the skew when we asked, or free  report that nobody holds it
 *
 * In the skew after a lease's end only the holder can know whether the lease is over, so others leave it (lines 3 to
 * 5). The holder does know. But a holder never resumes a released lease: even a lease that is written in its own name
 * is written anew, under a higher number.
 */

import type { Lease } from './lease.ts';
import { nextNumber, takeableAtMs } from './lease.ts';
import type { ResolvedFleaseDurations } from './options.ts';

export interface Self {
  readonly id: string;
  readonly incarnation: number;
  readonly durations: ResolvedFleaseDurations;
}

/** The answers of a majority. */
export interface Reading {
  readonly askedMs: number;
  readonly nowMs: number;
  readonly found: Lease | undefined;
  /** Whether all of these members have the same. */
  readonly isCertain: boolean;
}

export type Decision =
  | { readonly do: 'write'; readonly lease: Lease }
  /** Another member's lease; `takeAtMs` is when it may be taken. */
  | { readonly do: 'leave'; readonly lease: Lease; readonly takeAtMs: number }
  | { readonly do: 'say'; readonly lease: Lease | undefined }
  | { readonly do: 'try-later' }
  /** The register has another lease than the one we believed we held. */
  | { readonly do: 'give-up' };

/**
 * How long a released lease is left for the first waiting member, in answer timeouts: that member may have died, or
 * stopped waiting. A shorter time would let waiting members overtake each other where clocks differ and messages are
 * slow.
 */
const SUCCESSOR_ANSWERS = 3;

export function decideToTake(self: Self, { askedMs, nowMs, found }: Reading): Decision {
  const { id, incarnation, durations } = self;
  // A lease that we left for another member is respected, too.
  const isOver = isOurs(self, found) && found?.state === 'held';
  const takeAtMs = isOver ? Number.NEGATIVE_INFINITY : takeableAtMs(found, id, durations.clockSkewMs);
  if (found !== undefined && nowMs <= takeAtMs) return { do: 'leave', lease: found, takeAtMs };
  const number = nextNumber(askedMs, found, durations.clockSkewMs);
  if (number === undefined) return { do: 'try-later' };
  const untilMs = askedMs + durations.leaseMs;
  return {
    do: 'write',
    lease: { holder: id, incarnation, number, untilMs, state: 'held', successor: undefined },
  };
}

export function decideToRenew(self: Self, number: number, { askedMs, found }: Reading): Decision {
  if (found === undefined || !isHolding(self, found, number)) return { do: 'give-up' };
  return { do: 'write', lease: { ...found, untilMs: askedMs + self.durations.leaseMs } };
}

/**
 * @param named the member that the application handed the lease to
 * @param first the member that has waited longest
 */
export function decideToFree(
  self: Self,
  number: number,
  successors: { readonly named: string | undefined; readonly first: string | undefined },
  { askedMs, found }: Reading,
): Decision {
  // An earlier attempt may have been written by less than a majority; then it is written again. If that attempt was
  // to take the lease for another request here, after the previous lease was released, and no acceptor has it, the
  // previous lease is found.
  if (found === undefined || !isOurs(self, found) || found.number > number) return { do: 'give-up' };
  const { leaseMs, answerTimeoutMs } = self.durations;
  const successor = successors.named ?? successors.first;
  if (successor === undefined) {
    return { do: 'write', lease: { ...found, untilMs: askedMs + leaseMs, state: 'free', successor } };
  }
  const leftMs =
    successors.named === undefined ? Math.min(leaseMs, SUCCESSOR_ANSWERS * answerTimeoutMs) : leaseMs;
  return { do: 'write', lease: { ...found, untilMs: askedMs + leftMs, state: 'left', successor } };
}

export function decideToTell(self: Self, { askedMs, nowMs, found, isCertain }: Reading): Decision {
  if (found === undefined || found.state === 'free') return { do: 'say', lease: undefined };
  const overMs = found.untilMs + self.durations.clockSkewMs;
  if (askedMs > overMs) return { do: 'say', lease: undefined };
  if (nowMs > overMs) return { do: 'try-later' }; // It may have been renewed since these members answered.
  return isCertain ? { do: 'say', lease: found } : { do: 'write', lease: found };
}

const isOurs = ({ id, incarnation }: Self, lease: Lease | undefined): boolean =>
  lease !== undefined && lease.holder === id && lease.incarnation === incarnation;

const isHolding = (self: Self, lease: Lease, number: number): boolean =>
  isOurs(self, lease) && lease.number === number && lease.state === 'held';
