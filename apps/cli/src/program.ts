/**
 * The tree of commands. Everything about one command, as words, options and examples, is in the file of that command.
 */

import { Command } from 'commander';
import { VERSION } from 'leasehold/internal';
import { caCommand } from './commands/ca.ts';
import { completionCommand } from './commands/completion.ts';
import { demoCommands } from './commands/demo.ts';
import { fleaseCommand } from './commands/flease.ts';
import { membershipCommand } from './commands/membership.ts';
import { ratelimitCommand } from './commands/ratelimit.ts';
import { managerCommand } from './commands/manager.ts';
import { poolCommand } from './commands/pool.ts';
import { quorumCommand } from './commands/quorum.ts';
import { runCommand } from './commands/run.ts';
import { statusCommand } from './commands/status.ts';
import { tokenCommand } from './commands/token.ts';
import { watchCommand } from './commands/watch.ts';
import { type Context, typed } from './context.ts';
import { withExamples } from './options.ts';
import { wordsOf } from './usage.ts';

export function buildProgram(context: Context): Command {
  const program = new Command('leasehold')
    .description('Who owns this key? Leases on keys for services that keep state in memory on many servers.')
    .version(VERSION, '--version', 'print the version')
    .helpOption('-h, --help', 'print this text')
    .helpCommand('help [command]', 'print the help of a command')
    .enablePositionalOptions();
  for (const command of [
    managerCommand(context),
    runCommand(context),
    statusCommand(context),
    poolCommand(context),
    watchCommand(context),
    fleaseCommand(context),
    quorumCommand(context),
    membershipCommand(context),
    ratelimitCommand(context),
    caCommand(context),
    tokenCommand(context),
    completionCommand(context, () => program),
  ]) {
    program.addCommand(command);
  }
  for (const { command, isHidden } of demoCommands(context))
    program.addCommand(command, { hidden: isHidden });
  withExamples(program, context, [
    ['demo', 'see a small service at work, with everything that belongs to it'],
    ['manager start', 'start a Manager on this machine'],
    ['run -- node server.js', 'start a server whose death is noticed at once'],
    ['watch', 'see who joins, what moves and what is lost'],
    ['flease hold backup -- ./backup.sh', 'run a command on one machine of a small group at a time'],
  ]);
  program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 nobody answers, 4 no such pool or key, 5 not allowed, 75 not now, 76 lease lost.',
  );
  settle(program, context);
  return program;
}

/**
 * Every command throws instead of ending the process, writes to the given outputs, and is called as people call the
 * program.
 */
function settle(command: Command, context: Context): void {
  command.configureHelp({
    commandUsage: (asked) => typed(context, `${wordsOf(asked)} ${asked.usage()}`.trimStart()),
  });
  command.exitOverride().configureOutput({
    writeOut: (text) => context.out.write(text),
    writeErr: (text) => context.err.write(text),
    outputError: () => {}, // The error is thrown too, and reported in one place.
    getOutHelpWidth: () => Math.min(context.out.columns, 100),
    getErrHelpWidth: () => Math.min(context.err.columns, 100),
  });
  if (command.parent !== null) command.helpOption('-h, --help', 'print this text');
  for (const each of command.commands) settle(each, context);
}
