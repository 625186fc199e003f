import { resolve } from 'node:path';
import process from 'node:process';
import { Command, Option } from 'commander';
import {
  type EtcdStore,
  type FleaseStore,
  type PoolManager,
  type QuorumStore,
  startManager,
  type StartManagerOptions,
} from 'leasehold/manager';
import {
  type Address,
  formatAddress,
  printable,
  STATUS_PORTS,
  DEFAULT_PORT,
  fleasePlace,
  openConfigurationFile,
  quorumPlace,
  storePlace,
  VERSION,
} from 'leasehold/internal';
import { aborted, colorsFor, type Context, interruption } from '../context.ts';
import { inFlags, MANAGER_FLAGS } from '../flease/flags.ts';
import { refuseOwnPort } from '../flease/own-ports.ts';
import { inputEnd } from '../input-end.ts';
import { inOptions, type Listening } from '../listening.ts';
import { httpAddress, type HttpPlace, serveAt } from '../serve-http.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import {
  jsonOption,
  limit,
  list,
  listenAt,
  logOption,
  untilInputEndsOption,
  withExamples,
} from '../options.ts';
import { type JsonOption, writeJson, writeLines, writeStyled } from '../output.ts';
import { preferSmallHeap } from '../small-heap.ts';
import {
  isFlease,
  isQuorum,
  type StoreOptions,
  storeOf,
  storeWords,
  NAME_VARIABLE,
  withCellOptions,
  withStoreOptions,
} from '../store-options.ts';
import { hasTls, insecureOf, tlsOf, tlsWords, type TlsFlags, withTlsFlags } from '../tls-options.ts';
import { recoverCommand } from './recover.ts';
import { stepDownCommand } from './step-down.ts';

const DEFAULT_DATA = './leasehold-data';

interface ManagerOptions extends JsonOption, StoreOptions, TlsFlags {
  readonly listen: Address;
  readonly advertise?: string;
  readonly allowedHosts?: readonly string[];
  readonly http?: string | false;
  readonly insecure?: true;
  readonly limit?: Readonly<Record<string, number>>;
  readonly config?: string;
  readonly name?: string;
  readonly log?: LogFormat;
  readonly untilInputEnds?: true;
  readonly firstStart?: true;
  readonly allowNetworkDirectory?: true;
}

/** Where the Manager keeps the log, from all options together. */
type Kept =
  | { readonly in: 'memory' }
  | { readonly in: 'file'; readonly directory: string; readonly allowNetworkDirectory: true | undefined }
  | { readonly in: 'etcd'; readonly store: EtcdStore }
  | { readonly in: 'flease'; readonly store: FleaseStore }
  | { readonly in: 'quorum'; readonly store: QuorumStore };

export function managerCommand(context: Context): Command {
  const command = new Command('manager')
    .summary('Start a Manager, step down, recover a log')
    .description('Start a Manager, let another one lead, or raise the counters of a log that was put back.')
    .addCommand(startCommand(context))
    .addCommand(stepDownCommand(context))
    .addCommand(recoverCommand(context));
  return withExamples(command, context, [
    ['manager start', `on this machine, with its data in ${DEFAULT_DATA}`],
    ['manager step-down', 'before a restart of the Manager that leads'],
  ]);
}

