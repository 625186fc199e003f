import process from 'node:process';
import { Command, Option } from 'commander';
import { VERSION } from 'leasehold/manager';
import {
  DEFAULT_GROUP_HTTP_PORT,
  type GroupEtcd,
  joinGroup,
  type JoinGroupOptions,
  serveGroup,
} from 'leasehold/membership';
import { aborted, type Context, interruption } from '../context.ts';
import { UsageError } from '../failure.ts';
import { type Flags, inFlags } from '../flease/flags.ts';
import { httpOf, peersOf, tlsOf } from '../flease/member-options.ts';
import { inOptions, statusAt } from '../listening.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { jsonOption, logOption, milliseconds, wholeNumberFrom, withExamples } from '../options.ts';
import { type JsonOption, writeJson, writeLines } from '../output.ts';

interface ServeOptions extends JsonOption {
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
  readonly address?: string;
  readonly size?: number;
  /** In milliseconds. */
  readonly lease?: number;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly insecure?: true;
  readonly http: string | false;
  readonly log?: LogFormat;
}

const NAME_VARIABLE = 'LEASEHOLD_GROUP_NAME';
const PEERS_VARIABLE = 'LEASEHOLD_GROUP_PEERS';
/** The address may have a password, and everybody on a machine can see the arguments of a process. */
const ETCD_VARIABLE = 'LEASEHOLD_GROUP_ETCD';

const FLAGS: Flags = {
  durations: { leaseMs: '--lease' },
  others: {
    ...{ name: '--name', listen: '--listen', peers: '--peers', group: '--group', address: '--address' },
    ...{
      etcd: '--etcd',
      'etcd.ttlMs': '--etcd-ttl',
      ca: '--etcd-ca',
      cert: '--etcd-cert',
      key: '--etcd-key',
    },
    ...{ size: '--size', 'tls.ca': '--ca', 'tls.cert': '--cert', 'tls.key': '--key', host: '--http' },
  },
  inRules: [[/\braise size\b/g, 'raise --size']],
};

export function groupServeCommand(context: Context): Command {
  const command = new Command('serve')
    .summary('Be a server of a group')
    .description(
      'Be a server of a group, and print messages of other members. Ctrl-C leaves the group. Never two processes at a time under one --name.',
    )
    .option('--name <name>', `the name of this server, the same after a restart (default: ${NAME_VARIABLE})`)
    .requiredOption('--listen <address>', 'where to listen, as 127.0.0.1:7700')
    .option(
      '--peers <addresses>',
      `other servers, as b=host:port,c=host:port (default: ${PEERS_VARIABLE}, or none)`,
    )
    .option(
      '--etcd <address>',
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
    .option('--address <address>', 'where others dial this server (default: --listen)')
    .addOption(
      new Option('--size <number>', 'the most servers that the group is meant to have').argParser(
        wholeNumberFrom(1),
      ),
    )
    .addOption(
      new Option(
        '--lease <time>',
        'how long a member acts on the last confirmation of the others; the same everywhere (default: 1500ms)',
      ).argParser(milliseconds),
    )
    .option('--ca <file>', 'certificates of the authority of all servers; TLS, with --cert and --key')
    .option('--cert <file>', 'our own certificate, which names the address that the others dial')
    .option('--key <file>', 'the private key of --cert')
    .option('--insecure', 'allow to listen elsewhere than on loopback without TLS')
    .option(
      '--http <address>',
      'where to tell the status, as 7701 or host:7701',
      `127.0.0.1:${DEFAULT_GROUP_HTTP_PORT}`,
    )
    .option('--no-http', 'serve no status')
    .addOption(logOption())
    .addOption(jsonOption('print where it listens, and messages, as lines of JSON'))
    .action((options: ServeOptions) => inFlags(serve(context, options), FLAGS));
  return withExamples(command, context, [
    ['group serve --name a --listen 127.0.0.1:7700 --peers b=127.0.0.1:7710', 'the first of two'],
    ['group serve --name b --listen 127.0.0.1:7710 --peers a=127.0.0.1:7700 --http 7711', 'the second'],
    ['group serve --name a --listen 127.0.0.1:7700 --etcd etcd://127.0.0.1:2379/shop', 'registered in etcd'],
  ]);
}

function etcdOf(options: ServeOptions, variable: string | undefined): GroupEtcd | undefined {
  // Peers on the command line count more than an etcd of the environment.
  const address = options.etcd ?? (options.peers === undefined ? variable || undefined : undefined);
  if (address !== undefined && options.peers !== undefined)
    throw new UsageError(
      '--peers and --etcd cannot be given together: with --etcd, servers find each other there',
    );
  const { etcdCa: ca, etcdCert: cert, etcdKey: key, etcdTtl: ttlMs } = options;
  if (address !== undefined) return { address, ca, cert, key, ttlMs };
  if ([ca, cert, key, ttlMs].every((each) => each === undefined)) return undefined;
  throw new UsageError(`which etcd? Give --etcd, or set ${ETCD_VARIABLE}`);
}

async function serve(context: Context, options: ServeOptions): Promise<void> {
  using interrupted = interruption();
  const { out, environment } = context;
  out.goOnUnread();
  const name = options.name ?? (environment[NAME_VARIABLE] || undefined);
  if (name === undefined) throw new UsageError(`which server is this? Give --name, or set ${NAME_VARIABLE}`);
  const listen = options.listen ?? '';
  const etcd = etcdOf(options, environment[ETCD_VARIABLE]);
  const isGiven = options.peers !== undefined || etcd === undefined;
  const peers = isGiven ? peersOf('--peers', options.peers ?? environment[PEERS_VARIABLE] ?? '') : undefined;
  const http = httpOf(options, { id: name, peers: peers ?? {}, listen });
  const logger = createLogger(context, { format: options.log ?? (options.json ? 'json' : undefined) });
  const { group: groupName, address, size, insecure } = options;
  const ended = new AbortController();
  let why: Error | undefined;
  const join: JoinGroupOptions = {
    ...{
      name,
      listen,
      peers,
      etcd,
      address,
      size,
      insecure,
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
    onEnd: (error) => {
      why = error;
      ended.abort();
    },
  };
  await using group = await joinGroup(join);
  await using server = http && (await inOptions(serveGroup(group, { ...http, logger }), [statusAt(http)]));
  const url = server?.url ?? null;
  if (options.json) {
    writeJson(out, {
      name,
      group: group.group,
      address: address ?? listen,
      http: url,
      pid: process.pid,
      version: VERSION,
    });
  } else {
    writeLines(out, [
      `Server ${name} of group ${group.group}`,
      `  servers connect to   ${address ?? listen}`,
      `  status and metrics   ${url ?? 'nowhere (--no-http)'}`,
      'Ctrl-C leaves the group.',
    ]);
  }
  await Promise.race([aborted(interrupted), aborted(ended.signal)]);
  if (why !== undefined) throw why;
}
