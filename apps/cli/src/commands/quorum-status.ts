import { Command } from 'commander';
import type { MemberStatus, ReplicaStatus } from 'leasehold/quorum';
import type { Context } from '../context.ts';
import { jsonOption, withExamples } from '../options.ts';
import { counted, duration, show, table } from '../output.ts';
import { type ClientOptions, withClient, withClientOptions } from '../quorum/client-options.ts';

export const quorumStatusCommands = (context: Context): readonly Command[] => [
  withExamples(
    withClientOptions(new Command('status').summary('Tell how a replica and its group are'))
      .description('Ask a replica for its state and its view of the group.')
      .addOption(jsonOption())
      .action((options: ClientOptions) =>
        withClient(context, options, async (client) => {
          const status = await client.status(client.options);
          show(context, options, status, () => statusLines(status));
        }),
      ),
    context,
    [['quorum status --servers 10.0.0.1:7600', 'one replica and the members that it knows']],
  ),
  withExamples(
    withClientOptions(new Command('leases').summary('Show which replicas may read locally, and for how long'))
      .description(
        'Show the lease table of a replica: the promises of the members, and the placement of keys.',
      )
      .addOption(jsonOption())
      .action((options: ClientOptions) =>
        withClient(context, options, async (client) => {
          const { name, isLeased, leaseMs, placement, members } = await client.status(client.options);
          const leases = members.map(({ name: member, promiseLeftMs, isSelf }) => ({
            member,
            promiseLeftMs,
            isSelf,
          }));
          show(context, options, { name, isLeased, leaseMs, placement, leases }, () => [
            `Replica ${name} ${isLeased ? 'reads locally' : 'may not read locally now'}; leases of ${duration(leaseMs)}, readers: ${placement}`,
            '',
            ...table(
              ['GRANTOR', 'PROMISE LEFT'],
              leases.map((each) => [each.member, each.isSelf ? 'itself' : leftWords(each.promiseLeftMs)]),
            ),
          ]);
        }),
      ),
    context,
    [['quorum leases --servers 10.0.0.1:7600', 'the promises that this replica holds']],
  ),
];

const leftWords = (ms: number): string => (ms > 0 ? duration(ms) : 'none');

export function statusLines(status: ReplicaStatus): readonly string[] {
  const { name, group, state, leader, isLeased, log, keys, sessions, waiting, awaited, others } = status;
  const { members, placement, clients, watches } = status;
  return [
    `Replica ${name} of group ${group}: ${state}${isLeased ? ', reads locally' : ''}`,
    ...(awaited.length > 0 ? [`  waits for    ${awaited.join(', ')}, to found the group`] : []),
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
