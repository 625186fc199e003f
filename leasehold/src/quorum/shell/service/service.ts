/** What a replica shows of its state over HTTP: status, health by progress, metrics and events. Nothing here can read or write keys. */

import type { EventLog } from '../../../node/service/event-log.ts';
import type { Told } from '../../../node/service/handle-events.ts';
import { STATUS_PORTS } from '../../../node/service/ports.ts';
import type { ProgressMonitor } from '../../../node/service/progress.ts';
import type { Schema } from '../../../node/service/schema.ts';
import type { Service } from '../../../node/service/service.ts';
import { counter, familiesOf, gauge, labelled, type Metric } from '../../../runtime/metrics.ts';
import type { ReplicaRole, ReplicaStatus } from '../replica-status.ts';

export const replicaService = (replica: ShownReplica): Service => ({
  ...{ module: 'quorum', instance: replica.status().instance, kind: 'cell', usualPort: STATUS_PORTS.quorum },
  title: 'Leasehold quorum replica',
  description: 'The state of a replica, its view of the cell, and its leases. Read-only.',
  status: () => replica.status(),
  metrics: () => familiesOf(METRICS, replica.status()),
  events: { log: replica.eventLog, schema: EVENT },
  progress: replica.progress,
});

const EVENT: Schema = {
  type: 'object',
  description:
    'quorum.role, quorum.leader, quorum.members, quorum.disk-full, quorum.disk-has-room or quorum.failed, with `id`, `atMs` and `instance`',
};

/** As much of a replica as is shown. */
export interface ShownReplica {
  readonly eventLog: EventLog<Told<'quorum'>>;
  readonly progress: ProgressMonitor;
  status(): ReplicaStatus;
}

const ROLES: readonly ReplicaRole[] = [
  ...(['gathering', 'checking-in', 'repairing', 'learner', 'follower', 'pre-candidate'] as const),
  ...(['candidate', 'leader'] as const),
];

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
  labelled(
    'gauge',
    'leasehold_quorum_role',
    'role',
    '1 for the role this replica is in, 0 for the others.',
    (status) => ROLES.map((role) => [role, status.role === role ? 1 : 0]),
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
  gauge('leasehold_quorum_members', 'Members of the cell.', ({ members }) => members.length),
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
  gauge(
    'leasehold_quorum_repair_slots',
    'Slots that the disk lost and that are not yet fetched from another replica; 0 unless the journal is being repaired.',
    ({ repair }) => (repair === undefined ? 0 : repair.slots - repair.fetchedSlots),
  ),
  gauge(
    'leasehold_quorum_repair_bytes',
    'What was fetched for the repair that is under way; 0 if none is.',
    ({ repair }) => repair?.fetchedBytes ?? 0,
  ),
  gauge('leasehold_quorum_disk_full', '1 while the disk is full, otherwise 0.', ({ isDiskFull }) =>
    isDiskFull ? 1 : 0,
  ),
];
