/**
 * The metrics of a member for Prometheus. `docs/metrics.md` has the same list, and a test compares the two.
 *
 * Labels are the cell and peers, of which there are few; never resources, of which there is no end.
 */

import { counter, gauge, labelled, type Metric } from '../../../runtime/metrics.ts';
import type { FleaseStatus, PeerStatus } from '../status.ts';

const MS_PER_SECOND = 1_000;

/** One for each peer; undefined: not known, and so no sample. */
const ofPeers = (
  name: string,
  help: string,
  value: (peer: PeerStatus) => number | undefined,
): Metric<FleaseStatus> =>
  labelled('gauge', name, 'peer', help, ({ peers }) => peers.map((peer) => [peer.name, value(peer)]));

const seconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : ms / MS_PER_SECOND;

export const METRICS: readonly Metric<FleaseStatus>[] = [
  gauge('leasehold_flease_held', 'Leases held by this member.', ({ held }) => held),
  gauge(
    'leasehold_flease_waiting',
    'Requests of this process that wait for an answer.',
    ({ waiting }) => waiting,
  ),
  gauge(
    'leasehold_flease_registers',
    'Resources of which something is remembered here for the cell.',
    ({ registers }) => registers,
  ),
  counter(
    'leasehold_flease_attempts_total',
    'Attempts to acquire, renew, release or ask, of this member.',
    ({ attempts }) => attempts,
  ),
  gauge('leasehold_flease_recovering', '1 while the member recovers, otherwise 0.', ({ recovery }) =>
    recovery === undefined ? 0 : 1,
  ),
  gauge(
    'leasehold_flease_recovery_seconds',
    'How much longer the member recovers; infinite while its clock is off, or others have other peers.',
    ({ recovery }) => (recovery?.forMs ?? 0) / MS_PER_SECOND,
  ),
  gauge(
    'leasehold_flease_peers_version',
    'The version of the peers that this member is in.',
    ({ peersVersion }) => peersVersion,
  ),
  gauge(
    'leasehold_flease_settled',
    '0 while members of the peers before are still needed, otherwise 1.',
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
