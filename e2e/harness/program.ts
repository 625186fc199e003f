/**
 * One process of a test: started, spoken to, listened to, and ended.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { inject } from 'vitest';
import { nowMs, PATIENCE_MS, until } from './time.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where each program is, as JavaScript. */
    programs: Readonly<Record<string, string>>;
  }
}

export interface ProgramEvent {
  readonly event: string;
  /** By the clock of the program. */
  readonly atMs: number;
  /** By the clock of the test. */
  readonly heardMs: number;
  readonly [fact: string]: unknown;
}

export type Reply = Readonly<Record<string, unknown>> & {
  readonly error?: { code?: string; message: string };
};

export interface Answered {
  readonly reply: Reply;
  /** Between these two instants it was done. */
  readonly askedMs: number;
  readonly answeredMs: number;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Start {
  /** The name under which it appears in failures. */
  readonly name: string;
  readonly program: string;
  readonly config: object;
  /** A command in front of it: `ip netns exec …`, `unshare …`. */
  readonly under?: readonly string[] | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Whether it runs in the foreground of a terminal, on which one can {@link Program.type}. */
  readonly onTerminal?: boolean | undefined;
}

export interface Waiting {
  /** How many of its first events do not count. */
  readonly after?: number;
  readonly withinMs?: number;
  /** What is awaited, for a failure. */
  readonly called?: string;
}

const EVENTS_SHOWN = 25;
const STDERR_SHOWN = 4_000;

export class Program {
  readonly name: string;
  readonly events: ProgramEvent[] = [];
  readonly ended: Promise<Ending>;
  stderr = '';
  /** Everything that it wrote to its output. */
  #stdout = '';
  ending: Ending | undefined;
  readonly #child: ChildProcess;
  readonly #looking = new Set<() => void>();
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #lastId = 0;

