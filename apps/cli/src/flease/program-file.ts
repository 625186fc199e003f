/**
 * Whether there is a program of a name, before anybody tries to start it. Between the look and the start it may come or go; so
 * who is told here that it is there is still told why it did not start, if it did not.
 *
 * Who will start it much later asks at once all the same, and goes by the answer: a name that was misspelled is far more
 * likely than a program that somebody puts there meanwhile, and it would be found out when the program is needed.
 */

import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { CommandError } from 'leasehold/supervisor';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether it is found, and may be executed, and so may its interpreter if it says which. */
export const isProgram = (command: string, environment: Environment): boolean =>
  placesOf(command, environment)?.some((path) => faultOf(path) === undefined) ?? false;

/** What whoever started it would be told, if it is certain that it cannot be started. */
export function whyNotStarted(command: string, environment: Environment): CommandError | undefined {
  const faults = placesOf(command, environment)?.map(faultOf);
  if (faults === undefined || faults.some((fault) => fault === undefined || fault === 'not known')) {
    return undefined;
  }
  return faults.includes('not executable')
    ? CommandError.notExecutable(command)
    : CommandError.notFound(command);
}

/** Where it would be looked for; undefined if that is for the system to say. An empty name in a path is the folder one is in. */
function placesOf(command: string, { PATH: path }: Environment): readonly string[] | undefined {
  if (command.includes('/')) return [command];
  return path?.split(':').map((folder) => `${folder || '.'}/${command}`);
}

type Fault = 'missing' | 'not executable' | 'not known';

/** Why it cannot be started; undefined if nothing is the matter with it. */
function faultOf(path: string): Fault | undefined {
  const fault = faultOfFile(path);
  if (fault !== undefined) return fault;
  const interpreter = interpreterOf(path);
  return interpreter === undefined ? undefined : faultOfFile(interpreter);
}

function faultOfFile(path: string): Fault | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? undefined : 'not executable';
  } catch (error) {
    return FAULTS[(error as NodeJS.ErrnoException).code ?? ''] ?? 'not known';
  }
}

const FAULTS: Readonly<Record<string, Fault>> = {
  ENOENT: 'missing',
  ENOTDIR: 'missing',
  EACCES: 'not executable',
};

/** A system may look at less of the first line than this, and none at more. */
const FIRST_LINE_BYTES_MAX = 256;

/** What a script says in its first line; undefined if it is none, or may be executed but not read. */
function interpreterOf(path: string): string | undefined {
  const bytes = Buffer.alloc(FIRST_LINE_BYTES_MAX);
  let length: number;
  try {
    const file = openSync(path, 'r');
    try {
      length = readSync(file, bytes);
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
  return /^#![ \t]*([^ \t\n]+)/.exec(bytes.toString('utf8', 0, length))?.[1];
}
