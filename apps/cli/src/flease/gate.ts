/**
 * A command that exists as a process, but does not run until released: so others can be told of the process first.
 *
 *     shell    ├── waits for a word of ours ──┤ becomes the command: the same process, the same number
 *     others        ├── are informed ────┤
 *
 * If we die before that word, the shell reads the end of the input instead, and ends. Everything else is as if the
 * command had been started at once: the command has the same arguments, descriptors, signals and end.
 *
 * But a shell passes on only environment variables whose names a shell variable can have: `a.b`, or a function that
 * bash has exported, would be missing in the environment. And the shell would report a missing program, or a missing
 * interpreter, in the shell's own words. In both cases the command has to be started without a gate: {@link fitsGate}.
 * The same holds for as many arguments, or as much environment, as the system allows: the arguments of the shell would
 * be too much on top.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { type Environment, isProgram } from './program-file.ts';

export interface GatedCommand {
  /** The shell at first, and then the command. */
  readonly child: ChildProcess;
  open(): void;
}

/** The name in front is the author of the shell's message if the shell cannot become the command after all. */
const SCRIPT = ['read -r leasehold_gate <&3 || exit; exec 3<&-; exec "$@"', 'leasehold'];
const DESCRIPTOR = 3;

/** Undefined if the command has to be started without a gate. */
export function behindGateIfItFits(...start: Parameters<typeof behindGate>): GatedCommand | undefined {
  const [command, , { env }] = start;
  if (!fitsGate(command, env)) return undefined;
  try {
    return behindGate(...start);
  } catch {
    return undefined; // A start without a gate reports the fault, unless the gate was the only fault.
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
  gate?.on('error', () => {}); // The shell has ended before: the `exit` event says so.
  return { child, open: () => gate?.end('open\n', () => gate.destroy()) };
}

/** Whether the command can be started behind a gate with no difference. */
export const fitsGate = (command: string, env: Environment): boolean =>
  !command.startsWith('-') && Object.keys(env).every(isShellName) && isProgram(command, env);

/** A shell treats these in its own way. */
const SHELL_OWN: ReadonlySet<string> = new Set(['IFS', 'OPTIND', 'PPID', 'leasehold_gate']);
const isShellName = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !SHELL_OWN.has(name);
