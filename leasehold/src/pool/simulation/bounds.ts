/**
 * Within what everything must happen in a world, when its Managers need not all have the same durations: a
 * leader may be any of them, and what it says is waited for by any other. So of each duration the longest
 * counts, and of what clocks may do, what all of them allow.
 */

import { clockRateBound, type ResolvedDurations, takeoverHoldMs } from '../core/options.ts';

export interface Bounds {
  /** How much faster one clock may run than another. */
  readonly rate: number;
  /** How long a leader may go on without knowing that it was deposed, or that its batch is written. */
  readonly leaderSlackMs: number;
  /** Within this every look-up that runs has reported a loss: `lossBoundMs`. */
  readonly lossMs: number;
  /** The longest hold. */
  readonly holdMs: number;
  /** When every lease that others gave is over, after the last leader that gave one was dropped by the log. */
  readonly takeoverMs: number;
  /** From when faults stop and a leader is there until everything has come right. */
  readonly settleMs: number;
  readonly suspensionToleranceMs: number;
}

export function boundsOf(all: readonly ResolvedDurations[]): Bounds {
  const longest = (of: (durations: ResolvedDurations) => number): number => Math.max(...all.map(of));
  const rate = Math.min(...all.map(clockRateBound));
  const leaderLeaseMs = longest((d) => d.leaderLeaseMs);
  const suspensionToleranceMs = longest((d) => d.suspensionToleranceMs);
  const slowest = Math.sqrt(rate) * rate;
  const settleMs =
    longest(takeoverHoldMs) +
    longest((d) => d.holdMs) +
    2 * longest((d) => d.revokeTimeoutMs) +
    2 * longest((d) => d.syncEveryMs) +
    16 * longest((d) => d.retryMs) +
    2 * longest((d) => d.renewEveryMs);
  return {
    rate,
    leaderSlackMs: (leaderLeaseMs + suspensionToleranceMs) * rate,
    lossMs: (longest((d) => d.staleAfterMs) + leaderLeaseMs + 2 * suspensionToleranceMs) * rate,
    holdMs: longest((d) => d.holdMs),
    takeoverMs: longest(takeoverHoldMs) * Math.sqrt(rate),
    settleMs: settleMs * slowest,
    suspensionToleranceMs,
  };
}
