/**
 * The treatment of members that were started with another lease or skew. They and we do not heed each other, however
 * long we wait; so a user who waits for a lease is told, and does not take the lease for a busy lock.
 *
 * The case is certain once the remaining members are no majority, even if all absent members had our durations. At the
 * end of the waiting time less is enough: all present members have other durations.
 */

import { type Flease, type FleaseStatus, LeaseholdError } from 'leasehold/flease';
import { majorityOf } from 'leasehold/internal';
import { pause } from '../event-stream.ts';

const LOOK_EVERY_MS = 500;

type Durations = Pick<FleaseStatus, 'leaseMs' | 'clockSkewMs'>;

type Status = Durations & {
  readonly peers: readonly Pick<FleaseStatus['peers'][number], 'id' | 'connected' | 'otherDurations'>[];
};

const flags = ({ leaseMs, clockSkewMs }: Durations): string => `--lease ${leaseMs}ms --skew ${clockSkewMs}ms`;

/** The others were started with another lease or skew. Start all of them with the same. */
export class OtherDurationsError extends LeaseholdError {
  override readonly name = 'OtherDurationsError';
  readonly code = 'OTHER_DURATIONS';
  readonly retryable = false;
  /** Of this member. */
  readonly leaseMs: number;
  readonly clockSkewMs: number;
  /** Of each member that has not the same. */
  readonly others: ReadonlyMap<string, Durations>;

  constructor({ peers, leaseMs, clockSkewMs }: Status) {
    const others = new Map(
      peers.flatMap(({ id, otherDurations }) =>
        otherDurations === undefined ? [] : [[id, otherDurations] as const],
      ),
    );
    const each = [...others].map(([id, durations]) => `${id} has ${flags(durations)}`);
    super(
      `no majority can agree with this member, which has ${flags({ leaseMs, clockSkewMs })}: ${each.join(', ')}; both must be the same everywhere`,
    );
    this.leaseMs = leaseMs;
    this.clockSkewMs = clockSkewMs;
    this.others = others;
  }
}

/** Whether we have no majority because of these members, even if all others come. */
export function isCertain({ peers }: Status, members: readonly string[]): boolean {
  const others = apart(peers).filter(({ id }) => members.includes(id));
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
  group: Flease,
  members: readonly string[],
  signal: AbortSignal,
  tell: (error: OtherDurationsError) => void,
): Promise<void> {
  for (; !signal.aborted; await pause(LOOK_EVERY_MS, signal)) {
    const status = group.status();
    if (isCertain(status, members)) return tell(new OtherDurationsError(status));
  }
}
