/** What errors, reasons and the log say in the same words. */

import type { ClockBounds } from './peer-clocks.ts';

export const seconds = (ms: number): string => `${Number((ms / 1_000).toFixed(1))} s`;

/** By how much a clock is off. Only what is certain is said. */
export function clockOff({ aheadAtLeastMs, aheadAtMostMs }: ClockBounds): string {
  return aheadAtLeastMs > 0
    ? `its clock is ahead of ours by at least ${Math.round(aheadAtLeastMs)} ms`
    : `its clock is behind ours by at least ${Math.round(-aheadAtMostMs)} ms`;
}
