import { Command } from 'commander';
import type { GroupRegistry, GroupStatus } from 'leasehold/membership';
import type { StatusHead } from 'leasehold/internal';
import type { Context } from '../context.ts';
import { jsonOption, withExamples } from '../options.ts';
import { counted, duration, type JsonOption, show, table } from '../output.ts';
import { GROUP_SERVER } from '../respondents.ts';
import { serviceStatusCommand, serviceWatchCommand } from '../service/commands.ts';
import { type PlaceOption, placeOption, serviceApi } from '../service/place.ts';
import { groupJoinCommand } from './group-join.ts';
import { groupServeCommand } from './group-serve.ts';

/** The longest that a send can take with any `--lease`: then it has failed, or a view has changed. */
const SENT_WITHIN_MS = 600_000;

const WORDS = { respondent: GROUP_SERVER, group: 'group', lines: statusLines };

export function groupCommand(context: Context): Command {
  const command = new Command('group')
    .summary('Servers that agree on which of them are there')
    .description(
      'Servers that agree on which of them are there, and stop before the others go on without them. "serve" is one server, "join" one client; the others ask a running server.',
    )
    .helpCommand('help [command]', 'print the help of a command')
    .enablePositionalOptions();
  for (const each of [
    groupServeCommand(context),
    groupJoinCommand(context),
    serviceStatusCommand(context, WORDS),
    serviceWatchCommand(context, { respondent: GROUP_SERVER, group: 'group' }),
    sendCommand(context),
  ]) {
    command.addCommand(each);
  }
  return withExamples(command, context, [
    ['group serve --name a --listen 127.0.0.1:7700 --peers b=127.0.0.1:7710', 'one of two servers'],
    ['group join --name x --peers a=127.0.0.1:7700,b=127.0.0.1:7710', 'a client of the two'],
    ['group status', 'the view, and how each peer is reached'],
    ['group send --to b hello', 'answers when b has it'],
  ]);
}

interface SendOptions extends PlaceOption, JsonOption {
  readonly to?: string;
}

function sendCommand(context: Context): Command {
  const command = new Command('send')
    .summary('Send a text to a member, or to all')
    .description(
      'Send a text from a running server ("group serve") to a member of its view, or to all other members. Ends when it is acknowledged.',
    )
    .argument('<text>', 'the message')
    .option('--to <name>', 'the member (default: all others)')
    .addOption(placeOption(GROUP_SERVER))
    .addOption(jsonOption())
    .action(async (text: string, options: SendOptions) => {
      const query = new URLSearchParams(options.to === undefined ? { text } : { to: options.to, text });
      const api = serviceApi(context, options, GROUP_SERVER);
      const answer = await api.post<{ delivered: string[] }>(`/v1/send?${query}`, SENT_WITHIN_MS);
      show(context, options, answer, () => [
        answer.delivered.length === 0
          ? 'There is no other member.'
          : `Received by ${answer.delivered.join(', ')}.`,
      ]);
    });
  return withExamples(command, context, [
    ['group send --to b hello', 'to one'],
    ['group send hello --json', 'to all, for programs'],
  ]);
}

const STANDING = {
  acts: 'acts',
  continues: 'continues, with rights that were its own all along',
  none: 'may not act',
} as const;

function statusLines(status: GroupStatus & StatusHead): readonly string[] {
  const {
    name,
    group,
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
    `Server ${name} of group ${group} ${STANDING[standing]}`,
    `  view         ${view === null || view === undefined ? 'none' : `${view.id}: ${view.members.join(', ')}`}`,
    `  clients      ${view?.clients.length ?? 0} in the view, ${attachedClients} attached here`,
    `  state        ${state} for ${duration(stateForMs)}; ${counted(counters.views, 'view')}, ${counted(counters.panics, 'panic')}`,
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

type GroupNode = GroupStatus['graph'][number];

/** The links that both ends list. The last record of a server that is gone still lists links. */
function linksOf({ name, links, hasLeft }: GroupNode, graph: readonly GroupNode[]): string {
  if (hasLeft) return 'has left';
  const isListed = (other: string): boolean =>
    graph.some((node) => node.name === other && !node.hasLeft && node.links.includes(name));
  return links.filter(isListed).join(', ') || '-';
}
