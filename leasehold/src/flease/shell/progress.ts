/**
 * The progress checks of a member: the member takes part, and hears a majority.
 *
 * Members greet each other several times in a lease, also when nothing is asked (`peer-table.ts`). So a peer that was not
 * heard for a whole lease is gone, stopped or cut off, and renewals that need its vote are not answered. If the peers
 * that are left are no majority, every lease of this member has run out or is about to.
 *
 * A member that holds nothing and waits for nothing has no work, so it is ready without a majority: a group can be started
 * one member after the other, each when the one before is ready.
 */

import type { ProgressCheck } from '../../node/service/progress.ts';
import { majorityOf, Quorums, type View } from '../core/view.ts';
import { seconds } from '../core/wording.ts';
import type { FleaseStatus, PeerStatus } from './status.ts';

export const progressChecks = (member: {
  readonly view: View;
  status(): FleaseStatus;
}): readonly ProgressCheck[] => [
  {
    name: 'cell',
    afterMs: 0,
    standsStill: () => {
      const { closed, recovery } = member.status();
      const why = closed ?? recovery;
      return why && `it ${why.words}`;
    },
  },
  { name: 'majority', afterMs: 0, standsStill: () => whyNoMajority(member.status(), member.view) },
];

/** Undefined if a majority is heard or nothing needs one, or if this member takes no part: that is another check's. */
export function whyNoMajority(
  status: Pick<FleaseStatus, 'name' | 'leaseMs' | 'peers' | 'closed' | 'recovery' | 'held' | 'waiting'>,
  view: View,
): string | undefined {
  const { name, leaseMs, peers, closed, recovery, held, waiting } = status;
  if (closed !== undefined || recovery !== undefined || held + waiting === 0) return undefined;
  const quorums = new Quorums(view);
  const missing = peers.filter((peer) => !isHeard(peer, leaseMs));
  const heard = quorums.everybody.filter(
    (member) => member === name || !missing.some((peer) => peer.name === member),
  );
  if (quorums.suffices(heard.reduce((set, member) => quorums.with(set, member), 0))) return undefined;
  const names = missing.map((peer) => `${peer.name} (${whyNotHeard(peer)})`).join(', ');
  const needed = `${majorityOf(view.members.length)} of ${view.members.length} members`;
  return `it hears too few members to renew a lease: ${needed} are needed, and these are missing: ${names}`;
}

/** A peer that is connected and has a problem is heard, but takes nothing of what this member says. */
const isHeard = ({ heardAgoMs, trouble, problem, connected }: PeerStatus, leaseMs: number): boolean =>
  heardAgoMs !== undefined &&
  heardAgoMs < leaseMs &&
  trouble === undefined &&
  !(connected && problem !== undefined);

const whyNotHeard = ({ problem, trouble, heardAgoMs }: PeerStatus): string =>
  problem ??
  trouble?.words ??
  (heardAgoMs === undefined ? 'never heard' : `silent for ${seconds(heardAgoMs)}`);
