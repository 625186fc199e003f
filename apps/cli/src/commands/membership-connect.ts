import process from 'node:process';
import { Command, Option } from 'commander';
import { VERSION } from 'leasehold/internal';
import { connectGroup } from 'leasehold/membership';
import { aborted, type Context, interruption } from '../context.ts';
import { UsageError } from '../failure.ts';
import { type Flags, inFlags } from '../flease/flags.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { jsonOption, logOption, milliseconds, withExamples } from '../options.ts';
import { counted, type JsonOption, writeJson, writeLines } from '../output.ts';
import { tlsOf, type TlsFlags, withTlsFlags } from '../tls-options.ts';

interface ConnectOptions extends JsonOption, TlsFlags {
  readonly name?: string;
  readonly at?: string;
  readonly group?: string;
  /** In milliseconds. */
  readonly lease?: number;
  readonly log?: LogFormat;
}

const NAME_VARIABLE = 'LEASEHOLD_MEMBERSHIP_NAME';
const SERVERS_VARIABLE = 'LEASEHOLD_MEMBERSHIP_SERVERS';

const FLAGS: Flags = {
  durations: { leaseMs: '--lease' },
  others: {
    ...{ name: '--name', servers: '--at', group: '--group' },
    ...{ 'tls.ca': '--ca', 'tls.cert': '--cert', 'tls.key': '--key' },
  },
  inRules: [],
};

export function membershipConnectCommand(context: Context): Command {
  const command = withTlsFlags(new Command('connect'), 'the certificate of this client')
    .summary('Be a client of a group')
    .description(
      'Be a client of one of the servers of a group, and of another one if that server fails, and print each view. Ctrl-C leaves the group. Never two processes at a time under one --name.',
    )
    .option('--name <name>', `the name of this client (default: ${NAME_VARIABLE})`)
    .option('--at <addresses>', `servers, as host:port,host:port (default: ${SERVERS_VARIABLE})`)
    .option('--group <name>', 'as at the servers (default: default)')
    .addOption(new Option('--lease <time>', 'as at the servers (default: 1500ms)').argParser(milliseconds))
    .addOption(logOption())
    .addOption(jsonOption('print views as lines of JSON'))
    .action((options: ConnectOptions) => inFlags(connect(context, options), FLAGS));
  return withExamples(command, context, [
    ['membership connect --name x --at 127.0.0.1:7700,127.0.0.1:7710', 'a client of one of the two'],
  ]);
}

async function connect(context: Context, options: ConnectOptions): Promise<void> {
  using interrupted = interruption();
  const { out, environment } = context;
  out.goOnUnread();
  const name = options.name ?? (environment[NAME_VARIABLE] || undefined);
  if (name === undefined) throw new UsageError(`which client is this? Give --name, or set ${NAME_VARIABLE}`);
  const servers = (options.at ?? environment[SERVERS_VARIABLE] ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (servers.length === 0)
    throw new UsageError(`which servers? Give --at host:port,host:port, or set ${SERVERS_VARIABLE}`);
  const logger = createLogger(context, { format: options.log ?? (options.json ? 'json' : undefined) });
  const say = (event: string, facts: Readonly<Record<string, unknown>>, line: string): void => {
    if (options.json) writeJson(out, { event, ...facts });
    else writeLines(out, [line]);
  };
  await using client = await connectGroup({
    ...{ name, servers, group: options.group, leaseMs: options.lease, tls: tlsOf(options), logger },
    onView: ({ id, members, clients }) =>
      say(
        'view',
        { id, members, clients },
        `view ${id}: ${members.join(', ')}; ${counted(clients.length, 'client')}: ${clients.join(', ')}`,
      ),
    onMessage: (from, bytes) => {
      const text = new TextDecoder().decode(bytes);
      say('message', { from, text }, `${from}: ${text}`);
    },
    onViewEnding: () => say('view-ending', {}, 'the view is over'),
    onNoView: () => say('no-view', {}, 'no server counts this client in a view'),
  });
  say(
    'connects',
    { name, group: client.group, pid: process.pid, version: VERSION },
    `Client ${name} of group ${client.group}. Ctrl-C leaves the group.`,
  );
  const why = await Promise.race([aborted(interrupted), client.closed]);
  if (why instanceof Error) throw why;
}
