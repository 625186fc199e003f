/**
 * The metrics of a Manager for Prometheus. `docs/metrics.md` has the same list, and a test compares the two.
 *
 * Names end in their unit, and counters in `_total`. Labels are pools, reasons and roles, of which there are few;
 * never keys, owners or addresses, of which there is no end. Even pools can be created by every process that connects,
 * so only the first {@link MOST_POOLS} by name have series of their own.
 */

import type { ManagerObservation } from '../../core/manager/observation.ts';
import { handsAllOver } from '../../core/messages.ts';
import { behindBy, knowsNothing, msUntil, poolNames, termKnown } from './answers.ts';
import type { ManagerCounters } from './counters.ts';
import type { Family } from '../../../runtime/metrics-text.ts';
import { counter, familiesOf, gauge, histogram, labelled, type Metric } from '../../../runtime/metrics.ts';
import { misplacedShare, tallyOf } from './shares.ts';
import type { ApiSource, StoreMember, StoreObservation, TrafficObservation } from './source.ts';

export const MOST_POOLS = 100;

/** Everything that is read once for all metrics. */
interface Reading {
  readonly source: ApiSource;
  readonly seen: ManagerObservation;
  /** Undefined if this Manager cannot know. */
  readonly pools: readonly string[] | undefined;
  readonly counters: ManagerCounters;
  readonly traffic: TrafficObservation;
  readonly store: StoreObservation;
}

const perPool = (
  name: string,
  help: string,
  value: (pool: string, reading: Reading) => number | undefined,
): Metric<Reading> =>
  labelled('gauge', name, 'pool', help, (reading) =>
    (reading.pools ?? []).slice(0, MOST_POOLS).map((pool) => [pool, value(pool, reading)] as const),
  );

/** Counts members of the store; of a store without any there is nothing to count. */
const ofMembers =
  (isIt: (member: StoreMember) => boolean) =>
  ({ store }: Reading): number | undefined =>
    store.members.length === 0 ? undefined : store.members.filter(isIt).length;

const ROLES = ['standby', 'leading', 'halted'] as const;

