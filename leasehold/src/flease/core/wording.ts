/**
 * The messages about troubles of members, in one place. Errors, the log, the status of a member and the command line
 * use the same sentences, so that a reader of one finds them in the others.
 *
 * Durations are called the lease and the skew, as in options and flags.
 */

import { unreachable } from '../../runtime/assert.ts';
import type { Contradiction, PeerTrouble } from './peer-table.ts';
import type { ClockBounds } from './peer-clocks.ts';
import { majorityOf, type View } from './view.ts';

export type RecoveryReason = 'began' | 'clock-jumped' | 'clock-outlier' | Contradiction;

export const seconds = (ms: number): string => `${Number((ms / 1_000).toFixed(1))} s`;

const SAME_PEERS =
  'they must be the same everywhere: restart the one that is wrong with those of the others; if the group is to change, give each member a view one higher, and the old peers as those before';

/** For a member started without the earlier peers, which is right only after all of them have moved. */
const NOBODY_BEFORE =
  'and this member was started in a later one without the peers before it, as if everybody had moved: restart it with them (peersBefore), or the other one in this view';

/** The trouble with a peer. */
export function troubleWords(trouble: PeerTrouble): string {
  switch (trouble.why) {
    case 'other-group':
      return `it is of group ${JSON.stringify(trouble.group)}`;
    case 'not-a-member':
      return 'it is not in this view of the group';
    case 'same-name':
      return 'two processes speak in its name; stop one of them';
    case 'other-durations':
      // To the millisecond, because durations may differ by that.
      return `it was started with ${durationsWords(trouble)} must be the same everywhere`;
    case 'other-members':
      return `it has other peers than this member in the same view; ${SAME_PEERS}`;
    case 'earlier-view':
      return `it is in view ${trouble.view} of the group, ${NOBODY_BEFORE}`;
    case 'later-view':
      return `it is in view ${trouble.view} of the group, which is later; move this member there as well (changePeers, or a restart with that view and the peers before), or if it is to leave end it once that view is settled`;
    case 'clock-off':
      return `${clockOff(trouble.bounds)}, which is more than the skew`;
    default:
      return unreachable(trouble);
  }
}

/** A takeover is named only where Managers elect each other: other groups have none. */
const durationsWords = ({
  leaseMs,
  clockSkewMs,
  takeoverMs,
}: Extract<PeerTrouble, { why: 'other-durations' }>): string =>
  takeoverMs === 0
    ? `a lease of ${leaseMs} ms and a skew of ${clockSkewMs} ms; both`
    : `a lease of ${leaseMs} ms, a skew of ${clockSkewMs} ms and a takeover of ${takeoverMs} ms; all three`;

/** By how much a clock is off, at least. */
function clockOff({ aheadAtLeastMs, aheadAtMostMs }: ClockBounds): string {
  return aheadAtLeastMs > 0
    ? `its clock is ahead of ours by at least ${Math.round(aheadAtLeastMs)} ms`
    : `its clock is behind ours by at least ${Math.round(-aheadAtMostMs)} ms`;
}

const WHY_RECOVERING: Readonly<Record<RecoveryReason, string>> = {
  began: 'it may have forgotten what it promised before it was started',
  'clock-jumped': 'its wall clock jumped, and which time was right is unknown, so it holds nothing any more',
  'clock-outlier':
    'its clock is off from those of most other members, so it holds nothing until that is mended',
  'other-members': `another member has other peers in the same view; ${SAME_PEERS}`,
  'earlier-view': `another member is in an earlier view of the group, ${NOBODY_BEFORE}`,
};

/**
 * Why a member takes no part, said by that member.
 *
 * @param forMs how much longer; infinite if unknown
 */
export const recoveryWords = (why: RecoveryReason, forMs: number): string =>
  `recovers${Number.isFinite(forMs) ? ` for ${seconds(forMs)}` : ''}: ${WHY_RECOVERING[why]}`;

/** To a user that waits for a first lease. */
export const firstLeaseWords = (forMs: number): string =>
  `recovers for ${seconds(forMs)}, because ${WHY_RECOVERING.began}; acquire and ready() wait until then`;

/** Why a member will never take part again, said by that member. */
export const goneWords = (why: 'left' | 'closed', view: number): string =>
  why === 'closed'
    ? 'was closed, and takes no part any more'
    : `is not in view ${view} of the group, and takes no part any more: close it`;

/** The trouble with a peer that sends to us and ignores our packets. @param id our own */
export const unheardWords = (id: string): string =>
  `it acknowledges nothing that we send: another process may run under the name ${id}, or what we send is lost`;

/** How many members have to agree, and the reason of each that did not. */
export function disagreementWords({ members, before }: View, reasons: ReadonlyMap<string, string>): string {
  const old =
    before === undefined ? '' : `, and ${majorityOf(before.length)} of the ${before.length} before,`;
  const each = [...reasons].map(([member, why]) => `${member} (${why})`);
  return `${majorityOf(members.length)} of ${members.length} members${old} have to agree, and these did not: ${each.join(', ')}`;
}

/** The same for a peer, which tells us how long but not why. */
export const peerRecoveryWords = (forMs: number): string =>
  Number.isFinite(forMs)
    ? `recovers for ${seconds(forMs)}`
    : 'recovers when its clock, or its peers, are corrected; its log says which';
