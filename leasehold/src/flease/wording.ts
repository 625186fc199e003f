/**
 * What is wrong with a member, in words: the one place where they stand. Errors, the log, the status of a member and
 * the command line all say the same, so that whoever has read one of them finds it in the others.
 *
 * Durations are called the lease and the skew, which they are in options and in flags.
 */

import { unreachable } from '../runtime/assert.ts';
import type { PeerTrouble } from './acquaintances.ts';
import type { SilenceReason } from './member.ts';
import type { ClockBounds } from './peer-clocks.ts';
import { majorityOf, type View } from './view.ts';

export const seconds = (ms: number): string => `${Number((ms / 1_000).toFixed(1))} s`;

const SAME_PEERS =
  'they must be the same everywhere: restart the one that is wrong with those of the others; if the group is to change, give each member a view one higher, and the old peers as those before';

/** Who was started in a view without a word of those before, which is right when all of them have moved. */
const NOBODY_BEFORE =
  'and this member was started in a later one without the peers before it, as if everybody had moved: restart it with them (before), or the other one in this view';

/** What is the matter with a peer. */
export function troubleWords(trouble: PeerTrouble): string {
  switch (trouble.why) {
    case 'other-group':
      return `it is of group ${JSON.stringify(trouble.group)}`;
    case 'not-a-member':
      return 'it is not in this view of the group';
    case 'same-name':
      return 'two processes speak in its name; stop one of them';
    case 'other-durations':
      // To the millisecond, since they may differ by that.
      return `it was started with a lease of ${trouble.leaseMs} ms and a skew of ${trouble.clockSkewMs} ms; both must be the same everywhere`;
    case 'other-members':
      return `it has other peers than this member in the same view; ${SAME_PEERS}`;
    case 'earlier-view':
      return `it is in view ${trouble.view} of the group, ${NOBODY_BEFORE}`;
    case 'later-view':
      return `it is in view ${trouble.view} of the group, which is later; move this member there as well (changeGroup, or a restart with that view and the peers before), or if it is to leave end it once that view is settled`;
    case 'clock-off':
      return `${clockOff(trouble.bounds)}, which is more than the skew`;
    default:
      return unreachable(trouble);
  }
}

/** By how much a clock is off. Only what is certain is said. */
function clockOff({ aheadAtLeastMs, aheadAtMostMs }: ClockBounds): string {
  return aheadAtLeastMs > 0
    ? `its clock is ahead of ours by at least ${Math.round(aheadAtLeastMs)} ms`
    : `its clock is behind ours by at least ${Math.round(-aheadAtMostMs)} ms`;
}

const WHY_SILENT: Readonly<Record<SilenceReason, string>> = {
  began: 'it may have forgotten what it promised before it was started',
  'clock-jumped':
    'its wall clock jumped, and nobody can tell which time was right, so it holds nothing any more',
  'odd-one-out':
    'its clock is off from those of most other members, so it holds nothing until that is mended',
  'other-members': `another member has other peers in the same view; ${SAME_PEERS}`,
  'earlier-view': `another member is in an earlier view of the group, ${NOBODY_BEFORE}`,
};

/**
 * Why a member takes no part, by its own word.
 *
 * @param forMs how much longer; infinite if nobody can say
 */
export const silenceWords = (why: SilenceReason, forMs: number): string =>
  `keeps silent${Number.isFinite(forMs) ? ` for ${seconds(forMs)}` : ''}: ${WHY_SILENT[why]}`;

/** Why a member will never take part again, by its own word. */
export const goneWords = (why: 'left' | 'closed', view: number): string =>
  why === 'closed'
    ? 'was closed, and takes no part any more'
    : `is not in view ${view} of the group, and takes no part any more: close it`;

/** What is the matter with a peer that speaks to us, and does not take our word. @param id our own */
export const unheededWords = (id: string): string =>
  `it heeds nothing that we say: another process may run under the id ${id}, or what we send is lost`;

/** Who has to agree, and who did not, with the reason of each. */
export function disagreementWords({ members, before }: View, reasons: ReadonlyMap<string, string>): string {
  const old =
    before === undefined ? '' : `, and ${majorityOf(before.length)} of the ${before.length} before,`;
  const each = [...reasons].map(([member, why]) => `${member} (${why})`);
  return `${majorityOf(members.length)} of ${members.length} members${old} have to agree, and these did not: ${each.join(', ')}`;
}

/** The same of a peer, which says for how long but not why. */
export const peerSilenceWords = (forMs: number): string =>
  Number.isFinite(forMs)
    ? `keeps silent for ${seconds(forMs)}`
    : 'keeps silent until its clock, or its peers, are put right; its log says which';
