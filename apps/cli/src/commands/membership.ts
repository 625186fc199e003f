import { Command } from 'commander';
import type { GroupRegistry, GroupMemberStatus } from 'leasehold/membership';
import type { StatusHead } from '../answers.ts';
import type { Context } from '../context.ts';
import { jsonOption, withExamples } from '../options.ts';
import { counted, duration, type JsonOption, show, table } from '../output.ts';
import { GROUP_SERVER } from '../respondents.ts';
import { serviceStatusCommand, serviceWatchCommand } from '../service/commands.ts';
import { type PlaceOption, placeOption, serviceApi } from '../service/place.ts';
import { membershipConnectCommand } from './membership-connect.ts';
import { membershipStartCommand } from './membership-start.ts';

/** The longest that a send can take with any `--lease`: then it has failed, or a view has changed. */
const SENT_WITHIN_MS = 600_000;

const WORDS = { respondent: GROUP_SERVER, group: 'membership', lines: statusLines };

export function membershipCommand(context: Context): Command {
  const command = new Command('membership')
    .summary('Servers that agree on which of them are there')
    .description(
      'Servers that agree on which of them are there, and stop before the others go on without them. "start" is one server, "connect" one client; the others ask a running server.',
    )
    .helpCommand('help [command]', 'print the help of a command')
    .enablePositionalOptions();
  for (const each of [
    membershipStartCommand(context),
    membershipConnectCommand(context),
    serviceStatusCommand(context, WORDS),
    serviceWatchCommand(context, { respondent: GROUP_SERVER, group: 'membership' }),
    sendCommand(context),
  ]) {
    command.addCommand(each);
  }
  return withExamples(command, context, [
    ['membership start --name a --peers a=127.0.0.1:7700,b=127.0.0.1:7710', 'one of two servers'],
    ['membership connect --name x --at 127.0.0.1:7700,127.0.0.1:7710', 'a client of the two'],
    ['membership status', 'the view, and how each peer is reached'],
    ['membership send --to b hello', 'answers when b has it'],
  ]);
}

interface SendOptions extends PlaceOption, JsonOption {
  readonly to?: string;
}

function sendCommand(context: Context): Command {
  const command = new Command('send')
    .summary('Send a text to a member, or to all')
    .description(
      'Send a text from a running server ("membership start") to a member of its view, or to all other members. Ends when it is acknowledged.',
    )
    .argument('<text>', 'the message')
    .option('--to <name>', 'the member (default: all others)')
    .addOption(placeOption(GROUP_SERVER))
    .addOption(jsonOption())
    .action(async (text: string, options: SendOptions) => {
      const query = new URLSearchParams(options.to === undefined ? { text } : { to: options.to, text });
      const api = serviceApi(context, options, GROUP_SERVER);
      const answer = await api.post<{ delivered: string[] }>(
        await api.pathOf(`/send?${query}`),
        SENT_WITHIN_MS,
      );
      show(context, options, answer, () => [
        answer.delivered.length === 0
          ? 'There is no other member.'
          : `Received by ${answer.delivered.join(', ')}.`,
      ]);
    });
  return withExamples(command, context, [
    ['membership send --to b hello', 'to one'],
    ['membership send hello --json', 'to all, for programs'],
  ]);
}

const STANDING = {
  acts: 'acts',
  continues: 'continues, with rights that were its own all along',
  none: 'may not act',
} as const;

function statusLines(status: GroupMemberStatus & StatusHead): readonly string[] {
  const {
    name,
    instance,
    state,
    stateForMs,
    standing,
    view,
    peers,
    graph,
    leaseMs,
    counters,
    attachedClients,
    registry,
  } = status;
  return [
    `Server ${name} of group ${instance} ${STANDING[standing]}`,
    `  view         ${view === null || view === undefined ? 'none' : `${view.id}: ${view.members.join(', ')}`}`,
    `  clients      ${view?.clients.length ?? 0} in the view, ${attachedClients} attached here`,
    `  state        ${state} for ${duration(stateForMs)}; ${counted(counters.views, 'view')}, ${counted(counters.noViews, 'time')} without one`,
    `  lease        ${duration(leaseMs)}`,
    ...(registry === null || registry === undefined ? [] : registryLines(registry)),
    '',
    ...(peers.length === 0
      ? ['No other server is known.']
      : table(
          ['PEER', 'ADDRESS', 'MEMBER', 'REACHED', ''],
          peers.map((peer) => [
            peer.name,
            peer.address,
            peer.isMember ? 'yes' : 'no',
            peer.reach ?? 'no',
            peer.problem ?? '',
          ]),
        )),
    '',
    ...table(
      ['SERVER', 'LINKS', 'CANNOT REACH'],
      graph.map((node) => [node.name, linksOf(node, graph), node.cannotReach.join(', ') || '-']),
    ),
  ];
}

function registryLines({ members, prefix, isRegistered, registered, problem }: GroupRegistry): string[] {
  const servers = registered.length === 0 ? 'nobody' : registered.join(', ');
  return [
    `  etcd         ${members.join(', ')}, ${prefix}`,
    `  registered   ${servers}${isRegistered ? '' : '; not this server'}`,
    ...(problem === null || problem === undefined ? [] : [`  problem      ${problem}`]),
  ];
}

type GroupNode = GroupMemberStatus['graph'][number];

/** The links that both ends list. The last record of a server that is gone still lists links. */
function linksOf({ name, links, hasLeft }: GroupNode, graph: readonly GroupNode[]): string {
  if (hasLeft) return 'has left';
  const isListed = (other: string): boolean =>
    graph.some((node) => node.name === other && !node.hasLeft && node.links.includes(name));
  return links.filter(isListed).join(', ') || '-';
}
