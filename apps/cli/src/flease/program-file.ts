/**
 * Whether there is a program of a name, before anybody tries to start it. Between the look and the start it may come or
 * go; so who is told here that it is there is still told why it did not start, if it did not.
 *
 * Who will start it much later asks at once all the same, and goes by the answer: a name that was misspelled is far
 * more likely than a program that somebody puts there meanwhile, and it would be found out when the program is needed.
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
  if (!faults?.every(isCertain)) return undefined;
  const forbidden = faults.find(({ kind }) => kind === 'not executable');
  if (forbidden !== undefined) return CommandError.notExecutable(command, forbidden.interpreter);
  const script = faults.find(({ interpreter }) => interpreter !== undefined);
  return CommandError.notFound(command, script?.interpreter);
}

/**
 * Where it would be looked for; undefined if that is for the system to say. An empty name in a path is the folder one
 * is in.
 */
function placesOf(command: string, { PATH: path }: Environment): readonly string[] | undefined {
  if (command.includes('/')) return [command];
  return path?.split(':').map((folder) => `${folder || '.'}/${command}`);
}

interface Fault {
  readonly kind: 'missing' | 'not executable' | 'not known';
  /** If it is a script, and this is what has the fault. */
  readonly interpreter?: string;
}

const isCertain = (fault: Fault | undefined): fault is Fault =>
  fault !== undefined && fault.kind !== 'not known';

/** Why it cannot be started; undefined if nothing is the matter with it. */
function faultOf(path: string): Fault | undefined {
  const kind = faultOfFile(path);
  if (kind !== undefined) return { kind };
  const interpreter = interpreterOf(path);
  if (interpreter === undefined) return undefined;
  if (interpreter === CUT_OFF) return { kind: 'not known' };
  const itsKind = faultOfFile(interpreter);
  return itsKind && { kind: itsKind, interpreter };
}

function faultOfFile(path: string): Fault['kind'] | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? undefined : 'not executable';
  } catch (error) {
    return FAULTS[(error as NodeJS.ErrnoException).code ?? ''] ?? 'not known';
  }
}

const FAULTS: Readonly<Record<string, Fault['kind']>> = {
  ENOENT: 'missing',
  ENOTDIR: 'missing',
  EACCES: 'not executable',
};

/** How much of the first line Linux looks at. What it does with one whose interpreter goes on is its own. */
const FIRST_LINE_BYTES_MAX = 256;

/** Instead of an interpreter, of which we see only how it begins. */
const CUT_OFF = Symbol('cut off');

/** What a script says in its first line; undefined if it is none, or may be executed but not read. */
function interpreterOf(path: string): string | typeof CUT_OFF | undefined {
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
  // As bytes, for it is them that are counted, and a character may be cut in two.
  const [beginning, interpreter] = /^#![ \t]*([^ \t\n]+)/.exec(bytes.toString('latin1', 0, length)) ?? [];
  if (beginning?.length === FIRST_LINE_BYTES_MAX) return CUT_OFF;
  return interpreter && Buffer.from(interpreter, 'latin1').toString();
}
