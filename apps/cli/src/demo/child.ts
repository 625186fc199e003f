/**
 * A process of the demo, as the parent sees the process.
 *
 * Each process leads a group of its own, so that Ctrl-C reaches the demo alone, which then ends the others in an order
 * that makes sense; and each has a pipe as standard input, whose end tells the process that the demo is gone, however
 * the demo ended.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import process from 'node:process';
import type { Readable } from 'node:stream';

export interface ChildSettings {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Each line of the output. */
  onLine(line: string): void;
  /** Each line of the error output. */
  onComplaint(line: string): void;
  /** The process and all its descendants are gone. Not after {@link DemoChild.stop}. */
  onGone(how: string): void;
}

/** How long one that was asked to end may take. */
const GRACE_MS = 14_000;

export class DemoChild {
  readonly name: string;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;
  #isStopping = false;

  constructor({ name, command, args, onLine, onComplaint, onGone }: ChildSettings) {
    this.name = name;
    // The demo has a Manager of its own, wherever other Managers keep their logs, and stays on loopback without a token.
    const { LEASEHOLD_STORE: _, LEASEHOLD_TOKEN: _token, LEASEHOLD_TOKEN_FILE: _file, ...env } = process.env;
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true, env });
    this.#child = child;
    this.pid = child.pid ?? 0;
    child.stdin.on('error', () => {}); // The process is gone; the `exit` event follows.
    eachLine(child.stdout, onLine);
    eachLine(child.stderr, onComplaint);
    // A supervisor may die before the supervised process, which then has no reason to go on.
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

  /** Asks the process to end, and kills the process after a while. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.kill(), GRACE_MS);
    await this.#gone;
    clearTimeout(late);
  }

  /** Kills the process and all its descendants at once. */
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
