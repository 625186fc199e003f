/**
 * The lemma that every lease of this toolkit rests on.
 *
 *     holder     asks ●──────────── lease ────────────┤ stops here, by its own clock
 *                      ╲             ╱ answer
 *     grantor           ● asked ────────────── hold ──────────────┤ free from here, by its own clock
 *
 * The holder counts the lease from *before* asking. The grantor counts the hold from *after* being asked. Each reads only the clock of
 * the own machine, and the hold is longer: by the fastest that one clock may run against another ({@link CLOCK_RATE_BOUND}), and by the longest
 * suspension that goes unnoticed. So the holder has stopped before the grantor may give the key, the view or the term to
 * another, however long the question and the answer travelled, and whether or not the answer arrived.
 *
 *  - *Why from asking:* asking comes before being asked, so the two beginnings are in the right order without comparing two clocks.
 *    Counted from the answer, the lease would outlast the hold by one trip.
 *  - *Why longer:* the lease of `leaseMs` on a slow clock takes at most `leaseMs` × the bound on a fast one.
 *  - *Suspension:* the monotonic clock of a suspended machine stands still, and leases held there seem to last. A holder drops every lease when
 *    `suspension.ts` notices, which is after at most `suspensionToleranceMs`; the hold covers that much.
 *  - *No timer proves anything:* a timer may be late. Each check reads the clock ({@link isLeased}).
 *
 * Not covered: a suspension that nothing reveals, and a process that is paused between a check and the use of the answer. The
 * resource itself has to refuse old fencing tokens then.
 */

import { CLOCK_RATE_BOUND } from './clock-rates.ts';
import { type Instant, later } from './time.ts';

export interface LeaseTime {
  readonly leaseMs: number;
  /** The longest suspension of the holder's machine that may go unnoticed. */
  readonly suspensionToleranceMs: number;
}

/** How long the grantor keeps a lease for its holder, from when the holder's question arrived. */
export const holdMsOf = ({ leaseMs, suspensionToleranceMs }: LeaseTime): number =>
  Math.ceil((leaseMs + suspensionToleranceMs) * CLOCK_RATE_BOUND);

/** By how much one clock may run faster than another before this hold ends too early. */
export const rateBoundOf = (holdMs: number, { leaseMs, suspensionToleranceMs }: LeaseTime): number =>
  holdMs / (leaseMs + suspensionToleranceMs);

/** Whether the holder may use the lease that was granted in answer to a question sent at `askedAt`. */
export const isLeased = (askedAt: Instant, leaseMs: number, now: Instant): boolean =>
  now < later(askedAt, leaseMs);
