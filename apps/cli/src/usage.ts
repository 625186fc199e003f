/**
 * The text for a user whose command line makes no sense: the probable intention, an example where something is
 * missing, and the help of the very command that was tried, which is the shortest text with the answer.
 */

import { type Command, CommanderError } from 'commander';
import { type Context, typed } from './context.ts';
import { exampleOf } from './options.ts';

const IS_MISSING = new Set(['commander.missingArgument', 'commander.missingMandatoryOptionValue']);

/** The command that these words lead to, as far as they do. */
export function commandAt(program: Command, argv: readonly string[]): Command {
  const child = program.commands.find((command) => command.name() === argv[0]);
  return child === undefined ? program : commandAt(child, argv.slice(1));
}

/** The words that lead to a command: `demo add-owner`. */
export function wordsOf(command: Command): string {
  if (command.parent === null) return '';
  return `${wordsOf(command.parent)} ${command.name()}`.trimStart();
}

/** The fault, in a sentence. */
export function usageSentence(error: CommanderError, command: Command): string {
  const children = command
    .createHelp()
    .visibleCommands(command)
    .map((child) => child.name());
  const others = children.filter((name) => name !== 'help');
  if (error.code === 'commander.excessArguments' && others.length > 0) {
    // The command can be called without a further word, so the misspelt word was taken for an argument.
    return `unknown command '${command.args[0]}'; did you mean ${others.join(' or ')}?`;
  }
  // Options in front of -- are read as ours; of a command to run, only the name may stand there.
  const isAnothers = error.code === 'commander.unknownOption' && command.usage().includes('-- <command>');
  const hint = isAnothers
    ? '; if it is for the command that is to be run, put -- in front of that command'
    : otherOptionHint(error, command);
  return `${error.message.replace(/^error: /, '').replace(/\n\(Did you mean (.*)\?\)$/s, '; did you mean $1?')}${hint}`;
}

/** Owners are told of Managers by the Managers' ports for owners; observers ask one Manager by HTTP. */
const MISTAKEN: Readonly<Record<string, string>> = { '--managers': '--at', '--at': '--managers' };

function otherOptionHint({ code, message }: CommanderError, command: Command): string {
  const given = code === 'commander.unknownOption' ? /'(--[a-z]+)/.exec(message)?.[1] : undefined;
  const meant = command.options.find(({ long }) => given !== undefined && long === MISTAKEN[given]);
  return meant === undefined ? '' : `; this command has ${meant.flags}: ${meant.description}`;
}

/** Where to read on, and a correct example. */
export function usageAdvice(error: unknown, command: Command, context: Context): readonly string[] {
  const isMissing = error instanceof CommanderError && IS_MISSING.has(error.code);
  const example = isMissing ? exampleOf(command) : undefined;
  return [
    ...(example === undefined ? [] : [`For example: ${example}`]),
    `See ${typed(context, `${wordsOf(command)} --help`.trimStart())}.`,
  ];
}
