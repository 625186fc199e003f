import process from 'node:process';
import { Command } from 'commander';
import { DEFAULT_FLEASE_HTTP_PORT, joinFlease } from 'leasehold/flease';
import { VERSION } from 'leasehold/manager';
import { aborted, type Context, interruption } from '../context.ts';
import { UsageError } from '../failure.ts';
import { inFlags } from '../flease/flags.ts';
import { httpOf, joinOptionsOf, type MemberOptions, withMemberOptions } from '../flease/member-options.ts';
import { refuseTakenHttp, tellOverHttp } from '../flease/tell-over-http.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { jsonOption, logOption, withExamples } from '../options.ts';
import { type JsonOption, writeJson, writeLines } from '../output.ts';

interface ServeOptions extends MemberOptions, JsonOption {
  readonly log?: LogFormat;
}

const DEFAULT_HTTP = `127.0.0.1:${DEFAULT_FLEASE_HTTP_PORT}`;

const ADVICE = 'choose another port with --http <port>, or serve no status with --no-http';

export function fleaseServeCommand(context: Context): Command {
  const command = new Command('serve')
    .summary('Run a member of a group, so that there is a majority')
    .description(
      'Run a member that acquires nothing itself, so that the group has a majority: for machines on which no other member runs all the time, and to inspect the group with "flease status" and "flease watch". Ctrl-C closes it. Two processes must not have one --id: on a machine where "flease hold" is used as well, they are two members.',
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
    .action((options: ServeOptions) => inFlags(serve(context, options)));
  refuseBoth(command, 'http', 'no-http');
  return withExamples(command, context, [
    ['flease serve', 'id and peers by LEASEHOLD_FLEASE_ID and LEASEHOLD_FLEASE_PEERS'],
    [
      'flease serve --id ada --peers ada=127.0.0.1:7500,ben=127.0.0.1:7510,cyd=127.0.0.1:7520',
      'the first of three on this machine',
    ],
    ['flease serve --http 7511', 'where another member has 7501 already'],
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

async function serve(context: Context, options: ServeOptions): Promise<void> {
  using interrupted = interruption();
  const { out, calledAs } = context;
  out.goOnUnread();
  const logger = createLogger(context, { format: options.log ?? (options.json ? 'json' : undefined) });
  const join = joinOptionsOf(context, options);
  const http = httpOf(options, join);
  await refuseTakenHttp(http, join, ADVICE);
  await using group = await joinFlease({ ...join, logger });
  await using server = await tellOverHttp(group, http && { ...http, logger }, ADVICE);
  const address = join.listen ?? join.peers[group.id] ?? '';
  const url = server?.url ?? null;
  if (options.json) {
    const { id, group: name } = group;
    writeJson(out, { id, group: name, address, http: url, pid: process.pid, version: VERSION });
  } else {
    const place = url === `http://${DEFAULT_HTTP}` ? '' : ` --http ${url?.replace('http://', '')}`;
    const lines = [
      `Member ${group.id} of group ${group.group}, with ${Object.keys(join.peers).join(', ')}`,
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
