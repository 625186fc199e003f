/**
 * Whether there is a program of a name, before anybody tries to start it. Between the look and the start it may come or go; so who is told
 * here that it is there is still told why it did not start, if it did not.
 */

import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether it is found, and may be executed, and so may its interpreter if it says which. */
export function isProgram(command: string, { PATH: path }: Environment): boolean {
  if (command.includes('/')) return canStart(command);
  return path !== undefined && filesIn(path, command).some(canStart);
}

/** Whether it is certain that there is no such program, wherever it would be looked for. */
export function isNowhere(command: string, { PATH: path }: Environment): boolean {
  if (command.includes('/') || path === undefined) return false;
  return filesIn(path, command).every(isMissing);
}

/** An empty name in a path is the folder one is in. */
const filesIn = (path: string, command: string): string[] =>
  path.split(':').map((folder) => `${folder || '.'}/${command}`);

function canStart(path: string): boolean {
  if (!isExecutable(path)) return false;
  const interpreter = interpreterOf(path);
  return interpreter === undefined || isExecutable(interpreter);
}

function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR'; // Otherwise nobody knows.
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // Why, is said by whoever starts it all the same.
  }
}

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
