/**
 * The metrics of a member for Prometheus. `docs/metrics.md` has the same list, and a test compares the two.
 *
 * Labels are groups and peers, of which there are few; never resources, of which there is no end.
 */

import { InvalidOptionError } from '../../../runtime/errors.ts';
import { metricsText } from '../../../runtime/metrics-text.ts';
import { familiesOf, type Metric } from '../../../runtime/metrics.ts';
import type { Flease } from '../flease.ts';
import type { FleaseStatus, PeerStatus } from '../status.ts';

const MS_PER_SECOND = 1_000;

const ofMember = (
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  value: (status: FleaseStatus) => number,
): Metric<readonly FleaseStatus[]> => ({
  ...{ name, type, labels: ['group'], help },
  read: (all) => all.map((status) => ({ labels: { group: status.group }, value: value(status) })),
});

/** One for each peer; undefined: not known, and so no sample. */
const ofPeers = (
  name: string,
  help: string,
  value: (peer: PeerStatus) => number | undefined,
): Metric<readonly FleaseStatus[]> => ({
  ...{ name, type: 'gauge', labels: ['group', 'peer'], help },
  read: (all) =>
    all.flatMap(({ group, peers }) =>
      peers.flatMap((peer) => {
        const known = value(peer);
        return known === undefined ? [] : [{ labels: { group, peer: peer.id }, value: known }];
      }),
    ),
});

const seconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : ms / MS_PER_SECOND;

export const METRICS: readonly Metric<readonly FleaseStatus[]>[] = [
  ofMember('gauge', 'leasehold_flease_held', 'Leases held by this member.', ({ held }) => held),
  ofMember(
    'gauge',
    'leasehold_flease_waiting',
    'Requests of this process that wait for an answer.',
    ({ waiting }) => waiting,
  ),
  ofMember(
    'gauge',
    'leasehold_flease_registers',
    'Resources of which something is remembered here for the group.',
    ({ registers }) => registers,
  ),
  ofMember(
    'counter',
    'leasehold_flease_attempts_total',
    'Attempts to acquire, renew, release or ask, of this member.',
    ({ attempts }) => attempts,
  ),
  ofMember(
    'gauge',
    'leasehold_flease_recovering',
    '1 while the member recovers, otherwise 0.',
    ({ recovery }) => (recovery === undefined ? 0 : 1),
  ),
  ofMember(
    'gauge',
    'leasehold_flease_recovery_seconds',
    'How much longer the member recovers; infinite while its clock is off, or others have other peers.',
    ({ recovery }) => (recovery?.forMs ?? 0) / MS_PER_SECOND,
  ),
  ofMember('gauge', 'leasehold_flease_view', 'The view of the group that it is in.', ({ view }) => view),
  ofMember(
    'gauge',
    'leasehold_flease_settled',
    '0 while members of the view before are still needed, otherwise 1.',
    ({ isSettled }) => Number(isSettled),
  ),
  ofPeers('leasehold_flease_peer_connected', '1 if there is a connection to the peer, otherwise 0.', (peer) =>
    Number(peer.connected),
  ),
  ofPeers(
    'leasehold_flease_peer_heard_seconds',
    'How long ago the peer was last heard; none if never.',
    ({ heardAgoMs }) => seconds(heardAgoMs),
  ),
  ofPeers(
    'leasehold_flease_peer_clock_ahead_at_least_seconds',
    "The peer's clock is ahead of ours by at least this.",
    ({ clockAheadMs }) => seconds(clockAheadMs?.atLeast),
  ),
  ofPeers(
    'leasehold_flease_peer_clock_ahead_at_most_seconds',
    "The peer's clock is ahead of ours by at most this.",
    ({ clockAheadMs }) => seconds(clockAheadMs?.atMost),
  ),
  ofPeers(
    'leasehold_flease_peer_trouble',
    '1 if something is the matter with the peer, otherwise 0; the status says what.',
    ({ problem, trouble }) => Number(problem !== undefined || trouble !== undefined),
  ),
];

/**
 * For an application with metrics of its own: the metrics of the application's groups, in the text format of
 * Prometheus.
 *
 * @throws {InvalidOptionError} if two of them have one name, for their figures could not be told apart
 */
export function fleaseMetrics(groups: readonly Pick<Flease, 'status'>[]): string {
  const all = groups.map((group) => group.status());
  const members = new Map<string, string>();
  for (const { group, id } of all) {
    const other = members.get(group);
    if (other !== undefined) {
      const rule = `each group may be there once, and ${other} and ${id} are both of that one`;
      throw new InvalidOptionError('groups', group, rule);
    }
    members.set(group, id);
  }
  return metricsText(familiesOf(METRICS, all));
}
