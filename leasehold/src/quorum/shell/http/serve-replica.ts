/**
 * A port on which a replica shows its state: status, health by progress, and metrics. Nothing here can read or write keys.
 *
 * A replica is ready while it is a member that knows a leader, the disk has room, and writes that wait make progress.
 */

import { advancing, type ProgressCheck } from '../../../node/service/progress.ts';
import { type ServeOptions, type ServiceServer, serveService } from '../../../node/service/serve-service.ts';
import type { Service } from '../../../node/service/service.ts';
import { CLOCK_RATE_BOUND } from '../../../runtime/clock-rates.ts';
import { counter, familiesOf, gauge, labelled, type Metric } from '../../../runtime/metrics.ts';
import { VERSION } from '../../../runtime/version.ts';
import type { QuorumReplica } from '../quorum-replica.ts';
import type { ReplicaStatus } from '../replica-status.ts';

export type ServeReplicaOptions = ServeOptions;
export type ReplicaServer = ServiceServer;

export const DEFAULT_QUORUM_HTTP_PORT = 7_601;

/** A committed slot must follow within this time while calls wait. */
const STALLED_AFTER_MS = 10_000;

/**
 * Resolves when the port listens, on port 7601 unless the options say otherwise. Close it before the replica.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 */
export const serveReplica = (
  replica: QuorumReplica,
  options: ServeReplicaOptions = {},
): Promise<ReplicaServer> => serveService(replicaService(replica), options, DEFAULT_QUORUM_HTTP_PORT);

const replicaService = (replica: QuorumReplica): Service => ({
  ...{ name: 'quorum', title: 'Leasehold quorum replica', version: VERSION },
  description: 'The state of a replica, its view of the group, and its leases. Read-only.',
  status: () => replica.status(),
  metrics: () => familiesOf(METRICS, replica.status()),
  checks: () => progressChecks(replica),
});

export const progressChecks = (replica: Pick<QuorumReplica, 'status'>): readonly ProgressCheck[] => [
  { name: 'group', afterMs: 0, standsStill: () => whyNotInGroup(replica.status()) },
  {
    name: 'disk',
    afterMs: 0,
    standsStill: () => (replica.status().isDiskFull ? 'the disk is full' : undefined),
  },
  { name: 'clock', afterMs: 0, standsStill: () => whyNotByClock(replica.status()) },
  advancing({
    ...{ name: 'commits', afterMs: STALLED_AFTER_MS, why: 'calls wait, and nothing is committed' },
    isDue: () => replica.status().waiting > 0,
    mark: () => replica.status().log.committed,
  }),
];

function whyNotInGroup({ state, leader, awaited }: ReplicaStatus): string | undefined {
  if (state === 'gathering')
    return `the group is not founded: ${awaited.join(', ') || 'other replicas'} have not been heard`;
  if (state === 'checking-in')
    return `waiting until other replicas confirm that the directory has every vote: ${awaited.join(', ')}`;
  if (state === 'repairing') return 'the disk has lost slots, which are being fetched from other replicas';
  if (state === 'learner')
    return 'no member: add the replica (leasehold quorum add <name>), or end the process if the replica was removed';
  return leader === undefined ? 'no leader is known: a majority of the replicas must run' : undefined;
}

/** One fast clock among the others is the trouble of that member. Without a majority in step with this one, the clock here is suspect. */
function whyNotByClock({ members }: ReplicaStatus): string | undefined {
  const tooFast = members.filter(({ clockRate }) => clockRate !== undefined);
  if (tooFast.length === 0 || 2 * (members.length - tooFast.length) > members.length) return undefined;
  const names = tooFast.map(({ name }) => name).join(', ');
  return `nothing is read locally: the clocks of ${names} run more than ${CLOCK_RATE_BOUND} times as fast as the clock here, which may be the wrong one`;
}

/** Labels are ways to serve a read and members, of which there are few; never keys. */
export const METRICS: readonly Metric<ReplicaStatus>[] = [
  labelled(
    'counter',
    'leasehold_quorum_reads_total',
    'served',
    'Reads that this replica answered, by the way they were served.',
    ({ counters }) => Object.entries(counters?.served ?? {}),
  ),
  counter(
    'leasehold_quorum_writes_total',
    'Requests through the log that this replica answered.',
    ({ counters }) => counters?.writes ?? 0,
  ),
  counter(
    'leasehold_quorum_refused_total',
    'Calls that this replica refused because it was busy or not ready.',
    ({ counters }) => counters?.refused ?? 0,
  ),
  counter(
    'leasehold_quorum_suspensions_total',
    'Suspensions of this machine that were noticed.',
    ({ counters }) => counters?.suspensions ?? 0,
  ),
  gauge('leasehold_quorum_is_leader', '1 if this replica leads, otherwise 0.', ({ state }) =>
    state === 'leader' ? 1 : 0,
  ),
  gauge(
    'leasehold_quorum_is_leased',
    '1 while this replica may read locally, otherwise 0.',
    ({ isLeased }) => (isLeased ? 1 : 0),
  ),
  labelled(
    'gauge',
    'leasehold_quorum_held_objects',
    'member',
    'Objects with readers of their own that the member holds.',
    ({ readers }) => readers.holders.map(({ name, objects }) => [name, objects]),
  ),
  gauge(
    'leasehold_quorum_placed_objects',
    'Objects with readers of their own.',
    ({ readers }) => readers.objects,
  ),
  gauge(
    'leasehold_quorum_placement_changes',
    'Changes of readers that this replica has proposed in its term; 0 unless it leads and readers are automatic.',
    ({ readers }) => readers.placing?.changes ?? 0,
  ),
  gauge(
    'leasehold_quorum_worst_local_share',
    'The smallest share of reads that any member answered at once in the last period; 0 unless known here.',
    ({ readers }) => readers.placing?.worstLocalShare ?? 0,
  ),
  gauge('leasehold_quorum_members', 'Members of the group.', ({ members }) => members.length),
  labelled(
    'gauge',
    'leasehold_quorum_peer_connected',
    'peer',
    '1 while the member is connected, otherwise 0.',
    ({ members }) =>
      members.filter(({ isSelf }) => !isSelf).map((member) => [member.name, member.isConnected ? 1 : 0]),
  ),
  labelled(
    'gauge',
    'leasehold_quorum_peer_clock_too_fast',
    'peer',
    '1 while the clock of the member is proved too fast for its promises to count here, otherwise 0.',
    ({ members }) =>
      members.filter(({ isSelf }) => !isSelf).map((member) => [member.name, member.clockRate ? 1 : 0]),
  ),
  gauge(
    'leasehold_quorum_committed_slot',
    'Every slot up to this one is committed.',
    ({ log }) => log.committed,
  ),
  gauge('leasehold_quorum_chosen_slot', 'Every slot up to this one is chosen.', ({ log }) => log.chosen),
  gauge('leasehold_quorum_last_slot', 'The last slot of the log.', ({ log }) => log.last),
  gauge('leasehold_quorum_keys', 'Keys with a value.', ({ keys }) => keys),
  gauge('leasehold_quorum_sessions', 'Open sessions of clients.', ({ sessions }) => sessions),
  gauge('leasehold_quorum_waiting', 'Calls that wait for an answer.', ({ waiting }) => waiting),
  gauge('leasehold_quorum_clients', 'Connected clients.', ({ clients }) => clients),
  gauge('leasehold_quorum_watches', 'Watches of clients.', ({ watches }) => watches),
  gauge('leasehold_quorum_disk_full', '1 while the disk is full, otherwise 0.', ({ isDiskFull }) =>
    isDiskFull ? 1 : 0,
  ),
];
