/**
 * Whether there is a program of a name, before any attempt to start the program. Between the look and the start the
 * program may come or go; so a caller that is told here that the program exists still gets the reason if the start
 * fails.
 *
 * A caller that starts the program much later asks at once all the same, and relies on the answer: a misspelled name
 * is far more likely than a program that is installed meanwhile, and the mistake would be found only when the program
 * is needed.
 */

import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { CommandError } from 'leasehold/internal';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the program is found, and may be executed, and so may the interpreter if the program names one. */
export const isProgram = (command: string, environment: Environment): boolean =>
  placesOf(command, environment)?.some((path) => faultOf(path) === undefined) ?? false;

/** The error that a start would give, if a start is certain to fail. */
export function whyNotStarted(command: string, environment: Environment): CommandError | undefined {
  const faults = placesOf(command, environment)?.map(faultOf);
  if (!faults?.every(isCertain)) return undefined;
  const forbidden = faults.find(({ kind }) => kind === 'not executable');
  if (forbidden !== undefined) return CommandError.notExecutable(command, forbidden.interpreter);
  const script = faults.find(({ interpreter }) => interpreter !== undefined);
  return CommandError.notFound(command, script?.interpreter);
}

/**
 * The paths at which the program would be looked for; undefined if that is for the system to say. An empty name in a
 * path is the folder one is in.
 */
function placesOf(command: string, { PATH: path }: Environment): readonly string[] | undefined {
  if (command.includes('/')) return [command];
  return path?.split(':').map((folder) => `${folder || '.'}/${command}`);
}

interface Fault {
  readonly kind: 'missing' | 'not executable' | 'not known';
  /** If the program is a script, and the interpreter has the fault. */
  readonly interpreter?: string;
}

const isCertain = (fault: Fault | undefined): fault is Fault =>
  fault !== undefined && fault.kind !== 'not known';

/** Why the program cannot be started; undefined if there is no fault. */
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

/** How much of the first line Linux looks at. The system's treatment of a longer line is the system's own. */
const FIRST_LINE_BYTES_MAX = 256;

/** Instead of an interpreter of which only the beginning is known. */
const CUT_OFF = Symbol('cut off');

/**
 * The interpreter that a script names in the first line; undefined if the file is no script, or may be executed but
 * not read.
 */
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
  // As bytes, because the limit counts bytes, and a character may be cut in two.
  const [beginning, interpreter] = /^#![ \t]*([^ \t\n]+)/.exec(bytes.toString('latin1', 0, length)) ?? [];
  if (beginning?.length === FIRST_LINE_BYTES_MAX) return CUT_OFF;
  return interpreter && Buffer.from(interpreter, 'latin1').toString();
}
