/** One process of a measurement, as the process that measures sees it. */

import { type ChildProcess, spawn } from 'node:child_process';
import process from 'node:process';
import { type Facts, lines } from './conversation.ts';

export interface Said extends Facts {
  readonly event: string;
  /** By the clock of the machine, when it was said. */
  readonly atMs: number;
}

type Reply = Facts & { readonly error?: string };

const STDERR_SHOWN = 2_000;
const PATIENCE_MS = 60_000;

export class Program {
  readonly name: string;
  /** Resolves when it is over, however it ended. */
  readonly ended: Promise<void>;
  readonly said: Said[] = [];
  readonly #child: ChildProcess;
  readonly #looking = new Set<() => void>();
  readonly #asked = new Map<number, (reply: Reply) => void>();
  #lastId = 0;
  #stderr = '';
  isOver = false;

  /** Runs a bundle in a Node of its own, with a command in front of it that becomes it: `ip netns exec …`. */
  constructor(name: string, bundle: string, config: object, under: readonly string[] = []) {
    this.name = name;
    const [command = '', ...args] = [...under, process.execPath, bundle, JSON.stringify(config)];
    this.#child = spawn(command, args, { stdio: 'pipe' });
    const { stdin, stdout, stderr } = this.#child;
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        this.isOver = true;
        resolve();
        this.#look();
      };
      this.#child.once('error', (error) => ((this.#stderr += String(error)), end()));
      this.#child.once('exit', end);
    });
    stdout?.setEncoding('utf8').on(
      'data',
      lines((line) => this.#hear(JSON.parse(line) as Said & Reply)),
    );
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_SHOWN);
    });
    // It may end while it is being spoken to; its end says so.
    stdin?.on('error', () => {});
  }

  /** The first such event from `after` on, said already or yet to come. */
  heard(event: string, after = 0): Promise<Said> {
    return new Promise((resolve, reject) => {
      const settle = (said: Said | undefined, why = ''): void => {
        clearTimeout(timer);
        this.#looking.delete(look);
        if (said !== undefined) resolve(said);
        else reject(new Error(`${this.name} did not say ${event} ${why}\n${this.#stderr}`));
      };
      const look = (): void => {
        const found = this.said.slice(after).find((each) => each.event === event);
        if (found !== undefined || this.isOver) settle(found, 'before it ended');
      };
      const timer = setTimeout(() => settle(undefined, `within ${PATIENCE_MS / 1_000} s`), PATIENCE_MS);
      this.#looking.add(look);
      look();
    });
  }

  /** The next such event. */
  next(event: string): Promise<Said> {
    return this.heard(event, this.said.length);
  }

  /** Asks it to do something, and waits until it has. */
  ask<Answer = Facts>(command: string, facts: object = {}): Promise<Answer> {
    const id = (this.#lastId += 1);
    return new Promise((resolve, reject) => {
      this.#asked.set(id, (reply) => {
        if (reply.error === undefined) resolve(reply as Answer);
        else reject(new Error(`${this.name} could not ${command}: ${reply.error}`));
      });
      void this.ended.then(() =>
        reject(new Error(`${this.name} ended instead of ${command}\n${this.#stderr}`)),
      );
      this.#child.stdin?.write(`${JSON.stringify({ id, command, facts })}\n`);
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The end of the error output, for a failure. */
  get stderr(): string {
    return this.#stderr;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(_signal?: string): void {
    this.#child.kill('SIGKILL');
    // What it has started itself, and left behind by this, ends with its input.
    this.#child.stdin?.destroy();
  }

  #hear(said: Said & Reply): void {
    if (typeof said['reply'] === 'number') {
      const { reply, ...answer } = said;
      this.#asked.get(reply as number)?.(answer);
      this.#asked.delete(reply as number);
      return;
    }
    this.said.push(said);
    this.#look();
  }

  #look(): void {
    for (const look of [...this.#looking]) look();
  }
}
