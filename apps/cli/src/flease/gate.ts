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
 * missing in the environment. And it would say in its own words that there is no such program, or none that could
 * interpret it. Who has either has to start the command without a gate: {@link fitsGate}. So has who has as many
 * arguments, or as much of an environment, as the system allows: what the shell is told on top of it is too much.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { type Environment, isProgram } from './program-file.ts';

export interface GatedCommand {
  /** The shell at first, and then the command. */
  readonly child: ChildProcess;
  open(): void;
}

/** The name in front is whose word it is if it cannot become the command after all. */
const SCRIPT = ['read -r leasehold_gate <&3 || exit; exec 3<&-; exec "$@"', 'leasehold'];
const DESCRIPTOR = 3;

/** Undefined if it has to be started without one. */
export function behindGateIfItFits(...start: Parameters<typeof behindGate>): GatedCommand | undefined {
  const [command, , { env }] = start;
  if (!fitsGate(command, env)) return undefined;
  try {
    return behindGate(...start);
  } catch {
    return undefined; // Who starts it without a gate is told what is wrong, if it is not only the gate.
  }
}

/** Like `spawn` with descriptors that are ours, and `/bin/sh` must be there. @throws as `spawn` does */
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
  !command.startsWith('-') && Object.keys(env).every(isShellName) && isProgram(command, env);

/** What a shell makes of these is its own. */
const SHELL_OWN: ReadonlySet<string> = new Set(['IFS', 'OPTIND', 'PPID', 'leasehold_gate']);
const isShellName = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !SHELL_OWN.has(name);