function startCommand(context: Context): Command {
  const command = new Command('start')
    .summary('Start a Manager')
    .description(
      'Start a Manager, which assigns keys to owners. It keeps its state in a directory, in an etcd shared with other Managers, or in a group of replicas, one in each Manager; or keeps nothing, as one of several that elect a leader.',
    )
    .option(
      '--data <directory>',
      `the directory of its log, which is never shared, copied or emptied (default: ${DEFAULT_DATA}; with --store quorum ./leasehold-quorum-NAME)`,
    )
    .addOption(
      new Option('--memory', 'keep the log in memory: all leases are lost with the process').conflicts(
        'data',
      ),
    )
    .option(
      '--first-start',
      'on a new log, wait only until clients of an earlier Manager could contradict: no owner can hold a lease from one (default: wait until such leases have expired)',
    );
  command.option(
    '--allow-network-directory',
    'take a --data directory on a network file system, that only this machine ever uses',
  );
  withTlsFlags(withCellOptions(withStoreOptions(command)), 'the certificate of this Manager')
    .addOption(
      new Option(
        '--listen <address>',
        'where owners and look-ups connect, as host:port; port 0 for any that is free',
      )
        .argParser(listenAt)
        .default({ host: '127.0.0.1', port: DEFAULT_PORT }, `127.0.0.1:${DEFAULT_PORT}`),
    )
    .option(
      '--advertise <address>',
      'where owners can reach it, as host:port, for other Managers to tell them (default: where it listens)',
    )
    .option(
      '--http <address>',
      `the page, the API and the metrics, as 7401 or host:7401; 0 for any port that is free (default: ${STATUS_PORTS.manager} at the host of --listen; with a token at 127.0.0.1, because HTTP is plain)`,
    )
    .option(
      '--allowed-hosts <names>',
      'host names accepted in HTTP requests, as a,b (besides localhost)',
      list,
    )
    .option('--no-http', 'no HTTP: no page, no API, no metrics')
    .option(
      '--insecure',
      'allow listening beyond loopback without TLS, where any process that can connect can do everything; beside a token: plain HTTP at --http',
    )
    .option('--limit <name=value>', 'a limit on unknown peers; may be repeated, see docs/options.md', limit)
    .option('--config <file>', 'pools and their settings, as JSON; watched, and applied when it changes')
    .option(
      '--name <name>',
      `the name of this Manager, among the peers if there are any (default: ${NAME_VARIABLE}, or a random name)`,
    )
    .addOption(logOption())
    .addOption(jsonOption('print the addresses as one line of JSON, and log JSON lines'))
    .addOption(untilInputEndsOption())
    .action((options: ManagerOptions) => manage(context, options));
  return withExamples(command, context, [
    ['manager start', `on this machine, with its data in ${DEFAULT_DATA}`],
    ['manager start --data /var/lib/leasehold', 'somewhere else'],
    ['manager start --store etcd://10.0.0.1:2379,10.0.0.2:2379', 'one of several, of which one leads'],
    [
      'manager start --store flease --name a --peers a=10.0.0.1:7500,b=10.0.0.2:7500,c=10.0.0.3:7500 --listen 10.0.0.1:7400 --token-file token',
      'one of three that keep nothing',
    ],
    [
      'manager start --store quorum --name a --peers a=10.0.0.1:7600,b=10.0.0.2:7600,c=10.0.0.3:7600 --listen 10.0.0.1:7400 --token-file token',
      'one of three that keep the log among themselves',
    ],
    ['manager start --memory --first-start --listen 127.0.0.1:0 --http 0 --json', 'for a test'],
    ['manager start --limit candidates=500 --limit pools=10', 'tighter limits on unknown peers'],
    ['manager start --allowed-hosts metrics.internal', 'for a scraper that asks by that name'],
    ['manager start --config pools.json', '{ "pools": { "presence": { "leaseMs": 5000 } } }'],
  ]);
}

async function manage(context: Context, options: ManagerOptions): Promise<void> {
  preferSmallHeap();
  context.out.goOnUnread();
  // The sender of a SIGHUP wants the file read again, which happens anyway.
  using interrupted = interruption(options.config === undefined ? 'ends' : 'is ignored');
  using input = options.untilInputEnds ? inputEnd() : undefined;
  const over = AbortSignal.any([interrupted, ...(input ? [input.signal] : [])]);
  const kept = keptIn(context, options);
  const http = httpOf(context, options);
  const places = placesOf(context, kept, options);
  if (kept.in === 'flease') refuseOwnPorts(listensAt(kept.store), kept.store.flease, options, http);
  if (kept.in === 'quorum') refuseOwnPorts(replicaAt(kept.store), kept.store.quorum, options, http);
  const logger = createLogger(context, { format: options.log ?? (options.json ? 'json' : undefined) });
  using file =
    options.config === undefined ? undefined : await openConfigurationFile(options.config, { logger });
  const say = (line: string): void => {
    if (!options.json) writeLines(context.out, [line]);
  };
  try {
    const starting = startManager({
      ...{ ...file?.first, logger, listen: formatAddress(options.listen), name: options.name, signal: over },
      store: storeIn(kept),
      ...{ tls: tlsOf(options), insecure: insecureOf(context, options, options.http) },
      ...{ advertise: options.advertise, firstStart: options.firstStart },
      limits: options.limit,
    });
    const said = inFlags(inOptions(starting, places), MANAGER_FLAGS);
    await begun(said);
    const connections = tlsWords(options);
    say(`Starting Leasehold Manager, version ${VERSION}. ${keptLine(kept, options)}`);
    await using manager = await said;
    file?.follow((configuration) => manager.configure(configuration));
    if ('store' in kept) await settled(manager, over);
    const serving = http && serveAt(manager, http, logger);
    await using server = (serving && (await inOptions(serving, places))) || undefined;
    announce(context, options, { kept, manager, connections, httpUrl: server?.url });
    const failure = await Promise.race([aborted(over), manager.closed]);
    if (failure !== undefined) throw failure;
    say('Closing.');
  } catch (error) {
    // Ended by the user before the Manager was up: that is no failure.
    if (!over.aborted || error !== over.reason) throw error;
    say('Not started: it was interrupted.');
  }
}

