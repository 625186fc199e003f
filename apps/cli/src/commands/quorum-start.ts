import process from 'node:process';
import { Command, Option } from 'commander';
import { type Logger, type Readers, startReplica } from 'leasehold/quorum';
import { READERS, STATUS_PORTS, VERSION } from 'leasehold/internal';
import { aborted, type Context, interruption } from '../context.ts';
import { httpOf, peersOf } from '../flease/member-options.ts';
import { inOptions, statusAt } from '../listening.ts';
import { serveAt } from '../serve-http.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { UsageError } from '../failure.ts';
import { jsonOption, logOption, milliseconds, variablesOf, withExamples } from '../options.ts';
import { type JsonOption, writeJson, writeLines } from '../output.ts';
import { insecureOf, tlsOf, type TlsFlags, withTlsFlags } from '../tls-options.ts';

interface StartOptions extends JsonOption, TlsFlags {
  readonly name?: string;
  readonly data?: string;
  readonly peers?: string;
  readonly cell?: string;
  readonly listen?: string;
  readonly advertise?: string;
  readonly newcomer?: true;
  readonly readers?: Readers;
  readonly lease?: number;
  readonly election?: number;
  readonly insecure?: true;
  readonly allowNetworkDirectory?: true;
  readonly http?: string | false;
  readonly log?: LogFormat;
}

const variable = (flag: string): string => `LEASEHOLD_QUORUM_${flag}`;

const DEFAULT_HTTP = `127.0.0.1:${STATUS_PORTS.quorum}`;

export function quorumStartCommand(context: Context): Command {
  const command = withTlsFlags(
    new Command('start'),
    'the certificate of this replica, which names the address that the others dial',
  )
    .summary('Run a replica')
    .description(
      'Run a replica of a cell. A new cell is founded once all replicas of --peers have been started, with the same --peers at each. A replica that is to join a cell that exists needs --newcomer, and "quorum add" after that. Ctrl-C closes it.',
    )
    .option('--name <name>', `which of the replicas this is (default: ${variable('NAME')})`)
    .option(
      '--data <path>',
      `where the journal is kept, on a local disk; one for each replica (default: ${variable('DATA')})`,
    )
    .option(
      '--peers <addresses>',
      `all replicas, this one too, as a=host:port,b=host:port (default: ${variable('PEERS')})`,
    )
    .option(
      '--cell <name>',
      `cells of different names have nothing to do with each other (default: ${variable('CELL')}, or default)`,
    )
    .option('--listen <address>', 'where to listen, if not at the own address in --peers, as 0.0.0.0:7600')
    .option(
      '--advertise <address>',
      'where the other replicas and clients reach this one, if not at its address in --peers',
    )
    .option('--newcomer', 'join a cell that exists, instead of founding one')
    .addOption(
      new Option('--readers <which>', 'which replicas read locally in a new cell (default: all)').choices(
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
      'quorum start --name a --data ./a --peers a=127.0.0.1:7600,b=127.0.0.1:7610,c=127.0.0.1:7620',
      'the first of three on this machine',
    ],
    [
      'quorum start --name d --data ./d --listen 127.0.0.1:7630 --newcomer --peers a=127.0.0.1:7600 --http 7631',
      'a replica that joins; then: quorum add d',
    ],
  ]);
}

async function start(context: Context, options: StartOptions): Promise<void> {
  using interrupted = interruption();
  const { out, calledAs } = context;
  out.goOnUnread();
  const logger = createLogger(context, { format: options.log ?? (options.json ? 'json' : undefined) });
  const { name, directory, peers, cell } = replicaOf(context, options);
  const { listen, advertise, newcomer, readers, allowNetworkDirectory } = options;
  const http = httpOf(options, { name, peers, listen });
  const started = endsIfStuck(interrupted, logger);
  await using replica = await startReplica({
    ...{ name, directory, peers, cell, listen, advertise, newcomer, readers, logger },
    ...{
      insecure: insecureOf(context, options, options.http),
      allowNetworkDirectory,
      leaseMs: options.lease,
      electionMs: options.election,
      tls: tlsOf(options),
    },
  }).finally(started);
  await using server = http && (await inOptions(serveAt(replica, http, logger), [statusAt(http)]));
  const { address } = replica;
  if (options.json) {
    writeJson(out, {
      name,
      cell: replica.cell,
      address,
      http: server?.url ?? null,
      pid: process.pid,
      version: VERSION,
    });
  } else {
    // Clients need a token of their own; that of a replica is good for both.
    const clients = `--at ${address}${options.tokenFile === undefined ? '' : ` --token-file ${options.tokenFile}`}`;
    writeLines(out, [
      `Replica ${name} of cell ${replica.cell}`,
      `  replicas and clients connect to   ${address}`,
      `  status and metrics                ${server?.url ?? 'nowhere (--no-http)'}`,
      'What to try next, in another terminal:',
      `  ${calledAs} quorum status ${clients}`,
      `  ${calledAs} quorum put greeting hello ${clients}`,
      'Ctrl-C ends it.',
    ]);
  }
  const serving = replica.ready({ signal: interrupted }).then(
    () => logger.info('the replica serves', { name, leader: replica.status().leader }),
    () => {},
  );
  const failure = await Promise.race([aborted(interrupted), replica.closed]);
  if (failure !== undefined) throw failure;
  await serving;
}

/** Which replica of which cell this is, by flags or variables. @throws {UsageError} */
function replicaOf(context: Context, options: StartOptions) {
  const said = variablesOf(context, 'QUORUM');
  const wanted = (flag: 'name' | 'data' | 'peers', question: string): string => {
    const value = options[flag] ?? said(flag.toUpperCase());
    if (value === undefined)
      throw new UsageError(`${question} Give --${flag}, or set ${variable(flag.toUpperCase())}`);
    return value;
  };
  const peers = peersOf('--peers', wanted('peers', 'which replicas has the cell?'));
  const name = wanted('name', `which of ${Object.keys(peers).join(', ')} is this?`);
  const directory = wanted('data', 'where is the journal of this replica?');
  return { name, directory, peers, cell: options.cell ?? said('CELL') };
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
