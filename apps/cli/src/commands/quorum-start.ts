import process from 'node:process';
import { Command, Option } from 'commander';
import {
  DEFAULT_QUORUM_HTTP_PORT,
  type Logger,
  READERS,
  type Readers,
  serveReplica,
  startReplica,
} from 'leasehold/quorum';
import { VERSION } from 'leasehold/manager';
import { aborted, type Context, interruption } from '../context.ts';
import { UsageError } from '../failure.ts';
import { httpOf, peersOf } from '../flease/member-options.ts';
import { inOptions, statusAt } from '../listening.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { jsonOption, logOption, milliseconds, withExamples } from '../options.ts';
import { type JsonOption, writeJson, writeLines } from '../output.ts';

interface StartOptions extends JsonOption {
  readonly name: string;
  readonly directory: string;
  readonly peers: string;
  readonly group?: string;
  readonly listen?: string;
  readonly join?: true;
  readonly readers?: Readers;
  readonly lease?: number;
  readonly election?: number;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly insecure?: true;
  readonly allowNetworkDirectory?: true;
  readonly http?: string | false;
  readonly log?: LogFormat;
}

const DEFAULT_HTTP = `127.0.0.1:${DEFAULT_QUORUM_HTTP_PORT}`;

export function quorumStartCommand(context: Context): Command {
  const command = new Command('start')
    .summary('Run a replica')
    .description(
      'Run a replica of a group. A new group is founded once all replicas of --peers have been started, with the same --peers at each. A replica that is to join a group that exists needs --join, and "quorum add" after that. Ctrl-C closes it.',
    )
    .requiredOption('--name <name>', 'which of the replicas this is')
    .requiredOption('--directory <path>', 'where the journal is kept, on a local disk; one for each replica')
    .requiredOption('--peers <addresses>', 'all replicas, this one too, as a=host:port,b=host:port')
    .option(
      '--group <name>',
      'groups of different names have nothing to do with each other (default: default)',
    )
    .option('--listen <address>', 'where to listen, if not at the own address in --peers, as 0.0.0.0:7600')
    .option('--join', 'join a group that exists, instead of founding one')
    .addOption(
      new Option('--readers <which>', 'which replicas read locally in a new group (default: all)').choices(
        READERS,
      ),
    )
    .addOption(
      new Option('--lease <time>', 'how long a replica reads locally after asking (default: 2s)').argParser(
        milliseconds,
      ),
    )
    .addOption(
      new Option('--election <time>', 'how long without a leader before an election (default: 1s)').argParser(
        milliseconds,
      ),
    )
    .option(
      '--ca <file>',
      'certificates of the authority; TLS, with --cert and --key, at all replicas and clients',
    )
    .option('--cert <file>', 'the certificate of this replica, for the address that others dial')
    .option('--key <file>', 'the private key of --cert')
    .option(
      '--insecure',
      'allow to listen elsewhere than on loopback without TLS, where anybody can read and write',
    )
    .option('--allow-network-directory', 'allow a directory on a network file system')
    .option(
      '--http <address>',
      'where to show status, health and metrics, as 7601 or host:7601',
      DEFAULT_HTTP,
    )
    .option('--no-http', 'show them nowhere')
    .addOption(logOption())
    .addOption(
      jsonOption('print the addresses as one line of JSON, and log JSON lines unless --log says otherwise'),
    )
    .action((options: StartOptions) => start(context, options));
  return withExamples(command, context, [
    [
      'quorum start --name a --directory ./a --peers a=127.0.0.1:7600,b=127.0.0.1:7610,c=127.0.0.1:7620',
      'the first of three on this machine',
    ],
    [
      'quorum start --name d --directory ./d --listen 127.0.0.1:7630 --join --peers a=127.0.0.1:7600 --http 7631',
      'a replica that joins; then: quorum add d',
    ],
  ]);
}

async function start(context: Context, options: StartOptions): Promise<void> {
  using interrupted = interruption();
  const { out, calledAs } = context;
  out.goOnUnread();
  const logger = createLogger(context, { format: options.log ?? (options.json ? 'json' : undefined) });
  const { name, directory, group, listen, join, readers, insecure, allowNetworkDirectory } = options;
  const peers = peersOf('--peers', options.peers);
  const http = httpOf(options, { id: name, peers, listen });
  const started = endsIfStuck(interrupted, logger);
  await using replica = await startReplica({
    ...{ name, directory, peers, group, listen, join, readers, insecure, allowNetworkDirectory, logger },
    ...{ leaseMs: options.lease, electionMs: options.election, tls: tlsOf(options) },
  }).finally(started);
  await using server =
    http && (await inOptions(serveReplica(replica, { ...http, logger }), [statusAt(http)]));
  const { address } = replica;
  if (options.json) {
    writeJson(out, {
      name,
      group: replica.group,
      address,
      http: server?.url ?? null,
      pid: process.pid,
      version: VERSION,
    });
  } else {
    writeLines(out, [
      `Replica ${name} of group ${replica.group}`,
      `  replicas and clients connect to   ${address}`,
      `  status and metrics                ${server?.url ?? 'nowhere (--no-http)'}`,
      'What to try next, in another terminal:',
      `  ${calledAs} quorum status --servers ${address}`,
      `  ${calledAs} quorum put greeting hello --servers ${address}`,
      'Ctrl-C ends it.',
    ]);
  }
  const serving = replica.ready(interrupted).then(
    () => logger.info('the replica serves', { name, leader: replica.status().leader }),
    () => {},
  );
  await Promise.race([aborted(interrupted), aborted(replica.failed)]);
  await serving;
  if (replica.failed.aborted) throw replica.failed.reason;
}

/** A start that goes on for so long after a signal is given up. */
const START_ENDS_MS = 3_000;

/**
 * A disk that hangs lets the start hang, and the process would wait for the disk. Nothing was promised to anybody yet, so the process
 * ends. The result says that the start is over.
 */
function endsIfStuck(interrupted: AbortSignal, logger: Logger): () => void {
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    timer = setTimeout(() => {
      logger.error('the start hangs, perhaps on the disk: the process ends without it');
      process.exit(130);
    }, START_ENDS_MS);
  };
  interrupted.addEventListener('abort', wait, { once: true });
  return () => {
    interrupted.removeEventListener('abort', wait);
    clearTimeout(timer);
  };
}

/** All three, or none. @throws {UsageError} */
export function tlsOf({
  ca,
  cert,
  key,
}: Pick<StartOptions, 'ca' | 'cert' | 'key'>):
  | { readonly ca: string; readonly cert: string; readonly key: string }
  | undefined {
  if (ca !== undefined && cert !== undefined && key !== undefined) return { ca, cert, key };
  if (ca === undefined && cert === undefined && key === undefined) return undefined;
  throw new UsageError('TLS needs all of --ca, --cert and --key');
}