/**
 * Wrong options are found before anything has begun, within the turn of the call. The line that the Manager starts is
 * printed only if the options are right, and then at once: a start may take long.
 */
async function begun(starting: Promise<unknown>): Promise<void> {
  await Promise.race([starting, new Promise((resolve) => setImmediate(resolve))]);
}

function keptIn(context: Context, options: ManagerOptions): Kept {
  const store = storeOf(context, options);
  if (store !== undefined && isQuorum(store)) return { in: 'quorum', store };
  if (store !== undefined) return isFlease(store) ? { in: 'flease', store } : { in: 'etcd', store };
  if (options.memory) return { in: 'memory' };
  const { data = DEFAULT_DATA, allowNetworkDirectory } = options;
  return { in: 'file', directory: resolve(data), allowNetworkDirectory };
}

function storeIn(kept: Kept): NonNullable<StartManagerOptions['store']> {
  if (kept.in === 'memory') return 'memory';
  if (kept.in !== 'file') return kept.store;
  return { directory: kept.directory, allowNetworkDirectory: kept.allowNetworkDirectory };
}

/** @throws {UsageError} */
function refuseOwnPorts(
  address: string,
  { name, listen }: { readonly name: string; readonly listen?: string | undefined },
  options: ManagerOptions,
  http: HttpPlace | undefined,
): void {
  const what = `${name} listens for the others (--${listen === undefined ? 'peers' : 'cell-listen'})`;
  const own = options.listen;
  refuseOwnPort(address, what, [
    { ...own, said: `--listen ${formatAddress(own)}` },
    ...(http === undefined ? [] : [{ ...http, said: `--http ${http.port}` }]),
  ]);
}

/** Where the page, the API and the metrics are; undefined: nowhere. @throws {UsageError} */
function httpOf(context: Context, options: ManagerOptions): HttpPlace | undefined {
  const { http, listen, allowedHosts, insecure } = options;
  if (http === false) return undefined;
  const ofPortAlone = hasTls(context, options) ? undefined : listen.host;
  return { ...httpAddress(http ?? String(STATUS_PORTS.manager), ofPortAlone), allowedHosts, insecure };
}

/** Where the Manager listens, and which options say so. */
function placesOf(context: Context, kept: Kept, options: ManagerOptions): readonly Listening[] {
  const http = httpOf(context, options);
  return [
    { address: formatAddress(options.listen), option: '--listen' },
    ...(http === undefined
      ? []
      : [{ address: formatAddress(http), option: options.http === undefined ? '--listen' : '--http' }]),
    ...(kept.in === 'flease' ? [electingAt(kept.store)] : []),
    ...(kept.in === 'quorum' ? [{ address: replicaAt(kept.store), option: '--cell-listen' }] : []),
  ];
}

/** At another port the other members would not find this one, unless they are told of the port. */
function electingAt(store: FleaseStore): Listening {
  const { name, listen } = store.flease;
  const other = listen === undefined ? '' : ', or another --cell-listen';
  return {
    address: listensAt(store),
    option: '--cell-listen',
    whenTaken: `another process may be ${name} already, and no two may be one member at a time: wait until it has ended, or give this one a name and an address of its own in --peers, at every Manager${other}`,
  };
}

const replicaAt = ({ quorum: { name, peers, listen } }: QuorumStore): string => listen ?? peers[name] ?? '';

const listensAt = ({ flease: { name, peers, listen } }: FleaseStore): string => listen ?? peers[name] ?? '';

function keptLine(kept: Kept, { data }: ManagerOptions): string {
  if (kept.in === 'memory') return 'It keeps nothing: all leases are gone when it ends.';
  if (kept.in === 'flease')
    return `It keeps ${storeWords(kept.store)}. It leads or stands by in a moment: a member that was just started does not vote yet.`;
  if (kept.in === 'quorum')
    return `Its log is in ${storeWords(kept.store)}. It leads or stands by when a majority of them runs; a new group needs all of them once.`;
  if (kept.in === 'etcd') return `Its log is in ${storeWords(kept.store)}.`;
  return data === undefined
    ? `Its data is in ${kept.directory} (--data DIRECTORY for another place, --memory to keep nothing).`
    : `Its data is in ${kept.directory}.`;
}

/** Without a leader, this Manager leads in a moment; with another leader there is nothing to wait for. */
const SETTLED_WITHIN_MS = 1_000;

async function settled(manager: PoolManager, over: AbortSignal): Promise<void> {
  const late = AbortSignal.timeout(SETTLED_WITHIN_MS);
  try {
    await manager.whenLeading({ signal: AbortSignal.any([over, late]) });
  } catch (error) {
    if (error !== late.reason) throw error;
  }
}

