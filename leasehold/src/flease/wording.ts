/** What errors, reasons and the log say in the same words. */

import type { PeerTrouble } from './acquaintances.ts';
import type { ClockBounds } from './peer-clocks.ts';

export const seconds = (ms: number): string => `${Number((ms / 1_000).toFixed(1))} s`;

/** What is the matter with a peer, as far as that can be said without figures. */
export const TROUBLE_WORDS: Readonly<Record<PeerTrouble['why'], string>> = {
  'other-group': 'it is of another group',
  'not-a-member': 'it is not in this view of the group',
  'same-name': 'two processes speak in its name; stop one of them',
  'other-durations': 'it was started with another leaseMs or clockSkewMs; both must be the same everywhere',
  'other-members':
    'it was started with other peers; they must be the same everywhere, see "Changing the group" in docs/flease.md',
  'later-view': 'it is in a later view of the group; move this member there as well',
  'clock-off': 'its clock is off by more than clockSkewMs',
};

/** By how much a clock is off. Only what is certain is said. */
export function clockOff({ aheadAtLeastMs, aheadAtMostMs }: ClockBounds): string {
  return aheadAtLeastMs > 0
    ? `its clock is ahead of ours by at least ${Math.round(aheadAtLeastMs)} ms`
    : `its clock is behind ours by at least ${Math.round(-aheadAtMostMs)} ms`;
}
