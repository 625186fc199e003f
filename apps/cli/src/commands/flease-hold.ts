import { Command, CommanderError, Option } from 'commander';
import { joinFlease } from 'leasehold/flease';
import { resolveFleaseDurations } from '../../../../leasehold/src/flease/options.ts';
import { checkResource } from '../../../../leasehold/src/flease/shell/peers-option.ts';
import type { Context } from '../context.ts';
import { EXIT, UsageError } from '../failure.ts';
import { type Suspects, suspectsOf } from '../flease/command-ended-error.ts';
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
  readonly wait?: number;
  /** In milliseconds. */
  readonly grace?: number;
  readonly log?: LogFormat;
  readonly quiet?: true;
}

const ADVICE = 'choose another port with --http <port>, or leave --http out';

/** In less, what guards the command may not have begun when the lease is over, on a machine that has much to do. */
const LEASE_MS_MIN = 500;

export function fleaseHoldCommand(context: Context): Command {
  const command = new Command('hold')
    .summary('Run a command while a lease is held, like flock across machines')
    .description(
      `Run a command while a lease is held, like flock across machines. It finds the lease's number, which grows with every holder, in LEASEHOLD_NUMBER, and the resource in LEASEHOLD_RESOURCE. If the lease is lost it is ended: SIGTERM, and SIGKILL when the lease is over.

It is a member of the group under its --id, and no two processes may be that at a time. Like every member that starts it keeps silent at first, for a lease and twice the skew (11 s by default). The members that run, this one among them, have to be a majority of all --peers, and each id of a "hold" that does not run is one that is away: "flease serve" is a member that only stays. A machine that needs many leases, or needs them fast, should use joinFlease in one process instead.

Ends as the command does: with its exit code, or with 128 and the number of the signal that killed it. 75: the lease was not to be had in time. 76: it was lost while the command ran. 1: it could not begin, as where another process has its --id. 2: wrong usage, or the others have another --lease or --skew. 126, 127: the command may not be executed, or was not found; it is looked for at once, so it must be there before anything is waited for.`,
    )
    .usage('[options] <resource> -- <command> [args...]')
    .argument('<resource>', 'what to hold: any text, the same for all who want it')
    .argument('[command]', 'the program to start, without a shell')
    .argument('[args...]', 'its arguments');
  withMemberOptions(command)
    .addOption(
      new Option(
        '--wait <time>',
        'how long to wait for it, once this member takes part; 0s: not for anybody who has it (default: for ever)',
      ).argParser(milliseconds),
    )
    .addOption(
      new Option(
        '--grace <time>',
        'how long before the end of a lease that is not renewed the command is asked to end (default: a tenth of the lease)',
      ).argParser(milliseconds),
    )
    .option('--http <address>', 'where to tell how it is, as 7501 or host:7501 (default: nowhere)')
    .option('--quiet', 'say nothing but errors: neither who is waited for nor who cannot be reached')
    .addOption(logOption())
    .addOption(
      jsonOption(
        'say errors in JSON, and log JSON lines unless --log says otherwise; the standard output is the command’s own',
      ),
    )
    .action((resource: string, program: string | undefined, args: readonly string[], options: HoldOptions) =>
      inFlags(hold(context, resource, checkProgram(resource, program), args, options)),
    );
  return withExamples(command, context, [
    [
      'flease hold backup -- ./backup.sh --all',
      'id and peers by LEASEHOLD_FLEASE_ID and LEASEHOLD_FLEASE_PEERS',
    ],
    ['flease hold backup --wait 0s -- ./backup.sh', 'or not at all, if somebody else has it'],
    [
      'flease hold leader --id ada --peers ada=10.0.0.1:7500,ben=10.0.0.2:7500,cyd=10.0.0.3:7500 --insecure -- node leader.js',
      'one leader among three machines',
    ],
  ]);
}

/** @throws if there is nothing to run; most likely it is the resource that was left out, and it comes first. */
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
  const join = { ...joinOptionsOf(context, options), noticeMs: options.grace, logger };
  const http = httpOf(options, join);
  const durations = resolveFleaseDurations(join);
  if (durations.leaseMs < LEASE_MS_MIN) {
    throw new UsageError(
      `--lease is ${durations.leaseMs} ms, but to run a command it must be ${LEASE_MS_MIN} ms or more: the processes that would end the command in time need time to begin`,
    );
  }
  checkResource(resource);
  // Otherwise it would be found out when the lease is had, after everybody else's turn.
  const whyNot = whyNotStarted(command, context.environment);
  if (whyNot !== undefined) throw whyNot;
  await refuseTakenHttp(http, join, ADVICE);
  using signals = new CommandSignals();
  await using group = await joinFlease(join);
  await using _ = await tellOverHttp(group, http && { ...http, logger }, ADVICE);
  const lease = await acquired({
    ...{ group, resource, members: Object.keys(join.peers), signals, logger },
    ...{ recoveryMs: durations.recoveryMs, waitMs: options.wait },
  });
  if (lease === undefined) {
    logger.warn('gave up waiting: it was interrupted', { resource });
    context.exitCode = signals.exitCode ?? 1;
    return;
  }
  await using held = lease;
  const suspects = (deafForMs: number): Suspects => suspectsOf(group.status(), deafForMs);
  context.exitCode = await runHeld({ command, args, lease: held, durations, suspects, signals, logger });
  logger.info('the command has ended: the lease is given back', { resource, exitCode: context.exitCode });
}