  constructor({ name, program, config, under = [], environment, onTerminal = false }: Start) {
    this.name = name;
    const path = inject('programs')[program];
    if (path === undefined) throw new Error(`there is no program ${program}`);
    const line = [...under, process.execPath, path, JSON.stringify(config)];
    const [command = '', ...args] = onTerminal ? behindTerminal(line) : line;
    this.#child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    });
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.stderr += String(error);
        this.#over({ code: null, signal: null }, resolve);
      });
      this.#child.once('close', (code, signal) => this.#over({ code, signal }, resolve));
    });
    this.#listen();
  }

  /** What it said when it was ready; nothing, if it was not. */
  get ready(): Partial<ProgramEvent> {
    return this.events.find(({ event }) => event === 'ready') ?? {};
  }

  /** What was started, which may be a command in front of the program. */
  get startedPid(): number {
    return this.#child.pid ?? 0;
  }

  get pid(): number {
    const said = this.ready['pid'];
    return typeof said === 'number' ? said : (this.#child.pid ?? 0);
  }

  /** The first such event, of those to come or of those since `after`. */
  async event(
    which: string | ((event: ProgramEvent) => boolean),
    { after = 0, withinMs = PATIENCE_MS, called = String(which) }: Waiting = {},
  ): Promise<ProgramEvent> {
    const isIt = typeof which === 'string' ? ({ event }: ProgramEvent) => event === which : which;
    const found = await this.#until(() => this.events.slice(after).find(isIt), withinMs);
    if (found !== undefined) return found;
    const how = this.ending === undefined ? `within ${withinMs} ms` : 'before it ended';
    throw new Error(`${this.name} did not say ${called} ${how}`);
  }

  /** Something it logged. */
  logged(part: string, waiting: Waiting = {}): Promise<ProgramEvent> {
    const isIt = ({ event, message }: ProgramEvent): boolean =>
      event === 'log' && String(message).includes(part);
    return this.event(isIt, { called: `"${part}"`, ...waiting });
  }

  /** Something on its error output, where the command line logs. */
  wrote(part: string): Promise<true> {
    return until(`${this.name} writes "${part}"`, () => this.stderr.includes(part) || undefined);
  }

  async ask(command: string, facts: object = {}): Promise<Reply> {
    return (await this.askTimed(command, facts)).reply;
  }

  async askTimed(command: string, facts: object = {}): Promise<Answered> {
    const [answer] = this.askAtOnce([command, facts]);
    return answer as Promise<Answered>;
  }

  /** In one piece, so that they queue up. */
  askAtOnce(...requests: readonly (readonly [command: string, facts: object])[]): Promise<Answered>[] {
    const askedMs = nowMs();
    let text = '';
    const answers = requests.map(([command, facts]) => {
      const id = (this.#lastId += 1);
      text += `${JSON.stringify({ id, command, facts })}\n`;
      return new Promise<Answered>((resolve, reject) => {
        this.#waiting.set(id, (reply) => resolve({ reply, askedMs, answeredMs: nowMs() }));
        void this.ended.then(() => reject(new Error(`${this.name} ended while asked for ${command}`)));
      });
    });
    this.#child.stdin?.write(text);
    return answers;
  }

  /** As on a keyboard: `\x03` is Ctrl-C. */
  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  signal(signal: NodeJS.Signals): void {
    if (this.ending === undefined && this.pid > 0) process.kill(this.pid, signal);
  }

  /** Ends it, whatever it does, and everything that was in front of it. */
  async kill(): Promise<void> {
    if (this.ending !== undefined) return;
    try {
      this.signal('SIGKILL');
    } catch {
      // It has just gone by itself.
    }
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** All that it wrote, to its output and to its error output. */
  get said(): string {
    return `${this.#stdout}${this.stderr}`;
  }

  /** What it said last, for a failure. */
  transcript(): string {
    const shown = this.events.slice(-EVENTS_SHOWN).map((event) => `  ${JSON.stringify(event)}`);
    const end = this.ending === undefined ? 'runs' : `ended by ${this.ending.signal ?? this.ending.code}`;
    return [`${this.name} (${end}):`, ...shown, this.stderr.slice(-STDERR_SHOWN)].join('\n');
  }

  #listen(): void {
    let rest = '';
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#hear(JSON.parse(line) as Record<string, unknown>);
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    // It may end while it is being spoken to; its end says so.
    this.#child.stdin?.on('error', () => {});
  }

  #hear(said: Record<string, unknown>): void {
    if ('reply' in said) {
      const id = Number(said['reply']);
      this.#waiting.get(id)?.(said as Reply);
      this.#waiting.delete(id);
      return;
    }
    this.events.push({ ...said, heardMs: nowMs() } as ProgramEvent);
    this.#look();
  }

  #over(ending: Ending, resolve: (ending: Ending) => void): void {
    // What libfaketime leaves behind when its process is killed.
    for (const name of [`faketime_shm_${this.pid}`, `sem.faketime_sem_${this.pid}`]) {
      rmSync(`/dev/shm/${name}`, { force: true });
    }
    this.ending = ending;
    resolve(ending);
    this.#look();
  }

  #look(): void {
    for (const look of this.#looking) look();
  }

  #until<T>(ask: () => T | undefined, withinMs: number): Promise<T | undefined> {
    return new Promise((resolve) => {
      const look = (): void => {
        const answer = ask();
        if (answer === undefined && this.ending === undefined) return;
        settle(answer);
      };
      const settle = (answer: T | undefined): void => {
        clearTimeout(timer);
        this.#looking.delete(look);
        resolve(answer);
      };
      const timer = setTimeout(() => settle(undefined), withinMs);
      this.#looking.add(look);
      look();
    });
  }
}

/** Without an echo: what is typed would stand between the lines that the program says. */
function behindTerminal(line: readonly string[]): readonly string[] {
  const quoted = line.map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  return ['script', '--quiet', '--return', '--command', `stty -echo; exec ${quoted.join(' ')}`, '/dev/null'];
}
