import process from 'node:process';
import { Command, Option } from 'commander';
import { STATUS_PORTS, VERSION } from 'leasehold/internal';
import { type GroupEtcd, joinGroup, type JoinGroupOptions } from 'leasehold/membership';
import { aborted, type Context, interruption } from '../context.ts';
import { UsageError } from '../failure.ts';
import { type Flags, inFlags } from '../flease/flags.ts';
import { httpOf, peersOf } from '../flease/member-options.ts';
import { inOptions, statusAt } from '../listening.ts';
import { serveAt } from '../serve-http.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { jsonOption, logOption, milliseconds, wholeNumberFrom, withExamples } from '../options.ts';
import { type JsonOption, writeJson, writeLines } from '../output.ts';
import { insecureOf, tlsOf, type TlsFlags, withTlsFlags } from '../tls-options.ts';

interface StartOptions extends JsonOption, TlsFlags {
  readonly name?: string;
  readonly listen?: string;
  readonly peers?: string;
  readonly etcd?: string;
  readonly etcdCa?: string;
  readonly etcdCert?: string;
  readonly etcdKey?: string;
  /** In milliseconds. */
  readonly etcdTtl?: number;
  readonly group?: string;
  readonly advertise?: string;
  readonly maxServers?: number;
  /** In milliseconds. */
  readonly lease?: number;
  readonly insecure?: true;
  readonly http: string | false;
  readonly log?: LogFormat;
}

const NAME_VARIABLE = 'LEASEHOLD_MEMBERSHIP_NAME';
const PEERS_VARIABLE = 'LEASEHOLD_MEMBERSHIP_PEERS';
/** The address may have a password, and everybody on a machine can see the arguments of a process. */
const ETCD_VARIABLE = 'LEASEHOLD_MEMBERSHIP_ETCD';

const FLAGS: Flags = {
  durations: { leaseMs: '--lease' },
  others: {
    ...{ name: '--name', listen: '--listen', peers: '--peers', group: '--group', advertise: '--advertise' },
    ...{
      etcd: '--etcd',
      'etcd.url': '--etcd',
      'etcd.ttlMs': '--etcd-ttl',
      ca: '--etcd-ca',
      cert: '--etcd-cert',
      key: '--etcd-key',
    },
    ...{
      maxServers: '--max-servers',
      'tls.ca': '--ca',
      'tls.cert': '--cert',
      'tls.key': '--key',
      host: '--http',
    },
  },
  inRules: [[/\braise maxServers\b/g, 'raise --max-servers']],
};

export function membershipStartCommand(context: Context): Command {
  const command = withTlsFlags(
    new Command('start'),
    'the certificate of this server, which names the address that the others dial',
  )
    .summary('Be a server of a group')
    .description(
      'Be a server of a group, and print messages of other members. Ctrl-C leaves the group. Never two processes at a time under one --name.',
    )
    .option('--name <name>', `the name of this server, the same after a restart (default: ${NAME_VARIABLE})`)
    .option('--listen <address>', 'where to listen, if not at the own address in --peers, as 0.0.0.0:7700')
    .option(
      '--peers <addresses>',
      `the servers, this one too, as a=host:port,b=host:port (default: ${PEERS_VARIABLE}, or none)`,
    )
    .option(
      '--etcd <url>',
      `where servers are registered, instead of --peers: one view in the world, as etcd://h1:2379,h2:2379/prefix, or etcds:// for TLS (default: ${ETCD_VARIABLE})`,
    )
    .option('--etcd-ca <file>', 'certificates of those who may vouch for etcd (default: those of Node)')
    .option('--etcd-cert <file>', 'our own certificate for etcd; needs --etcd-key')
    .option('--etcd-key <file>', 'the private key of --etcd-cert')
    .addOption(
      new Option(
        '--etcd-ttl <time>',
        'how long a server acts without an answer of etcd; the same everywhere (default: twice --lease)',
      ).argParser(milliseconds),
    )
    .option('--group <name>', 'servers of other groups are refused (default: default)')
    .option('--advertise <address>', 'where others dial this server (default: as in --peers, or --listen)')
    .addOption(
      new Option('--max-servers <number>', 'the most servers that the group is meant to have').argParser(
        wholeNumberFrom(1),
      ),
    )
    .addOption(
      new Option(
        '--lease <time>',
        'how long a member acts on the last confirmation of the others; the same everywhere (default: 1500ms)',
      ).argParser(milliseconds),
    )
    .option('--insecure', 'allow to listen elsewhere than on loopback without TLS')
    .option(
      '--http <address>',
      'where to tell the status, as 7701 or host:7701',
      `127.0.0.1:${STATUS_PORTS.membership}`,
    )
    .option('--no-http', 'serve no status')
    .addOption(logOption())
    .addOption(jsonOption('print where it listens, and messages, as lines of JSON'))
    .action((options: StartOptions) => inFlags(start(context, options), FLAGS));
  return withExamples(command, context, [
    ['membership start --name a --peers a=127.0.0.1:7700,b=127.0.0.1:7710', 'the first of two'],
    ['membership start --name b --peers a=127.0.0.1:7700,b=127.0.0.1:7710 --http 7711', 'the second'],
    [
      'membership start --name a --listen 127.0.0.1:7700 --etcd etcd://127.0.0.1:2379/shop',
      'registered in etcd',
    ],
  ]);
}

