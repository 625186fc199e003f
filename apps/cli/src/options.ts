/** Options that several commands have, and how their values are read. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Address, brokenRule, listenAddress } from 'leasehold/internal';
import { type Context, typed } from './context.ts';

export const jsonOption = (what = 'print JSON, for programs'): Option => new Option('--json', what);

export const atOption = (): Option =>
  new Option(
    '--at <addresses>',
    'the HTTP API of the Manager, or of several as a:7401,b:7401: then the Manager that leads is asked (default: LEASEHOLD_MANAGER_AT, or http://127.0.0.1:7401)',
  );

export const managersOption = (): Option =>
  new Option(
    '--managers <addresses>',
    'the Managers, as host:port,host:port (default: LEASEHOLD_MANAGERS, LEASEHOLD_MANAGERS_FILE, or 127.0.0.1:7400)',
  ).argParser(list);

export const logOption = (): Option =>
  new Option('--log <format>', 'how to log (default: human on a terminal, json elsewhere)').choices([
    'human',
    'json',
  ]);

/** For the processes of the demonstration: ends when the parent does. */
export const untilInputEndsOption = (): Option =>
  new Option('--until-input-ends', 'end when the standard input does').hideHelp();

export const port = (text: string): number => wholeNumber(text, 0, 65_535);

/** Where to listen, `host:port`; port 0 is any that is free. */
export function listenAt(text: string): Address {
  try {
    return listenAddress('listen', text);
  } catch (error) {
    throw new InvalidArgumentError(brokenRule(error)?.rule ?? String(error));
  }
}

export const wholeNumberFrom =
  (least: number) =>
  (text: string): number =>
    wholeNumber(text, least, Number.MAX_SAFE_INTEGER);

function wholeNumber(text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  const bound = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new InvalidArgumentError(`It must be a whole number ${bound}.`);
}

const MS_OF_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000 };

/** `10s` in milliseconds. */
export function milliseconds(text: string): number {
  const [, value = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|min|h)$/.exec(text) ?? [];
  const ofUnit = MS_OF_UNIT[unit];
  if (ofUnit !== undefined) return Number(value) * ofUnit;
  throw new InvalidArgumentError('It must be a time with its unit (ms, s, min, h), as 500ms or 10s.');
}

/** `name=value`, added to the limits before. The Manager checks the names and the values. */
export function limit(
  text: string,
  before: Readonly<Record<string, number>> = {},
): Readonly<Record<string, number>> {
  const [, name = '', value = ''] = /^(\w+)=(\d+)$/.exec(text) ?? [];
  if (name !== '') return { ...before, [name]: Number(value) };
  throw new InvalidArgumentError('It must be a name and a whole number, as candidates=500.');
}

/** What the variable of a flag says: that of the module, as `LEASEHOLD_QUORUM_NAME`, or else that of all, as `LEASEHOLD_NAME`. */
export const variablesOf =
  ({ environment }: Context, module: string) =>
  (flag: string): string | undefined =>
    environment[`LEASEHOLD_${module}_${flag}`] || environment[`LEASEHOLD_${flag}`] || undefined;

/** `a,b` as a list. */
export const list = (text: string): readonly string[] => text.split(',').map((word) => word.trim());

const examples = new WeakMap<Command, string>();

/**
 * Lines under the help of a command: an example, and the effect. The first is also shown to a user who left something
 * out.
 */
export function withExamples(
  command: Command,
  context: Context,
  lines: readonly (readonly [words: string, what: string])[],
): Command {
  const all = lines.map(([words, what]) => [typed(context, words), what] as const);
  const width = Math.max(...all.map(([line]) => line.length));
  const [first] = all;
  if (first !== undefined) examples.set(command, first[0]);
  const text = all.map(([line, what]) => `  ${line.padEnd(width)}   ${what}`.trimEnd()).join('\n');
  return command.addHelpText('after', `\nExamples:\n${text}`);
}

/** A correct example, to show after a wrong command line. */
export const exampleOf = (command: Command): string | undefined => examples.get(command);
