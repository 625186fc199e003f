/**
 * A child process with our standard streams and one descriptor more: a line of communication with us, whose other end
 * no third process has.
 *
 * With `leadsGroup` the child leads a process group, and a session, of its own: a signal to our group does not reach
 * the child. The child can still read our terminal, but has no terminal of its own, so keys like Ctrl-C reach the
 * child only through us.
 *
 * The end of the child has to be exact. `ended` is settled after the kernel has handed us the child's status
 * (`waitpid`): then no thread of the child runs any more, none ever will, and the number can go to another process.
 * From the same instant on `kill` does nothing. A lost line of communication, on the other hand, says nothing at all:
 * the child may have closed the line.
 */

import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import type { Socket } from 'node:net';
import { CommandError } from './command-error.ts';
import { type Signal, signalNumber } from './signals.ts';

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to our own environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Whether the child gets a process group of its own, for {@link Child.killGroup}. */
  readonly leadsGroup: boolean;
}

/** The child ended by itself, with a code, or by a signal. */
export interface ChildEnd {
  readonly code: number | undefined;
  readonly signal: Signal | undefined;
}

export interface Child {
  readonly pid: number;
  /** The child is dead and reaped. The child's last words are in {@link heard}. */
  readonly ended: Promise<ChildEnd>;
  /** Everything the child said on the line of communication so far. */
  heard(): string;
  /** The one thing we say. The child reads the end of the file when this process has ended. */
  say(text: string): void;
  kill(signal: Signal): void;
  /** All of the group that the child leads, also after the child's end; nothing if there is no such group. */
  killGroup(signal: Signal): void;
}

/** The descriptor of the line of communication, in the child. */
export const CHILD_DESCRIPTOR = 3;

const HEARD_CHARACTERS_MAX = 1_024;

/** The exit code of a shell: the code, or 128 and the number of the signal. */
export const exitCodeOf = ({ code, signal }: ChildEnd): number =>
  code ?? (signal === undefined ? 1 : 128 + signalNumber(signal));

/** Some faults of a start are thrown, the rest come as an event: {@link whenSpawned}. @throws {CommandError} */
export function spawnCommand(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(command, args, options);
  } catch (cause) {
    throw CommandError.of(command, cause);
  }
}

/** @throws {CommandError} */
export const whenSpawned = (child: ChildProcess, command: string): Promise<void> =>
  new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) => reject(CommandError.of(command, cause)));
  });

/** To be called in the turn of the start: a child that runs for a moment only may end before its start is awaited. */
export const endOf = (child: ChildProcess): Promise<ChildEnd> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }));
  });

/** @throws {CommandError} */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { command, args } = options;
  const child = spawnCommand(command, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, ...options.environment },
    detached: options.leadsGroup,
  });
  // The last words are readable at the exit, but perhaps not read: a turn of the event loop later they are.
  const ended = endOf(child).then(
    (end) => new Promise<ChildEnd>((resolve) => setImmediate(() => setImmediate(resolve, end))),
  );
  await whenSpawned(child, command);
  return new StartedChild(child, ended, options.leadsGroup);
}

class StartedChild implements Child {
  readonly pid: number;
  readonly ended: Promise<ChildEnd>;
  readonly #child: ChildProcess;
  readonly #line: Socket;
  readonly #leadsGroup: boolean;
  #heard = '';

  constructor(child: ChildProcess, ended: Promise<ChildEnd>, leadsGroup: boolean) {
    this.#child = child;
    this.#leadsGroup = leadsGroup;
    this.#line = child.stdio[CHILD_DESCRIPTOR] as Socket;
    this.pid = child.pid as number;
    this.ended = ended.finally(() => this.#line.destroy());
    child.on('error', ignored);
    this.#line.on('error', ignored);
    this.#line.setEncoding('utf8').on('data', (text: string) => {
      this.#heard = (this.#heard + text).slice(0, HEARD_CHARACTERS_MAX);
    });
  }

  heard(): string {
    return this.#heard;
  }

  say(text: string): void {
    this.#line.write(text);
  }

  kill(signal: Signal): void {
    this.#child.kill(signal);
  }

  killGroup(signal: Signal): void {
    if (!this.#leadsGroup) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // All of the group is gone, or the rest belongs to another user.
    }
  }
}

/** A child that closed the line, or that could not be sent a signal: the child's end tells, not this error. */
const ignored = (): void => {};
