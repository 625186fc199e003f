/** The command line as a process of its own, for tests: the output, and the exit. */

import { type ChildProcess, spawn } from 'node:child_process';
import process from 'node:process';

let commandLine: Promise<string> | undefined;

/** Made once for all tests. */
const program = (): Promise<string> => (commandLine ??= bundled('apps/cli/src/main.ts'));

/** A module of ours as a program, by the path in the repository. */
export async function bundled(entry: string): Promise<string> {
  const script = new URL('../../../../scripts/bundle.mjs', import.meta.url).href;
  const { bundle } = (await import(script)) as { bundle(entry: string): Promise<string> };
  return bundle(entry);
}

export interface StartedOptions {
  readonly cwd?: string | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

export class Started implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly lines: string[] = [];
  readonly ended: Promise<number | string>;
  stdout = '';
  stderr = '';
  #isOver = false;
  #onNews: (() => void)[] = [];

  constructor(path: string, argv: readonly string[], { cwd, environment }: StartedOptions) {
    const inherited = { ...process.env };
    for (const name of Object.keys(inherited)) {
      if (name === 'NO_COLOR' || name.startsWith('LEASEHOLD_')) delete inherited[name];
    }
    this.child = spawn(process.execPath, [path, ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd,
      env: { ...inherited, ...environment },
    });
    let rest = '';
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      this.lines.push(...lines);
      this.#news();
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      this.#news();
    });
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        this.#isOver = true;
        resolve(code ?? signal ?? '');
        this.#news();
      });
    });
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** Resolves with the first result of `look` on the output so far. */
  async until<T>(what: string, look: () => T | undefined): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      if (this.#isOver) throw new Error(`it ended without ${what}:\n${this.stdout}\n${this.stderr}`);
      await new Promise<void>((resolve) => this.#onNews.push(resolve));
    }
  }

  /** The first line of JSON that is so. */
  json<T>(what: string, isIt: (value: T) => boolean): Promise<T> {
    let seen = 0;
    return this.until(what, () => {
      for (; seen < this.lines.length; ) {
        const value = JSON.parse(this.lines[seen++] ?? '') as T;
        if (isIt(value)) return value;
      }
      return undefined;
    });
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    this.child.kill(signal);
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOver) await this.stop('SIGKILL');
  }

  #news(): void {
    for (const tell of this.#onNews.splice(0)) tell();
  }
}

export const start = async (argv: readonly string[], options: StartedOptions = {}): Promise<Started> =>
  new Started(await program(), argv, options);

export interface Ran {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the process to the end. */
export async function run(argv: readonly string[], options: StartedOptions = {}): Promise<Ran> {
  await using started = await start(argv, options);
  const code = await started.ended;
  return { code, stdout: started.stdout, stderr: started.stderr };
}

/** Where a Manager listens, by the Manager's first line. */
export interface ManagerPlace {
  readonly address: string;
  readonly http: string;
  readonly pid: number;
  readonly directory: string | null;
}

/** A Manager on free ports. */
export async function startManager(
  argv: readonly string[] = ['--memory', '--first-start'],
): Promise<{ readonly manager: Started; readonly place: ManagerPlace }> {
  const manager = await start([
    'manager',
    'start',
    '--listen',
    '127.0.0.1:0',
    '--http',
    '0',
    '--json',
    ...argv,
  ]);
  return { manager, place: await manager.json<ManagerPlace>('saying where it listens', () => true) };
}
