import { Command } from 'commander';
import type {
  MemberStatus,
  PlacingStatus,
  ReadersStatus,
  RepairStatus,
  ReplicaStatus,
} from 'leasehold/quorum';
import type { Context } from '../context.ts';
import { jsonOption, withExamples } from '../options.ts';
import { bytes, counted, duration, show, table } from '../output.ts';
import { type ClientOptions, withClient, withClientOptions } from '../quorum/client-options.ts';

/** The code for a replica that has a problem. */
const NOT_READY = 1;

export const quorumStatusCommands = (context: Context): readonly Command[] => [
  withExamples(
    withClientOptions(new Command('status').summary('Tell how a replica and its cell are'))
      .description(
        `Ask a replica for its state and its view of the cell. Exit code ${NOT_READY}: the replica is not of use.`,
      )
      .addOption(jsonOption())
      .action((options: ClientOptions) =>
        withClient(context, options, async (client) => {
          const status = await client.replicaStatus();
          if (!status.isReady) context.exitCode = NOT_READY;
          show(context, options, status, () => statusLines(status));
        }),
      ),
    context,
    [['quorum status --at 10.0.0.1:7600', 'one replica and the members that it knows']],
  ),
  withExamples(
    withClientOptions(new Command('leases').summary('Show which replicas may read locally, and for how long'))
      .description(
        'Show the lease table of a replica: the promises of the members, and the placement of keys.',
      )
      .addOption(jsonOption())
      .action((options: ClientOptions) =>
        withClient(context, options, async (client) => {
          const { name, isLeased, leaseMs, placement, readers, members } = await client.replicaStatus();
          const leases = members.map(({ name: member, promiseLeftMs, isSelf }) => ({
            member,
            promiseLeftMs,
            isSelf,
          }));
          show(context, options, { name, isLeased, leaseMs, placement, readers, leases }, () => [
            `Replica ${name} ${isLeased ? 'reads locally' : 'may not read locally now'}; leases of ${duration(leaseMs)}, readers: ${placement}`,
            '',
            ...table(
              ['GRANTOR', 'PROMISE LEFT'],
              leases.map((each) => [each.member, each.isSelf ? 'itself' : leftWords(each.promiseLeftMs)]),
            ),
            ...readersLines(readers),
          ]);
        }),
      ),
    context,
    [['quorum leases --at 10.0.0.1:7600', 'the promises that this replica holds']],
  ),
];

/** What is held where, and why. */
export function readersLines({ mode, holders, slices, objects, weight, placing }: ReadersStatus): string[] {
  if (mode === 'all' || mode === 'leader') return [];
  const share = (part: number, whole: number): string =>
    whole === 0 ? '-' : `${part} (${Math.round((100 * part) / whole)} %)`;
  return [
    '',
    ...table(
      ['HOLDER', `OF ${slices} SLICES`, `OF ${objects} SINGLE OBJECTS`],
      holders.map((each) => [each.name, share(each.slices, slices), share(each.objects, objects)]),
    ),
    'The leader holds everything besides. Objects without holders of their own are held as their slice.',
    // Over the wire an undefined value is null.
    ...(typeof weight === 'number'
      ? [`Automatic: a millisecond of a writer counts as ${weight.toFixed(2)} of readers.`]
      : []),
    ...(placing ? placingLines(placing) : []),
  ];
}

const placingLines = ({ worstLocalShare, silent, movesLeft, changes }: PlacingStatus): string[] => [
  typeof worstLocalShare === 'number'
    ? `At the member with the fewest local reads ${(100 * worstLocalShare).toFixed(1)} % were answered at once.`
    : 'No member has read enough in the last period to say how many reads are local.',
  ...(silent.length > 0 ? [`Nothing is moved until these have reported: ${silent.join(', ')}.`] : []),
  `${counted(changes, 'change')} in this term, ${counted(movesLeft, 'object')} still to be moved.`,
];

const leftWords = (ms: number): string => (ms > 0 ? duration(ms) : 'none');

const repairWords = ({ slots, fetchedSlots, fetchedBytes, from }: RepairStatus): string =>
  `its journal: ${fetchedSlots} of ${counted(slots, 'slot')} fetched, ${bytes(fetchedBytes)}${from ? `, from ${from}` : ''}`;

export function statusLines(status: ReplicaStatus): readonly string[] {
  const { name, instance, role, leader, isLeased, log, keys, sessions, waiting, awaited, others } = status;
  const { members, placement, clients, watches } = status;
  return [
    `Replica ${name} of cell ${instance}: ${role}${isLeased ? ', reads locally' : ''}`,
    ...status.problems.map(({ what }) => `  problem      ${what}`),
    ...(awaited.length > 0 ? [`  waits for    ${awaited.join(', ')}, to found the cell`] : []),
    ...(status.repair ? [`  repairs      ${repairWords(status.repair)}`] : []),
    `  leader       ${leader ?? 'not known'}`,
    `  readers      ${placement}`,
    `  log          committed ${log.committed}, chosen ${log.chosen}, last ${log.last}, snapshot ${log.base}`,
    `  holds        ${counted(keys, 'key')}, ${counted(sessions, 'session')}`,
    `  serves       ${counted(clients, 'client')}, ${counted(watches, 'watch').replace(/watchs$/, 'watches')}; ${counted(waiting, 'call')} waiting`,
    ...(status.isDiskFull ? ['  disk         full: nothing is acknowledged until there is room'] : []),
    ...(others.length > 0 ? [`  not members  ${others.join(', ')}`] : []),
    '',
    ...(members.length === 0
      ? ['No members are known yet.']
      : table(['MEMBER', 'ADDRESS', 'ROLE', 'CONNECTED', ''], members.map(memberCells))),
  ];
}

const memberCells = (member: MemberStatus): readonly string[] => [
  member.name,
  member.address ?? '-',
  member.isLeader ? 'leader' : 'follower',
  member.isSelf ? 'itself' : member.isConnected ? 'yes' : 'no',
  member.problem ?? '',
];