interface Started {
  readonly kept: Kept;
  readonly manager: PoolManager;
  /** TLS, and by which token, or plaintext. */
  readonly connections: string;
  readonly httpUrl: string | undefined;
}

function announce(
  context: Context,
  options: ManagerOptions,
  { kept, manager, connections, httpUrl }: Started,
): void {
  const { out, calledAs } = context;
  const { address, name } = manager;
  const { role, term, leader } = standing(manager);
  if (options.json) {
    const store = { kind: kept.in, ...placeOf(kept) };
    const directory = kept.in === 'file' ? kept.directory : null;
    const where = { address, http: httpUrl ?? null, directory, store, role, term, leader };
    writeJson(out, { ...where, name, pid: process.pid, version: VERSION });
    return;
  }
  const colors = colorsFor(out, context);
  const api = httpUrl === `http://127.0.0.1:${STATUS_PORTS.manager}` ? '' : ` --at ${httpUrl}`;
  const next = [
    ...serverLines(calledAs, kept, address),
    ...(httpUrl === undefined ? [] : [`  ${calledAs} status${api}`, `  ${calledAs} watch${api}`]),
    ...((kept.in === 'etcd' || kept.in === 'quorum') && httpUrl !== undefined
      ? [`  ${calledAs} manager step-down${api}`]
      : []),
  ];
  const lines = [
    `  owners and look-ups   ${colors.bold(address)}${kept.in === 'flease' || kept.in === 'quorum' ? '; tell them of all Managers, as LEASEHOLD_MANAGERS=host:port,host:port' : ''}`,
    `  connections           ${connections}`,
    `  page, API, metrics    ${httpUrl === undefined ? 'nowhere (--no-http)' : colors.bold(httpUrl)}`,
    ...('store' in kept ? [`  role                  ${colors.bold(printable(roleWords(manager)))}`] : []),
    ...(next.length === 0 ? [] : ['What to try next, in another terminal:', ...next]),
    LAST_WORDS[kept.in],
  ];
  writeStyled(out, lines);
}

/**
 * A server that names no Managers reads the addresses from the environment, and so does the supervisor. One Manager is
 * enough to find the others by, but not if they keep nothing: one that stands by then does not know where the others
 * listen for owners.
 */
function serverLines(calledAs: string, kept: Kept, address: string): readonly string[] {
  if (kept.in === 'flease') return [];
  const where = address === `127.0.0.1:${DEFAULT_PORT}` ? '' : `LEASEHOLD_MANAGERS=${address} `;
  return [`  ${where}${calledAs} run -- node server.js`];
}

const LAST_WORDS: Readonly<Record<Kept['in'], string>> = {
  memory: 'Ctrl-C ends it.',
  file: 'Ctrl-C ends it; no lease is lost if it is started again soon.',
  etcd: 'Ctrl-C ends it; another Manager takes over at once, if there is one.',
  quorum:
    'Ctrl-C ends it; if it leads, another takes over at once, as long as a majority of the replicas runs.',
  flease: 'Ctrl-C ends it; if it leads, another takes over, and all leases begin anew.',
};

interface KeptPlace {
  readonly members: readonly string[] | null;
  readonly prefix: string | null;
  readonly cluster: string | null;
}

function placeOf(kept: Kept): KeptPlace {
  if (kept.in === 'flease') return { prefix: null, ...fleasePlace(kept.store) };
  if (kept.in === 'quorum') {
    const { members, cell } = quorumPlace(kept.store);
    return { members, prefix: null, cluster: cell };
  }
  return kept.in === 'etcd' ? storePlace(kept.store) : { members: null, prefix: null, cluster: null };
}

interface Standing {
  readonly role: 'standby' | 'leading' | 'halted';
  /** The latest term in the log; null if the Manager has read none. */
  readonly term: number | null;
  /** The leader, as far as known. */
  readonly leader: { readonly name: string; readonly address: string | null } | null;
}

function standing(manager: PoolManager): Standing {
  const { role, term = null, leader } = manager.status();
  if (role === 'leading') return { role, term, leader: { name: manager.name, address: manager.address } };
  return { role, term, leader: leader === undefined ? null : { ...leader, address: leader.address ?? null } };
}

function roleWords(manager: PoolManager): string {
  const { role, term, leader } = standing(manager);
  if (role === 'leading') return `leads, in term ${term}`;
  if (role === 'halted') return 'has halted; its log says why';
  if (leader === null || leader.name === manager.name) return 'stands by; no Manager leads yet';
  return `stands by; ${leader.name} leads${leader.address === null ? '' : `, at ${leader.address}`}`;
}
