/** The metrics of one server or client of a group. */

import { counter, gauge, labelled, type Metric } from '../../../runtime/metrics.ts';
import type { GroupClientStatus, GroupMemberStatus } from '../status.ts';

type Common = GroupClientStatus | GroupMemberStatus;

/** Of a client. */
export const CLIENT_METRICS: readonly Metric<Common>[] = [
  gauge(
    'leasehold_membership_members',
    'Members of the present view; 0 without a view.',
    ({ view }) => view?.members.length ?? 0,
  ),
  gauge(
    'leasehold_membership_clients',
    'Clients of the present view, over all servers; 0 without a view.',
    ({ view }) => view?.clients.length ?? 0,
  ),
  labelled(
    'gauge',
    'leasehold_membership_standing',
    'standing',
    '1 for the present standing: acts, continues or none; otherwise 0.',
    ({ standing }) =>
      (['acts', 'continues', 'none'] as const).map((each) => [each, each === standing ? 1 : 0]),
  ),
  labelled(
    'gauge',
    'leasehold_membership_state',
    'state',
    '1 for the present state: in-view, changing, no-view or left; otherwise 0.',
    ({ state }) =>
      (['in-view', 'changing', 'no-view', 'left'] as const).map((each) => [each, each === state ? 1 : 0]),
  ),
  gauge(
    'leasehold_membership_messages_waiting',
    'Messages that wait to be acknowledged.',
    ({ waiting }) => waiting,
  ),
  counter('leasehold_membership_changes_total', 'View changes begun.', ({ counters }) => counters.changes),
  counter('leasehold_membership_views_total', 'Views delivered.', ({ counters }) => counters.views),
  counter('leasehold_membership_no_views_total', 'Times without a view.', ({ counters }) => counters.noViews),
];

/** Of a server. */
export const MEMBER_METRICS: readonly Metric<GroupMemberStatus>[] = [
  ...CLIENT_METRICS,
  gauge(
    'leasehold_membership_attached_clients',
    'Clients that are attached to this server.',
    ({ attachedClients }) => attachedClients,
  ),
  labelled(
    'gauge',
    'leasehold_membership_peer_reach',
    'peer',
    '2 if a peer is reached directly, 1 over other servers, 0 not at all.',
    ({ peers }) =>
      peers.map(({ name, reach }) => [name, reach === 'direct' ? 2 : reach === 'overlay' ? 1 : 0]),
  ),
  gauge(
    'leasehold_membership_registered_servers',
    'Servers registered in etcd, at the last look; 0 in a group without etcd.',
    ({ registry }) => registry?.registered.length ?? 0,
  ),
  gauge(
    'leasehold_membership_is_registered',
    '1 while this server is registered in etcd; 0 otherwise, and in a group without etcd.',
    ({ registry }) => (registry?.isRegistered === true ? 1 : 0),
  ),
  counter(
    'leasehold_membership_messages_sent_total',
    'Messages sent to other members.',
    ({ counters }) => counters.messagesSent,
  ),
  counter(
    'leasehold_membership_messages_failed_total',
    'Messages that were not acknowledged before the view ended.',
    ({ counters }) => counters.messagesFailed,
  ),
  counter(
    'leasehold_membership_messages_received_total',
    'Messages of other members handed to the application.',
    ({ counters }) => counters.messagesReceived,
  ),
];
