import process from 'node:process';
import { Command } from 'commander';
import { joinFlease } from 'leasehold/flease';
import { STATUS_PORTS, VERSION } from 'leasehold/internal';
import { aborted, type Context, interruption } from '../context.ts';
import { UsageError } from '../failure.ts';
import { inFlags } from '../flease/flags.ts';
import { httpOf, joinOptionsOf, type MemberOptions, withMemberOptions } from '../flease/member-options.ts';
import { refuseTakenHttp, tellOverHttp } from '../flease/tell-over-http.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { jsonOption, logOption, withExamples } from '../options.ts';
import { type JsonOption, writeJson, writeLines } from '../output.ts';

interface StartOptions extends MemberOptions, JsonOption {
  readonly log?: LogFormat;
}

const DEFAULT_HTTP = `127.0.0.1:${STATUS_PORTS.flease}`;

const ADVICE = 'choose another port with --http <port>, or serve no status with --no-http';

export function fleaseStartCommand(context: Context): Command {
  const command = new Command('start')
    .summary('Run a member of a cell, so that there is a majority')
    .description(
      'Run a member that acquires nothing itself, so that the cell has a majority: for machines on which no other member runs all the time, and to inspect the cell with "flease status" and "flease watch". Ctrl-C closes it. Two processes must not have one --name: on a machine where "flease hold" is used as well, they are two members.',
    );
  withMemberOptions(command)
    .option('--http <address>', 'serve status and metrics over HTTP here, as 7501 or host:7501', DEFAULT_HTTP)
    .option('--no-http', 'no HTTP')
    .addOption(logOption())
    .addOption(
      jsonOption(
        'print where it listens as one line of JSON, and log JSON lines unless --log says otherwise',
      ),
    )
    .action((options: StartOptions) => inFlags(start(context, options)));
  refuseBoth(command, 'http', 'no-http');
  return withExamples(command, context, [
    ['flease start', 'name and peers by LEASEHOLD_FLEASE_NAME and LEASEHOLD_FLEASE_PEERS'],
    [
      'flease start --name ada --peers ada=127.0.0.1:7500,ben=127.0.0.1:7510,cyd=127.0.0.1:7520',
      'the first of three on this machine',
    ],
    ['flease start --http 7511', 'where another member has 7501 already'],
  ]);
}

/** Otherwise the last of them would count, unnoticed. @throws {UsageError} */
function refuseBoth(command: Command, ...names: readonly string[]): void {
  const given = new Set<string>();
  for (const name of names) {
    command.on(`option:${name}`, () => {
      given.add(name);
      if (given.size < names.length) return;
      const flags = names.map((each) => `--${each}`).join(' and ');
      throw new UsageError(`${flags} contradict each other: leave one of them out`);
    });
  }
}

async function start(context: Context, options: StartOptions): Promise<void> {
  using interrupted = interruption();
  const { out, calledAs } = context;
  out.goOnUnread();
  const logger = createLogger(context, { format: options.log ?? (options.json ? 'json' : undefined) });
  const join = joinOptionsOf(context, options);
  const http = httpOf(options, join);
  await refuseTakenHttp(http, join, ADVICE);
  await using member = await joinFlease({ ...join, logger });
  await using server = await tellOverHttp(member, http, logger, ADVICE);
  const address = join.listen ?? join.peers[member.name] ?? '';
  const url = server?.url ?? null;
  if (options.json) {
    const { name, cell } = member;
    writeJson(out, { name, cell, address, http: url, pid: process.pid, version: VERSION });
  } else {
    const place = url === `http://${DEFAULT_HTTP}` ? '' : ` --at ${url?.replace('http://', '')}`;
    const lines = [
      `Member ${member.name} of cell ${member.cell}, with ${Object.keys(join.peers).join(', ')}`,
      `  members connect to   ${address}`,
      `  status and metrics   ${url ?? 'nowhere (--no-http)'}`,
      ...(url === null
        ? []
        : ['What to try next, in another terminal:', `  ${calledAs} flease status${place}`]),
      'Ctrl-C ends it.',
    ];
    writeLines(out, lines);
  }
  await aborted(interrupted);
}
