/**
 * What an attempt does with what it has read: lines 3 to 11 of the paper's algorithm 4, and what it leaves out.
 *
 *     wanted    found                                     then
 *     take      nothing, or over since the skew, or free  write our own, under a higher number
 *               left for us, or held by this very life    the same: what it was, it is no longer
 *               somebody's                                leave it, until the skew after its end
 *     renew     what we hold                              write it with a later end
 *               anything else                             lost: believe the register
 *     free      what we held                              write that it is free, or for whom it is left
 *     ask       somebody's                                say so; written by a majority first, if it is not
 *               over since the skew when we asked, or free  say that nobody has it
 *
 * In the skew after a lease's end nobody but its holder can know whether it is over: so it is left (lines 3 to 5).
 * Its holder does know. It never takes up a lease it has let go of, though: even what it finds written for itself
 * it writes anew, under a higher number.
 */

import type { Lease } from './lease.ts';
import { nextNumber, takeableAtMs } from './lease.ts';
import type { ResolvedFleaseDurations } from './options.ts';

export interface Self {
  readonly id: string;
  readonly life: number;
  readonly durations: ResolvedFleaseDurations;
}

/** What a majority has answered. */
export interface Reading {
  readonly askedMs: number;
  readonly nowMs: number;
  readonly found: Lease | undefined;
  /** Whether all of them have the very same. */
  readonly isCertain: boolean;
}

export type Decision =
  | { readonly do: 'write'; readonly lease: Lease }
  /** Somebody else's; it may be taken then. */
  | { readonly do: 'leave'; readonly lease: Lease; readonly takeAtMs: number }
  | { readonly do: 'say'; readonly lease: Lease | undefined }
  | { readonly do: 'try-later' }
  /** It is not what we thought we held. */
  | { readonly do: 'give-up' };

/**
 * How long something is left for whoever waited first, in times to answer: it may have died, or given up, meanwhile.
 * If it were less than it takes where clocks differ and messages are slow, those who wait would overtake each other.
 */
const HEIR_ANSWERS = 3;

export function decideToTake(self: Self, { askedMs, nowMs, found }: Reading): Decision {
  const { id, life, durations } = self;
  // What we have left for somebody else we leave, too.
  const isOver = isOurs(self, found) && found?.state === 'held';
  const takeAtMs = isOver ? Number.NEGATIVE_INFINITY : takeableAtMs(found, id, durations.clockSkewMs);
  if (found !== undefined && nowMs <= takeAtMs) return { do: 'leave', lease: found, takeAtMs };
  const number = nextNumber(askedMs, found, durations.clockSkewMs);
  if (number === undefined) return { do: 'try-later' };
  const untilMs = askedMs + durations.leaseMs;
  return { do: 'write', lease: { holder: id, life, number, untilMs, state: 'held', heir: undefined } };
}

export function decideToRenew(self: Self, number: number, { askedMs, found }: Reading): Decision {
  if (found === undefined || !isHolding(self, found, number)) return { do: 'give-up' };
  return { do: 'write', lease: { ...found, untilMs: askedMs + self.durations.leaseMs } };
}

/**
 * @param named the member it was handed over to
 * @param first the one who has waited longest
 */
export function decideToFree(
  self: Self,
  number: number,
  heirs: { readonly named: string | undefined; readonly first: string | undefined },
  { askedMs, found }: Reading,
): Decision {
  // What a majority may not have yet of an attempt before is written again. If that attempt was to take it for
  // somebody else here, after the one before was let go of, and nobody has any of it written, then it is the one
  // before that is found.
  if (found === undefined || !isOurs(self, found) || found.number > number) return { do: 'give-up' };
  const { leaseMs, answerMs } = self.durations;
  const heir = heirs.named ?? heirs.first;
  if (heir === undefined) {
    return { do: 'write', lease: { ...found, untilMs: askedMs + leaseMs, state: 'free', heir } };
  }
  const leftMs = heirs.named === undefined ? Math.min(leaseMs, HEIR_ANSWERS * answerMs) : leaseMs;
  return { do: 'write', lease: { ...found, untilMs: askedMs + leftMs, state: 'left', heir } };
}

export function decideToTell(self: Self, { askedMs, nowMs, found, isCertain }: Reading): Decision {
  if (found === undefined || found.state === 'free') return { do: 'say', lease: undefined };
  const overMs = found.untilMs + self.durations.clockSkewMs;
  if (askedMs > overMs) return { do: 'say', lease: undefined };
  if (nowMs > overMs) return { do: 'try-later' }; // It may have been renewed since they answered.
  return isCertain ? { do: 'say', lease: found } : { do: 'write', lease: found };
}

const isOurs = ({ id, life }: Self, lease: Lease | undefined): boolean =>
  lease !== undefined && lease.holder === id && lease.life === life;

const isHolding = (self: Self, lease: Lease, number: number): boolean =>
  isOurs(self, lease) && lease.number === number && lease.state === 'held';