function etcdOf(options: StartOptions, variable: string | undefined): GroupEtcd | undefined {
  // Peers on the command line count more than an etcd of the environment.
  const url = options.etcd ?? (options.peers === undefined ? variable || undefined : undefined);
  if (url !== undefined && options.peers !== undefined)
    throw new UsageError(
      '--peers and --etcd cannot be given together: with --etcd, servers find each other there',
    );
  const { etcdCa: ca, etcdCert: cert, etcdKey: key, etcdTtl: ttlMs } = options;
  if (url !== undefined) return { url, ca, cert, key, ttlMs };
  if ([ca, cert, key, ttlMs].every((each) => each === undefined)) return undefined;
  throw new UsageError(`which etcd? Give --etcd, or set ${ETCD_VARIABLE}`);
}

async function start(context: Context, options: StartOptions): Promise<void> {
  using interrupted = interruption();
  const { out, environment } = context;
  out.goOnUnread();
  const name = options.name ?? (environment[NAME_VARIABLE] || undefined);
  if (name === undefined) throw new UsageError(`which server is this? Give --name, or set ${NAME_VARIABLE}`);
  const etcd = etcdOf(options, environment[ETCD_VARIABLE]);
  const isGiven = options.peers !== undefined || etcd === undefined;
  const peers = isGiven ? peersOf('--peers', options.peers ?? environment[PEERS_VARIABLE] ?? '') : undefined;
  const { listen } = options;
  const http = httpOf(options, { name, peers: peers ?? {}, listen });
  const logger = createLogger(context, { format: options.log ?? (options.json ? 'json' : undefined) });
  const { group: groupName, advertise, maxServers } = options;
  const join: JoinGroupOptions = {
    ...{
      name,
      listen,
      peers,
      etcd,
      advertise,
      maxServers,
      insecure: insecureOf(context, options, options.http),
      logger,
      leaseMs: options.lease,
      tls: tlsOf(options),
    },
    group: groupName,
    onMessage: (from, bytes) => {
      const text = new TextDecoder().decode(bytes);
      if (options.json) writeJson(out, { from, text });
      else writeLines(out, [`${from}: ${text}`]);
    },
  };
  await using group = await joinGroup(join);
  await using server = http && (await inOptions(serveAt(group, http, logger), [statusAt(http)]));
  const url = server?.url ?? null;
  if (options.json) {
    writeJson(out, {
      name,
      group: group.group,
      address: group.address,
      http: url,
      pid: process.pid,
      version: VERSION,
    });
  } else {
    writeLines(out, [
      `Server ${name} of group ${group.group}`,
      `  servers connect to   ${group.address}`,
      `  status and metrics   ${url ?? 'nowhere (--no-http)'}`,
      'Ctrl-C leaves the group.',
    ]);
  }
  const why = await Promise.race([aborted(interrupted), group.closed]);
  if (why instanceof Error) throw why;
}
