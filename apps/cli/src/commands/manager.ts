import process from 'node:process';
import { Command, Option } from 'commander';
import {
  DEFAULT_HTTP_PORT,
  DEFAULT_PORT,
  openConfigurationFile,
  type PoolManager,
  startManager,
  VERSION,
} from 'leasehold/manager';
import { aborted, colorsFor, type Context, interruption } from '../context.ts';
import { inputEnd } from '../input-end.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { jsonOption, list, logOption, port, untilInputEndsOption, withExamples } from '../options.ts';
import type { JsonOption } from '../output.ts';
import { preferSmallHeap } from '../small-heap.ts';

const DEFAULT_DATA = './leasehold-data';

interface ManagerOptions extends JsonOption {
  readonly data?: string;
  readonly memory?: true;
  readonly host: string;
  readonly port: number;
  readonly httpHost?: string;
  readonly httpPort: number;
  readonly allowedHosts?: readonly string[];
  readonly http: boolean;
  readonly insecure?: true;
  readonly config?: string;
  readonly id?: string;
  readonly log?: LogFormat;
  readonly untilInputEnds?: true;
}

export function managerCommand(context: Context): Command {
  const command = new Command('manager')
    .summary('Start a Manager')
    .description('Start a Manager: it knows who owns what, and keeps that in a directory.')
    .option('--data <directory>', `what it must not forget (default: ${DEFAULT_DATA})`)
    .addOption(new Option('--memory', 'keep nothing: all leases are gone with the process').conflicts('data'))
    .option('--host <host>', 'where owners and look-ups connect', '127.0.0.1')
    .option('--port <port>', 'and at which port; 0 for any that is free', port, DEFAULT_PORT)
    .option('--http-host <host>', 'where people and metrics connect (default: as --host)')
    .option('--http-port <port>', 'and at which port; 0 for any that is free', port, DEFAULT_HTTP_PORT)
    .option(
      '--allowed-hosts <names>',
      'names by which people and metrics may ask, as a,b (beside localhost)',
      list,
    )
    .option('--no-http', 'no HTTP: no page, no API, no metrics')
    .option('--insecure', 'allow to listen elsewhere than on loopback, where everybody can do everything')
    .option('--config <file>', 'pools and their settings, as JSON; watched, and applied when it changes')
    .option('--id <name>', 'what it calls itself (default: a random name)')
    .addOption(logOption())
    .addOption(jsonOption('print where it listens as one line of JSON, and log JSON lines'))
    .addOption(untilInputEndsOption())
    .action((options: ManagerOptions) => manage(context, options));
  return withExamples(command, context, [
    ['manager', `on this machine, with its data in ${DEFAULT_DATA}`],
    ['manager --data /var/lib/leasehold', 'somewhere else'],
    ['manager --memory --port 0 --http-port 0 --json', 'for a test'],
    ['manager --allowed-hosts metrics.internal', 'for a scraper that asks by that name'],
    ['manager --config pools.json', '{ "pools": { "presence": { "leaseMs": 5000 } } }'],
  ]);
}

async function manage(context: Context, options: ManagerOptions): Promise<void> {
  preferSmallHeap();
  // Who sends SIGHUP wants the file read again, which it is anyway.
  using signal = interruption(options.config === undefined ? 'ends' : 'is ignored');
  using input = options.untilInputEnds ? inputEnd() : undefined;
  const directory = options.memory ? undefined : (options.data ?? DEFAULT_DATA);
  const logger = createLogger(context, { format: options.log ?? (options.json ? 'json' : undefined) });
  using file =
    options.config === undefined ? undefined : await openConfigurationFile(options.config, { logger });
  if (!options.json) {
    context.out.write(`Leasehold Manager, version ${VERSION}. ${dataLine(options)}\n`);
  }
  await using manager = await startManager({
    ...{ ...file?.first, directory, logger, host: options.host, port: options.port, id: options.id },
    http: options.http ? httpOf(options) : false,
    insecure: options.insecure,
  });
  file?.follow((configuration) => manager.configure(configuration));
  const over = AbortSignal.any([signal, ...(input ? [input.signal] : [])]);
  announce(context, options, manager);
  await Promise.race([aborted(over), manager.failed]);
  if (!options.json) context.out.write('Closing.\n');
}

const httpOf = ({ host, httpHost = host, httpPort, allowedHosts = [] }: ManagerOptions) => ({
  host: httpHost,
  port: httpPort,
  allowedHosts,
});

function dataLine({ data, memory }: ManagerOptions): string {
  if (memory) return 'It keeps nothing: all leases are gone when it ends.';
  return data === undefined
    ? `Its data is in ${DEFAULT_DATA} (--data DIRECTORY for another place, --memory for none).`
    : `Its data is in ${data}.`;
}

function announce(context: Context, options: ManagerOptions, manager: PoolManager): void {
  const { out, calledAs } = context;
  const { address, httpUrl, id } = manager;
  if (options.json) {
    const { data = DEFAULT_DATA, memory } = options;
    const where = { address, http: httpUrl ?? null, directory: memory ? null : data };
    out.write(`${JSON.stringify({ ...where, id, pid: process.pid, version: VERSION })}\n`);
    return;
  }
  const colors = colorsFor(out, context);
  const isUsual = address === `127.0.0.1:${DEFAULT_PORT}`;
  const api = httpUrl === `http://127.0.0.1:${DEFAULT_HTTP_PORT}` ? '' : ` --api ${httpUrl}`;
  const lines = [
    `  owners and look-ups   ${colors.bold(address)}`,
    `  page, API, metrics    ${httpUrl === undefined ? 'nowhere (--no-http)' : colors.bold(httpUrl)}`,
    'What to try next, in another terminal:',
    `  ${calledAs} run ${isUsual ? '' : `--managers ${address} `}-- node server.js`,
    ...(httpUrl === undefined ? [] : [`  ${calledAs} status${api}`, `  ${calledAs} watch${api}`]),
    options.memory ? 'Ctrl-C ends it.' : 'Ctrl-C ends it; nobody loses a lease if it is back soon.',
  ];
  out.write(`${lines.join('\n')}\n`);
}
