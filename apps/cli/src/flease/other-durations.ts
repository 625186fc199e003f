/**
 * The treatment of members that were started with another lease or skew. They and we do not heed each other, however
 * long we wait; so a user who waits for a lease is told, and does not take the lease for a busy lock.
 *
 * The case is certain once the remaining members are no majority, even if all absent members had our durations. At the
 * end of the waiting time less is enough: all present members have other durations.
 */

import type { FleaseMember, FleaseStatus } from 'leasehold/flease';
import { majorityOf, RefusedError } from 'leasehold/internal';
import { pause } from '../event-stream.ts';

const LOOK_EVERY_MS = 500;

type Durations = Pick<FleaseStatus, 'leaseMs' | 'clockSkewMs'>;

type Status = Durations & {
  readonly peers: readonly Pick<FleaseStatus['peers'][number], 'name' | 'connected' | 'otherDurations'>[];
};

const flags = ({ leaseMs, clockSkewMs }: Durations): string =>
  `--lease ${leaseMs}ms --clock-skew ${clockSkewMs}ms`;

/** The others were started with another lease or skew. Start all of them with the same. `details` has the durations of each. */
export function otherDurations({ peers, leaseMs, clockSkewMs }: Status): RefusedError {
  const others = peers.flatMap(({ name, otherDurations: its }) =>
    its === undefined ? [] : [[name, its] as const],
  );
  const each = others.map(([name, durations]) => `${name} has ${flags(durations)}`);
  return new RefusedError(
    'CONFIG_MISMATCH',
    `no majority can agree with this member, which has ${flags({ leaseMs, clockSkewMs })}: ${each.join(', ')}; both must be the same everywhere`,
    { module: 'flease', details: { leaseMs, clockSkewMs, others: Object.fromEntries(others) } },
  );
}

/** Whether we have no majority because of these members, even if all others come. */
export function isCertain({ peers }: Status, members: readonly string[]): boolean {
  const others = apart(peers).filter(({ name }) => members.includes(name));
  return members.length - others.length < majorityOf(members.length);
}

/** Whether all that are there are of no use to us. */
export function isLikely({ peers }: Status): boolean {
  const others = apart(peers);
  return others.length > 0 && others.length === peers.filter(({ connected }) => connected).length;
}

/** Those that are there. One that has gone may come back with other durations. */
const apart = (peers: Status['peers']): Status['peers'] =>
  peers.filter(({ connected, otherDurations }) => connected && otherDurations !== undefined);

/** Tells once that the case is certain, unless the signal aborts before. */
export async function tellOfOtherDurations(
  member: FleaseMember,
  members: readonly string[],
  signal: AbortSignal,
  tell: (error: RefusedError) => void,
): Promise<void> {
  for (; !signal.aborted; await pause(LOOK_EVERY_MS, signal)) {
    const status = member.status();
    if (isCertain(status, members)) return tell(otherDurations(status));
  }
}
