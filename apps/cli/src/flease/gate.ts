/**
 * A command that is there, but does not run until it is let: so others can be told of it first.
 *
 *     shell    ├── waits for a word of ours ──┤ becomes the command: the same process, the same number
 *     others        ├── are told of it ──┤
 *
 * If we die before that word the shell reads the end of its input instead, and ends. Everything else is as if the
 * command had been started at once: its arguments, its descriptors, its signals and its end are its own.
 *
 * But a shell passes on only what a shell variable can be named: `a.b`, or a function that bash has exported, would be
 * missing in the environment. And it would say in its own words that there is no such program, or none that could interpret it.
 * Who has either has to start the command without a gate: {@link fitsGate}.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import type { Writable } from 'node:stream';

type Environment = Readonly<Record<string, string | undefined>>;

export interface GatedCommand {
  /** The shell at first, and then the command. */
  readonly child: ChildProcess;
  open(): void;
}

/** The name in front is whose word it is if it cannot become the command after all. */
const SCRIPT = ['read -r leasehold_gate <&3 || exit; exec 3<&-; exec "$@"', 'leasehold'];
const DESCRIPTOR = 3;

/** Like `spawn` with descriptors that are ours, and `/bin/sh` must be there. */
export function behindGate(
  command: string,
  args: readonly string[],
  options: { readonly env: Environment; readonly detached: boolean },
): GatedCommand {
  const child = spawn('/bin/sh', ['-c', ...SCRIPT, command, ...args], {
    ...options,
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
  });
  const gate = child.stdio[DESCRIPTOR] as Writable | null | undefined;
  gate?.on('error', () => {}); // It has ended before: its end says so.
  return { child, open: () => gate?.end('open\n', () => gate.destroy()) };
}

/** Whether it can be started behind a gate, and is the same then. */
export const fitsGate = (command: string, env: Environment): boolean =>
  !command.startsWith('-') && Object.keys(env).every(isShellName) && isFound(command, env['PATH']);

/** What a shell makes of these is its own. */
const SHELL_OWN: ReadonlySet<string> = new Set(['IFS', 'OPTIND', 'PPID', 'leasehold_gate']);
const isShellName = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !SHELL_OWN.has(name);

const isFound = (command: string, path: string | undefined): boolean =>
  command.includes('/')
    ? canStart(command)
    : path?.split(':').some((folder) => canStart(`${folder || '.'}/${command}`)) === true;

function canStart(path: string): boolean {
  if (!isExecutable(path)) return false;
  const interpreter = interpreterOf(path);
  return interpreter === undefined || isExecutable(interpreter);
}

/** Whether it is certain that there is no such program, wherever it would be looked for. */
export function isNowhere(command: string, { PATH: path }: Environment): boolean {
  if (command.includes('/') || path === undefined) return false;
  return path.split(':').every((folder) => isMissing(`${folder || '.'}/${command}`));
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