export const METRICS: readonly Metric<Reading>[] = [
  labelled(
    'gauge',
    'leasehold_manager_role',
    'role',
    '1 for the role this Manager is in, 0 for the others.',
    ({ seen }) => ROLES.map((role) => [role, seen.role === role ? 1 : 0] as const),
  ),
  gauge('leasehold_manager_term', 'The latest term this Manager knows of.', ({ source, seen }) =>
    termKnown(source, seen),
  ),
  gauge('leasehold_manager_log_position', 'The position of the last commit known.', ({ seen }) =>
    knowsNothing(seen) ? undefined : seen.state.position,
  ),
  gauge(
    'leasehold_manager_log_behind_positions',
    'Positions of the log that a standby did not have yet when it last looked; only of a standby.',
    ({ seen }) => behindBy(seen),
  ),
  gauge(
    'leasehold_manager_leader_lease_seconds',
    'How much longer this Manager may lead without hearing from the store; only of a leader that shares one.',
    ({ seen, source }) =>
      seen.leadsUntil === undefined || seen.leadsUntil === Number.POSITIVE_INFINITY
        ? undefined
        : msUntil(seen.leadsUntil, source.now()) / 1_000,
  ),
  gauge(
    'leasehold_manager_managers',
    'Managers that share the store, this one included, as far as is known.',
    ({ source }) => source.managers().length,
  ),
  gauge('leasehold_manager_pools', 'Pools there are.', ({ pools }) => pools?.length),

  perPool(
    'leasehold_pool_owners',
    'Members of the pool.',
    (pool, { seen }) => seen.state.pool(pool).members.size,
  ),
  perPool('leasehold_pool_lookups', 'Look-ups heard of lately.', (pool, { seen }) =>
    seen.lookups.reduce((sum, lookup) => (lookup.pool === pool ? sum + 1 : sum), 0),
  ),
  perPool(
    'leasehold_pool_rows',
    'Rows of the lease table.',
    (pool, { seen }) => seen.state.pool(pool).rows.length,
  ),
  perPool(
    'leasehold_pool_unowned_ratio',
    'Share of the ring without an owner, from 0 to 1.',
    (pool, { seen }) => tallyOf(seen.state.pool(pool)).unowned,
  ),
  perPool(
    'leasehold_pool_misplaced_ratio',
    'Share of the ring that is not where the policy wants it, from 0 to 1; only of a leader.',
    (pool, { seen }) =>
      seen.role === 'leading' ? misplacedShare(seen.state.pool(pool), seen.target(pool)) : undefined,
  ),
  perPool(
    'leasehold_pool_draining_ranges',
    'Ranges of owners that hand all their keys over; only of a leader.',
    (pool, { seen }) => {
      const table = seen.state.pool(pool);
      const draining = seen.moves(pool)?.members.filter(({ intent }) => handsAllOver(intent));
      return draining?.reduce((sum, { incarnation }) => sum + table.rowsOf(incarnation).length, 0);
    },
  ),
  perPool(
    'leasehold_pool_moves_underway',
    'Ranges on their way to another owner with their state; only of a leader.',
    (pool, { seen }) => seen.moves(pool)?.underway.length,
  ),
  labelled(
    'counter',
    'leasehold_pool_moves_total',
    'outcome',
    'Moves that ended in this term; returned: the source had handed over and was given the keys back; void: it came to nothing before. Only of a leader.',
    ({ seen }) => Object.entries(seen.movesEnded ?? {}),
  ),

  counter(
    'leasehold_manager_reports_total',
    'Reports of owners received.',
    ({ counters }) => counters.reports,
  ),
  counter('leasehold_manager_updates_total', 'Updates sent to owners.', ({ counters }) => counters.updates),
  counter('leasehold_manager_syncs_total', 'Syncs of look-ups received.', ({ counters }) => counters.syncs),
  counter(
    'leasehold_manager_answers_total',
    'Changes sent to look-ups in answer to a sync.',
    ({ counters }) => counters.answers,
  ),
  counter(
    'leasehold_manager_pushes_total',
    'Changes sent to look-ups unasked.',
    ({ counters }) => counters.pushes,
  ),
  counter(
    'leasehold_manager_certificates_received_total',
    'Death certificates received.',
    ({ counters }) => counters.certificatesReceived,
  ),
  counter(
    'leasehold_manager_certificates_accepted_total',
    'Death certificates that proved something.',
    ({ counters }) => counters.certificatesAccepted,
  ),

  counter(
    'leasehold_pool_joins_in_line_total',
    'Times that an owner that asked to join was told to wait in line.',
    ({ counters }) => counters.busyAnswers,
  ),
  labelled(
    'counter',
    'leasehold_manager_limited_total',
    'limit',
    'Times that a limit held a peer back; the label is the name of the limit.',
    ({ traffic }) => Object.entries(traffic.limited),
  ),
  counter(
    'leasehold_pool_owners_joined_total',
    'Owners that became members.',
    ({ counters }) => counters.joined,
  ),
  labelled(
    'counter',
    'leasehold_pool_owners_left_total',
    'why',
    'Owners that ceased to be members; expired: nothing was heard of them for a whole hold.',
    ({ counters }) => Object.entries(counters.left),
  ),
  counter(
    'leasehold_pool_losses_total',
    "Times that an owner's keys lost their state.",
    ({ counters }) => counters.losses,
  ),

  counter(
    'leasehold_manager_elections_total',
    'Times this Manager was elected.',
    ({ counters }) => counters.elections,
  ),
  counter(
    'leasehold_manager_depositions_total',
    'Times this Manager ceased to lead.',
    ({ counters }) => counters.depositions,
  ),
  counter(
    'leasehold_manager_suspensions_total',
    'Times this machine was found to have been asleep.',
    ({ counters }) => counters.suspensions,
  ),

  counter('leasehold_manager_commits_total', 'Batches committed.', ({ counters }) => counters.commits),
  counter(
    'leasehold_manager_commit_bytes_total',
    'Bytes of batches committed.',
    ({ counters }) => counters.commitBytes,
  ),
  counter(
    'leasehold_manager_commits_refused_total',
    'Batches that the log refused.',
    ({ counters }) => counters.commitsRefused,
  ),
  histogram(
    'leasehold_manager_commit_duration_seconds',
    'From handing a batch to the log until it was committed.',
    ({ counters }) => counters.commitSeconds,
  ),
  counter(
    'leasehold_manager_compactions_total',
    'Snapshots written to shorten the log.',
    ({ counters }) => counters.compactions,
  ),
  gauge(
    'leasehold_manager_log_size_bytes',
    'What the log takes up, snapshots included.',
    ({ store }) => store.bytes,
  ),
  gauge(
    'leasehold_manager_store_members',
    'Members of the store; only of one that has any.',
    ofMembers(() => true),
  ),
  gauge(
    'leasehold_manager_store_members_reachable',
    'Members of the store that answer.',
    ofMembers(({ reachable }) => reachable),
  ),
  gauge(
    'leasehold_manager_store_members_complaining',
    'Members of the store that answer and say that something is wrong with them.',
    ofMembers(({ reachable, complaint }) => reachable && complaint !== undefined),
  ),
  gauge(
    'leasehold_manager_store_database_bytes',
    'The largest database among the members of the store, with all that others keep there.',
    ({ store }) => {
      const sizes = store.members.flatMap(({ databaseBytes }) => databaseBytes ?? []);
      return sizes.length === 0 ? undefined : Math.max(...sizes);
    },
  ),

  gauge(
    'leasehold_connections',
    'Open connections of owners, look-ups and supervisors.',
    ({ traffic }) => traffic.connections,
  ),
  counter(
    'leasehold_manager_connections_accepted_total',
    'Connections accepted.',
    ({ traffic }) => traffic.connectionsAccepted,
  ),
  counter(
    'leasehold_refused_total',
    'Connections refused: beyond a limit, or of another protocol.',
    ({ traffic }) => traffic.connectionsRefused,
  ),
  counter(
    'leasehold_manager_received_bytes_total',
    'Bytes received from owners, look-ups and supervisors.',
    ({ traffic }) => traffic.bytesIn,
  ),
  counter(
    'leasehold_manager_sent_bytes_total',
    'Bytes sent to owners, look-ups and supervisors.',
    ({ traffic }) => traffic.bytesOut,
  ),
  counter(
    'leasehold_manager_messages_dropped_total',
    'Messages not sent, because the receiver was gone or its queue full.',
    ({ traffic }) => traffic.messagesDropped,
  ),
  counter(
    'leasehold_manager_messages_malformed_total',
    'Messages received that were none.',
    ({ traffic }) => traffic.messagesMalformed,
  ),
  counter(
    'leasehold_manager_messages_not_allowed_total',
    'Messages received that their sender may not send: forged reports.',
    ({ traffic }) => traffic.messagesNotAllowed,
  ),
  gauge('leasehold_manager_event_readers', 'Open streams of events.', ({ source }) => source.events.readers),
];

export function managerMetrics(source: ApiSource): readonly Family[] {
  const seen = source.observe();
  return familiesOf(METRICS, {
    ...{ source, seen, counters: source.counters, traffic: source.traffic(), store: source.store() },
    pools: knowsNothing(seen) ? undefined : poolNames(source, seen),
  });
}
