/**
 * A process of the demo, as the one that started it sees it.
 *
 * Each leads a group of its own, so that Ctrl-C reaches the demo alone, which then ends the others in
 * an order that makes sense; and each has a pipe for its standard input, whose end tells it that the
 * demo is gone, however it went.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import process from 'node:process';
import type { Readable } from 'node:stream';

export interface ChildSettings {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Each line that it prints. */
  onLine(line: string): void;
  /** Each line of its error output. */
  onComplaint(line: string): void;
  /** It and everything it started are gone. Not after {@link DemoChild.stop}. */
  onGone(how: string): void;
}

/** How long one that was asked to end may take. */
const GRACE_MS = 4_000;

export class DemoChild {
  readonly name: string;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;
  #isStopping = false;

  constructor({ name, command, args, onLine, onComplaint, onGone }: ChildSettings) {
    this.name = name;
    // The demo has a Manager of its own, wherever others keep their logs.
    const { LEASEHOLD_STORE: _, ...env } = process.env;
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true, env });
    this.#child = child;
    this.pid = child.pid ?? 0;
    child.stdin.on('error', () => {}); // It is gone; its end tells.
    eachLine(child.stdout, onLine);
    eachLine(child.stderr, onComplaint);
    // A supervisor may die before what it supervises, which then has nobody to go on for.
    child.once('exit', () => child.stdin.end());
    this.#gone = new Promise((resolve) => {
      child.once('error', (error) => {
        if (!this.#isStopping) onGone(error.message);
        resolve();
      });
      child.once('close', (code, signal) => {
        if (!this.#isStopping) onGone(signal ?? `exit code ${code}`);
        resolve();
      });
    });
  }

  say(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Asks it to end, and after a while does not ask any more. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.kill(), GRACE_MS);
    await this.#gone;
    clearTimeout(late);
  }

  /** At once, and whatever it started too. */
  kill(): void {
    this.#isStopping = true;
    if (this.pid === 0) return;
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch {
      // The whole group is gone already.
    }
  }
}

function eachLine(stream: Readable, use: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) use(line);
  });
}
