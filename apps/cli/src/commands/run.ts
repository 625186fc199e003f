import { Command } from 'commander';
import { supervise } from 'leasehold/supervisor';
import type { Context } from '../context.ts';
import { sayIfKilled } from '../killed.ts';
import { createLogger, type LogFormat } from '../logger.ts';
import { jsonOption, logOption, managersOption, milliseconds, withExamples } from '../options.ts';
import type { JsonOption } from '../output.ts';
import { tlsOf, type TlsFlags, withTlsFlags } from '../tls-options.ts';

interface RunOptions extends JsonOption, TlsFlags {
  readonly managers?: readonly string[];
  /** In milliseconds. */
  readonly certifyFor?: number;
  readonly log?: LogFormat;
  readonly verbose?: true;
}

export function runCommand(context: Context): Command {
  const command = withTlsFlags(new Command('run'), 'the certificate of this supervisor')
    .summary('Start a server whose death is noticed at once')
    .description(
      'Start a server, and tell the Managers when it has died: its keys are then free in milliseconds, not when its lease has expired. Exits like the server: with its exit code, or with 128 and the number of the signal that killed it. It does not start it again; an init system does that. If this supervisor is killed, a server that has joined a pool gets a SIGTERM.',
    )
    .usage('[options] -- <command> [args...]')
    .argument('<command>', 'the program to start, without a shell')
    .argument('[args...]', 'its arguments')
    .passThroughOptions()
    .addOption(managersOption())
    .option(
      '--certify-for <time>',
      'how long to repeat the message if no Manager answers (default: 12s; 3s at most if none was ever reached)',
      milliseconds,
    )
    .option('--verbose', 'also log success')
    .addOption(logOption())
    .addOption(jsonOption('log JSON lines; the standard output belongs to the command'))
    .action(async (program: string, args: readonly string[], options: RunOptions) => {
      const logger = createLogger(context, {
        format: options.log ?? (options.json ? 'json' : undefined),
        level: options.verbose || context.environment['LEASEHOLD_DEBUG'] ? undefined : 'warn',
      });
      const { managers, certifyFor: certifyForMs } = options;
      const end = await supervise({
        ...{ command: program, args, managers, certifyForMs, logger },
        tls: tlsOf(options),
      });
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
