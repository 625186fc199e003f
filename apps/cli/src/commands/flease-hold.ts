import { Command, CommanderError, Option } from 'commander';
import { joinFlease } from 'leasehold/flease';
import { resolveFleaseDurations, checkResource } from 'leasehold/internal';
import type { Context } from '../context.ts';
import { EXIT, UsageError } from '../failure.ts';
import { type Suspects, suspectsOf } from '../flease/command-ended.ts';
import { inFlags } from '../flease/flags.ts';
import { runHeld } from '../flease/held-command.ts';
import { httpOf, joinOptionsOf, type MemberOptions, withMemberOptions } from '../flease/member-options.ts';
import { whyNotStarted } from '../flease/program-file.ts';
import { CommandSignals } from '../flease/signals.ts';
import { refuseTakenHttp, tellOverHttp } from '../flease/tell-over-http.ts';
import { acquired } from '../flease/wanted-lease.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { jsonOption, logOption, milliseconds, withExamples } from '../options.ts';
import type { JsonOption } from '../output.ts';

interface HoldOptions extends MemberOptions, JsonOption {
  /** In milliseconds. */
  readonly timeout?: number;
  /** In milliseconds. */
  readonly notice?: number;
  readonly log?: LogFormat;
  readonly quiet?: true;
}

const ADVICE = 'choose another port with --http <port>, or leave --http out';

/** With a shorter lease, the watchman may not have begun when the lease is over, on a busy machine. */
const LEASE_MS_MIN = 500;

export function fleaseHoldCommand(context: Context): Command {
  const command = new Command('hold')
    .summary('Run a command while a lease is held, like flock across machines')
    .description(
      `Run a command while a lease is held, like flock across machines. The command finds the lease number, which grows with every holder, in LEASEHOLD_NUMBER, and the resource in LEASEHOLD_RESOURCE. If the lease is lost, the command gets a SIGTERM, and a SIGKILL when the lease is over.

"hold" is the member of the cell that --name names, and no two processes may be the same member at a time. Like every member that starts, it first recovers for a lease and twice the skew (11 s by default). The running members, this one included, have to be a majority of all --peers, and each name of a "hold" that does not run counts as away: "flease start" is a member that only stays. A machine that needs many leases, or needs them fast, should use joinFlease in one process instead.

Exits like the command: with its exit code, or with 128 and the number of the signal that killed it. 75: the lease was not granted in time. 76: the lease was lost while the command ran. 1: the member could not start, for example because another process has its --name. 2: wrong usage, or the others have another --lease or --clock-skew. 126, 127: the command may not be executed, or was not found; this is checked at once, before any waiting.`,
    )
    .usage('[options] <resource> -- <command> [args...]')
    .argument('<resource>', 'the name of the lease: any text, the same for all contenders')
    .argument('[command]', 'the program to start, without a shell')
    .argument('[args...]', 'its arguments');
  withMemberOptions(command)
    .addOption(
      new Option(
        '--timeout <time>',
        'how long to wait for the lease, counted from when this member is ready; 0s: fail if it is held (default: no limit)',
      ).argParser(milliseconds),
    )
    .addOption(
      new Option(
        '--notice <time>',
        'how long before the end of a lease that is not renewed the command gets SIGTERM (default: a tenth of the lease)',
      ).argParser(milliseconds),
    )
    .option(
      '--http <address>',
      'serve status and metrics over HTTP here, as 7501 or host:7501 (default: no HTTP)',
    )
    .option('--quiet', 'log errors only: neither the awaited holder nor unreachable members')
    .addOption(logOption())
    .addOption(
      jsonOption(
        'print errors as JSON, and log JSON lines unless --log says otherwise; the standard output belongs to the command',
      ),
    )
    .action((resource: string, program: string | undefined, args: readonly string[], options: HoldOptions) =>
      inFlags(hold(context, resource, checkProgram(resource, program), args, options)),
    );
  return withExamples(command, context, [
    [
      'flease hold backup -- ./backup.sh --all',
      'name and peers by LEASEHOLD_FLEASE_NAME and LEASEHOLD_FLEASE_PEERS',
    ],
    ['flease hold backup --timeout 0s -- ./backup.sh', 'or fail at once, if the lease is held'],
    [
      'flease hold leader --name ada --peers ada=10.0.0.1:7500,ben=10.0.0.2:7500,cyd=10.0.0.3:7500 --insecure -- node leader.js',
      'one leader among three machines',
    ],
  ]);
}

/** @throws if there is nothing to run; most likely the resource was left out, which comes first. */
function checkProgram(resource: string, program: string | undefined): string {
  if (program === undefined) {
    const message = `missing required argument 'command': ${JSON.stringify(resource)} is taken for the resource, which comes first, so there is nothing to run`;
    throw new CommanderError(EXIT.usage, 'commander.missingArgument', message);
  }
  if (program === '') throw new UsageError('the command is empty: say what to run after --');
  return program;
}

async function hold(
  context: Context,
  resource: string,
  command: string,
  args: readonly string[],
  options: HoldOptions,
): Promise<void> {
  const logger = createLogger(context, {
    format: options.log ?? (options.json ? 'json' : undefined),
    level: options.quiet ? 'error' : undefined,
  });
  const join = { ...joinOptionsOf(context, options), noticeMs: options.notice, logger };
  const http = httpOf(options, join);
  const durations = resolveFleaseDurations(join);
  if (durations.leaseMs < LEASE_MS_MIN) {
    throw new UsageError(
      `--lease is ${durations.leaseMs} ms, but to run a command it must be ${LEASE_MS_MIN} ms or more: the processes that would end the command in time need time to begin`,
    );
  }
  checkResource(resource);
  // Otherwise the fault would be found when the lease is acquired, after everybody else's turn.
  const whyNot = whyNotStarted(command, context.environment);
  if (whyNot !== undefined) throw whyNot;
  await refuseTakenHttp(http, join, ADVICE);
  using signals = new CommandSignals();
  await using member = await joinFlease(join);
  await using _ = await tellOverHttp(member, http, logger, ADVICE);
  const lease = await acquired({
    ...{ member, resource, members: Object.keys(join.peers), signals, logger },
    ...{ recoveryMs: durations.recoveryMs, timeoutMs: options.timeout },
  });
  if (lease === undefined) {
    logger.warn('gave up waiting for the lease: interrupted by a signal', { resource });
    context.exitCode = signals.exitCode ?? 1;
    return;
  }
  await using held = lease;
  const suspects = (deafForMs: number): Suspects => suspectsOf(member.status(), deafForMs);
  context.exitCode = await runHeld({ command, args, lease: held, durations, suspects, signals, logger });
  logger.info('the command has ended: the lease is given back', { resource, exitCode: context.exitCode });
}
