/**
 * A child process that shares our terminal and has one descriptor more: a line of communication with
 * us, whose other end nobody else has.
 *
 * What has to be exact here is the end. `ended` is settled after the kernel has handed us the child's
 * status (`waitpid`): then no thread of it runs any more, none ever will, and its number can go to
 * another process. From the same instant on `kill` does nothing. A lost line of communication, on the
 * other hand, says nothing at all: the child may have closed it.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { CommandError } from './command-error.ts';
import { type Signal, signalNumber } from './signals.ts';

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Beside what we have in our own environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Either it ended by itself, with a code, or by a signal. */
export interface ChildEnd {
  readonly code: number | undefined;
  readonly signal: Signal | undefined;
}

export interface Child {
  readonly pid: number;
  /** The child is dead and reaped. What it said before is in {@link heard}. */
  readonly ended: Promise<ChildEnd>;
  /** Everything it said on the line of communication so far. */
  heard(): string;
  /** The one thing we say; afterwards the child reads the end of the file. */
  say(text: string): void;
  kill(signal: Signal): void;
}

/** The descriptor of the line of communication, in the child. */
export const CHILD_DESCRIPTOR = 3;

const HEARD_CHARACTERS_MAX = 1_024;

/** What a shell would say: the code, or 128 and the number of the signal. */
export const exitCodeOf = ({ code, signal }: ChildEnd): number =>
  code ?? (signal === undefined ? 1 : 128 + signalNumber(signal));

/** @throws {CommandError} */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { command, args } = options;
  let child: ChildProcess;
  try {
    child = spawn(command, args, {
      stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
      env: { ...process.env, ...options.environment },
    });
  } catch (cause) {
    throw CommandError.of(command, cause);
  }
  // Both at once: a short life may be over before anybody could await its beginning.
  const ended = new Promise<ChildEnd>((resolve) => {
    child.once('exit', (code, signal) => {
      // What it said last is readable by now, but perhaps not read: a turn of the event loop later it is.
      setImmediate(() => setImmediate(resolve, { code: code ?? undefined, signal: signal ?? undefined }));
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) => reject(CommandError.of(command, cause)));
  });
  return new StartedChild(child, ended);
}

class StartedChild implements Child {
  readonly pid: number;
  readonly ended: Promise<ChildEnd>;
  readonly #child: ChildProcess;
  readonly #line: Socket;
  #heard = '';

  constructor(child: ChildProcess, ended: Promise<ChildEnd>) {
    this.#child = child;
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
    this.#line.end(text);
  }

  kill(signal: Signal): void {
    this.#child.kill(signal);
  }
}

/** A child that closed the line, or that could not be sent a signal: its end is what tells, not this. */
const ignored = (): void => {};
