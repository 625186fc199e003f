/**
 * What to do about members that were started with another lease or skew. They and we do not heed each other, whatever is
 * waited; so whoever waits for a lease is told, and does not take it for a lock that is busy.
 *
 * It is certain once those that are left are no majority, also if all who are away had our durations. When the time to
 * wait is over less will do: that whoever is there has others.
 */

import { type Flease, type FleaseStatus, LeaseholdError } from 'leasehold/flease';
import { pause } from '../event-stream.ts';

const LOOK_EVERY_MS = 500;

type Status = Pick<FleaseStatus, 'leaseMs' | 'clockSkewMs'> & {
  readonly peers: readonly Pick<FleaseStatus['peers'][number], 'id' | 'connected' | 'otherDurations'>[];
};

const flags = ({ leaseMs, clockSkewMs }: Pick<FleaseStatus, 'leaseMs' | 'clockSkewMs'>): string =>
  `--lease ${leaseMs}ms --skew ${clockSkewMs}ms`;

/** The others were started with another lease or skew. Start all of them with the same. */
export class OtherDurationsError extends LeaseholdError {
  override readonly name = 'OtherDurationsError';
  readonly code = 'OTHER_DURATIONS';
  readonly retryable = false;

  constructor({ peers, ...own }: Status) {
    const others = peers.flatMap(({ id, otherDurations }) =>
      otherDurations === undefined ? [] : [`${id} has ${flags(otherDurations)}`],
    );
    super(
      `no majority can agree with this member, which has ${flags(own)}: ${others.join(', ')}; both must be the same everywhere`,
    );
  }
}

/** Whether these members have no majority for us, whoever else comes. */
export function isCertain({ peers }: Status, members: readonly string[]): boolean {
  const others = apart(peers).filter(({ id }) => members.includes(id));
  return members.length - others.length < Math.floor(members.length / 2) + 1;
}

/** Whether all that are there are of no use to us. */
export function isLikely({ peers }: Status): boolean {
  const others = apart(peers);
  return others.length > 0 && others.length === peers.filter(({ connected }) => connected).length;
}

/** Those that are there. One that has gone may come back with other durations. */
const apart = (peers: Status['peers']): Status['peers'] =>
  peers.filter(({ connected, otherDurations }) => connected && otherDurations !== undefined);

/** Tells once that it is certain, unless the signal aborts before. */
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
