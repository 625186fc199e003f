/** The metrics of one server of a group. */

import { counter, gauge, labelled, type Metric } from '../../runtime/metrics.ts';
import type { GroupStatus } from './status.ts';

export const METRICS: readonly Metric<GroupStatus>[] = [
  gauge(
    'leasehold_group_members',
    'Members of the present view; 0 without a view.',
    ({ view }) => view?.members.length ?? 0,
  ),
  gauge(
    'leasehold_group_clients',
    'Clients of the present view, over all servers; 0 without a view.',
    ({ view }) => view?.clients.length ?? 0,
  ),
  gauge(
    'leasehold_group_attached_clients',
    'Clients that are attached to this server.',
    ({ attachedClients }) => attachedClients,
  ),
  labelled(
    'gauge',
    'leasehold_group_standing',
    'standing',
    '1 for the present standing: acts, continues or none; otherwise 0.',
    ({ standing }) =>
      (['acts', 'continues', 'none'] as const).map((each) => [each, each === standing ? 1 : 0]),
  ),
  labelled(
    'gauge',
    'leasehold_group_state',
    'state',
    '1 for the present state: in-view, changing, panicking or left; otherwise 0.',
    ({ state }) =>
      (['in-view', 'changing', 'panicking', 'left'] as const).map((each) => [each, each === state ? 1 : 0]),
  ),
  labelled(
    'gauge',
    'leasehold_group_peer_reach',
    'peer',
    '2 if a peer is reached directly, 1 over other servers, 0 not at all.',
    ({ peers }) =>
      peers.map(({ name, reach }) => [name, reach === 'direct' ? 2 : reach === 'overlay' ? 1 : 0]),
  ),
  gauge(
    'leasehold_group_registered_servers',
    'Servers registered in etcd, at the last look; 0 in a group without etcd.',
    ({ registry }) => registry?.registered.length ?? 0,
  ),
  gauge(
    'leasehold_group_is_registered',
    '1 while this server is registered in etcd; 0 otherwise, and in a group without etcd.',
    ({ registry }) => (registry?.isRegistered === true ? 1 : 0),
  ),
  gauge(
    'leasehold_group_messages_waiting',
    'Messages that wait to be acknowledged.',
    ({ waiting }) => waiting,
  ),
  counter('leasehold_group_changes_total', 'View changes begun.', ({ counters }) => counters.changes),
  counter('leasehold_group_views_total', 'Views delivered.', ({ counters }) => counters.views),
  counter(
    'leasehold_group_panics_total',
    'Times that no view could be agreed on in time.',
    ({ counters }) => counters.panics,
  ),
  counter(
    'leasehold_group_messages_sent_total',
    'Messages sent to other members.',
    ({ counters }) => counters.messagesSent,
  ),
  counter(
    'leasehold_group_messages_failed_total',
    'Messages that were not acknowledged before a new view or panic.',
    ({ counters }) => counters.messagesFailed,
  ),
  counter(
    'leasehold_group_messages_received_total',
    'Messages of other members handed to the application.',
    ({ counters }) => counters.messagesReceived,
  ),
];
