import { Command } from 'commander';
import { superviseCommand } from 'leasehold/supervisor';
import type { Context } from '../context.ts';
import { sayIfKilled } from '../killed.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { jsonOption, logOption, managersOption, seconds, withExamples } from '../options.ts';
import type { JsonOption } from '../output.ts';

interface RunOptions extends JsonOption {
  readonly managers?: readonly string[];
  /** In seconds. */
  readonly certifyFor?: number;
  readonly log?: LogFormat;
  readonly verbose?: true;
}

export function runCommand(context: Context): Command {
  const command = new Command('run')
    .summary('Start a server whose death is noticed at once')
    .description(
      'Start a server, and tell the Managers when it has died: what it held is then free in milliseconds, not when its lease has run out. Ends as the server does: with its exit code, or with 128 and the number of the signal that killed it. It does not start it again; an init system does that.',
    )
    .usage('[options] -- <command> [args...]')
    .argument('<command>', 'the program to start, without a shell')
    .argument('[args...]', 'its arguments')
    .passThroughOptions()
    .addOption(managersOption())
    .option(
      '--certify-for <seconds>',
      'how long to go on telling if no Manager answers (default: 10; 3 at most if none was ever reached)',
      seconds,
    )
    .option('--verbose', 'say also when all is well')
    .addOption(logOption())
    .addOption(jsonOption('log JSON lines; the standard output is the command’s own'))
    .action(async (program: string, args: readonly string[], options: RunOptions) => {
      const logger = createLogger(context, {
        format: options.log ?? (options.json ? 'json' : undefined),
        level: options.verbose || context.environment['LEASEHOLD_DEBUG'] ? undefined : 'warn',
      });
      const { managers, certifyFor: certifyForSeconds } = options;
      const certifyForMs = certifyForSeconds === undefined ? undefined : certifyForSeconds * 1_000;
      const end = await superviseCommand({ command: program, args, managers, certifyForMs, logger });
      sayIfKilled(logger, program, end);
      context.exitCode = end.exitCode;
    });
  return withExamples(command, context, [
    ['run -- node server.js', 'the server joins a pool by itself'],
    [
      'run --managers 10.0.0.1:7400,10.0.0.2:7400 -- node server.js',
      'tell these Managers; the server finds its own, by LEASEHOLD_MANAGERS for one',
    ],
    ["run -- sh -c 'exec node server.js'", 'through a shell: with exec, or its death cannot be seen'],
  ]);
}
