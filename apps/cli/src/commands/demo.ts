import process from 'node:process';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Context } from '../context.ts';
import { runFrontEnd } from '../demo/front-end.ts';
import { runGuest } from '../demo/guest.ts';
import { runLoad } from '../demo/load.ts';
import { runOwner } from '../demo/owner.ts';
import { type DemoOptions, runDemo } from '../demo/run-demo.ts';
import { sayIfKilled } from '../killed.ts';
import { createLogger } from '../logger.ts';
import {
  jsonOption,
  milliseconds,
  managersOption,
  port,
  untilInputEndsOption,
  wholeNumberFrom,
  withExamples,
} from '../options.ts';

interface PlayerOptions {
  readonly name: string;
  readonly managers?: readonly string[];
  readonly untilInputEnds?: true;
}

export function demoCommands(
  context: Context,
): readonly { readonly command: Command; readonly isHidden: boolean }[] {
  return [
    { command: demoCommand(context), isHidden: false },
    { command: ownerCommand(context), isHidden: true },
    { command: frontEndCommand(context), isHidden: true },
    { command: loadCommand(context), isHidden: true },
  ];
}

const MANAGERS_MOST = 7;

/** Two would tolerate no more than one does, and need both. */
function managerCount(text: string): number {
  const count = wholeNumberFrom(1)(text);
  if (count === 1 || (count >= 3 && count <= MANAGERS_MOST)) return count;
  throw new InvalidArgumentError(`It must be 1, or from 3 to ${MANAGERS_MOST}.`);
}

function demoCommand(context: Context): Command {
  const command = new Command('demo')
    .summary('Show a small service at work')
    .description(
      'Show a small presence service at work: a Manager or several, supervised owners, front ends and a steady load, each a process of its own. It says what to try; Ctrl-C ends it all.',
    )
    .option('--owners <count>', 'processes that keep who is present', wholeNumberFrom(1), 3)
    .enablePositionalOptions() // add-owner has other --managers.
    .addOption(
      new Option('--managers <count>', 'Managers: 1, or 3 to 7 that keep their log among themselves')
        .argParser(managerCount)
        .default(1),
    )
    .option('--front-ends <count>', 'processes that users are connected to', wholeNumberFrom(1), 2)
    .option('--users <count>', 'users who are connected', wholeNumberFrom(1), 300)
    .option('--for <time>', 'end by itself after so long', milliseconds)
    .option(
      '--port <port>',
      'of the first Manager; 0 for any that is free (default: 7400 if it is free)',
      port,
    )
    .option('--http <port>', 'of its page and API; 0 likewise (default: 7401 if it is free)', port)
    .option('--data <directory>', 'where the Manager keeps its data (default: a temporary directory)')
    .addOption(jsonOption('print the state as a line of JSON every second'))
    .action((options: DemoOptions) => runDemo(context, options));
  command.addCommand(addOwnerCommand(context));
  return withExamples(command, context, [
    ['demo', 'until Ctrl-C'],
    ['demo --owners 5 --users 2000', 'a larger one'],
    ['demo --managers 3', 'with three Managers and nothing else: kill one'],
    ['demo --for 10s --json', 'for a program'],
    ['demo add-owner', 'in another terminal: one owner more'],
  ]);
}

function addOwnerCommand(context: Context): Command {
  const command = new Command('add-owner')
    .description('Add an owner to a demo that runs, until Ctrl-C or the end of the demo.')
    .option('--name <name>', 'what it is called', `guest-${process.pid}`)
    .addOption(managersOption())
    .action(async (options: PlayerOptions) => {
      const end = await runGuest(context, options);
      sayIfKilled(createLogger(context, { level: 'warn' }), options.name, end);
      context.exitCode = end.exitCode;
    });
  return withExamples(command, context, [
    ['demo add-owner', 'takes its share of the users'],
    ['demo add-owner --name eve --managers 127.0.0.1:7400', 'with a name, and where the Manager is'],
  ]);
}

const player = (name: string, what: string): Command =>
  new Command(name)
    .description(`Part of the demo: ${what}.`)
    .requiredOption('--name <name>', 'what it is called')
    .addOption(managersOption())
    .addOption(untilInputEndsOption());

function ownerCommand(context: Context): Command {
  const command = player('demo-owner', 'keeps who is present').action((options: PlayerOptions) =>
    runOwner(context, options),
  );
  return withExamples(command, context, [['demo-owner --name ada', '']]);
}

function frontEndCommand(context: Context): Command {
  const command = player('demo-front-end', 'is what users are connected to').action(
    (options: PlayerOptions) => runFrontEnd(context, options),
  );
  return withExamples(command, context, [['demo-front-end --name north', '']]);
}

function loadCommand(context: Context): Command {
  const command = new Command('demo-load')
    .description('Part of the demo: users who come, change and look each other up.')
    .requiredOption('--front-ends <urls>', 'where they connect, separated by commas')
    .option('--users <count>', 'how many', wholeNumberFrom(1), 300)
    .addOption(untilInputEndsOption())
    .action((options: { frontEnds: string; users: number; untilInputEnds?: true }) =>
      runLoad({ ...options, frontEnds: options.frontEnds.split(',') }),
    );
  return withExamples(command, context, [
    ['demo-load --front-ends http://127.0.0.1:1,http://127.0.0.1:2', ''],
  ]);
}
