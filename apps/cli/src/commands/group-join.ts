import process from 'node:process';
import { Command, Option } from 'commander';
import { VERSION } from 'leasehold/manager';
import { joinGroup, type JoinGroupClientOptions } from 'leasehold/membership';
import { aborted, type Context, interruption } from '../context.ts';
import { UsageError } from '../failure.ts';
import { type Flags, inFlags } from '../flease/flags.ts';
import { peersOf, tlsOf } from '../flease/member-options.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { jsonOption, logOption, milliseconds, withExamples } from '../options.ts';
import { counted, type JsonOption, writeJson, writeLines } from '../output.ts';

interface JoinOptions extends JsonOption {
  readonly name?: string;
  readonly peers?: string;
  readonly group?: string;
  /** In milliseconds. */
  readonly lease?: number;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly log?: LogFormat;
}

const NAME_VARIABLE = 'LEASEHOLD_GROUP_NAME';
const PEERS_VARIABLE = 'LEASEHOLD_GROUP_PEERS';

const FLAGS: Flags = {
  durations: { leaseMs: '--lease' },
  others: {
    ...{ name: '--name', peers: '--peers', group: '--group' },
    ...{ 'tls.ca': '--ca', 'tls.cert': '--cert', 'tls.key': '--key' },
  },
  inRules: [],
};

export function groupJoinCommand(context: Context): Command {
  const command = new Command('join')
    .summary('Be a client of a group')
    .description(
      'Be a client of one of the servers of a group, and of another one if that server fails, and print each view. Ctrl-C leaves the group. Never two processes at a time under one --name.',
    )
    .option('--name <name>', `the name of this client (default: ${NAME_VARIABLE})`)
    .option('--peers <addresses>', `the servers, as a=host:port,b=host:port (default: ${PEERS_VARIABLE})`)
    .option('--group <name>', 'as at the servers (default: default)')
    .addOption(new Option('--lease <time>', 'as at the servers (default: 1500ms)').argParser(milliseconds))
    .option('--ca <file>', 'certificates of the authority of all servers; TLS, with --cert and --key')
    .option('--cert <file>', 'our own certificate')
    .option('--key <file>', 'the private key of --cert')
    .addOption(logOption())
    .addOption(jsonOption('print views as lines of JSON'))
    .action((options: JoinOptions) => inFlags(join(context, options), FLAGS));
  return withExamples(command, context, [
    ['group join --name x --peers a=127.0.0.1:7700,b=127.0.0.1:7710', 'a client of a or b'],
  ]);
}

async function join(context: Context, options: JoinOptions): Promise<void> {
  using interrupted = interruption();
  const { out, environment } = context;
  out.goOnUnread();
  const name = options.name ?? (environment[NAME_VARIABLE] || undefined);
  if (name === undefined) throw new UsageError(`which client is this? Give --name, or set ${NAME_VARIABLE}`);
  const peers = peersOf('--peers', options.peers ?? environment[PEERS_VARIABLE] ?? '');
  const logger = createLogger(context, { format: options.log ?? (options.json ? 'json' : undefined) });
  const ended = new AbortController();
  let why: Error | undefined;
  const say = (event: string, facts: Readonly<Record<string, unknown>>, line: string): void => {
    if (options.json) writeJson(out, { event, ...facts });
    else writeLines(out, [line]);
  };
  const client: JoinGroupClientOptions = {
    ...{ name, peers, group: options.group, leaseMs: options.lease, tls: tlsOf(options), logger },
    onView: ({ id, members, clients }) =>
      say(
        'view',
        { id, members, clients },
        `view ${id}: ${members.join(', ')}; ${counted(clients.length, 'client')}: ${clients.join(', ')}`,
      ),
    onStartChange: () => say('change', {}, 'the view is over'),
    onPanic: () => say('panic', {}, 'no server counts this client in a view'),
    onEnd: (error) => {
      why = error;
      ended.abort();
    },
  };
  await using group = await joinGroup(client);
  say(
    'joins',
    { name, group: group.group, pid: process.pid, version: VERSION },
    `Client ${name} of group ${group.group}. Ctrl-C leaves the group.`,
  );
  await Promise.race([aborted(interrupted), aborted(ended.signal)]);
  if (why !== undefined) throw why;
}
