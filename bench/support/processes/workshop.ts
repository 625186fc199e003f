/**
 * Where a measurement with many processes takes place: a temporary directory and everything that was
 * started, all of which is gone when the measurement is over, has failed, or is broken off by Ctrl-C.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { BenchTools } from '../../../scripts/bench/bench.ts';
import { Program } from './program.ts';

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export class Workshop implements AsyncDisposable {
  readonly directory: string = mkdtempSync(join(tmpdir(), 'leasehold-bench-'));
  readonly #tools: BenchTools;
  readonly #programs = new Set<Program>();
  readonly #servers = new Set<ChildProcess>();
  readonly #exit = (): void => this.#clear();
  readonly #signal = (signal: keyof typeof SIGNALS): void => process.exit(SIGNALS[signal]);

  constructor(tools: BenchTools) {
    this.#tools = tools;
    process.on('exit', this.#exit);
    for (const signal of Object.keys(SIGNALS)) process.on(signal, this.#signal);
  }

  /** A directory of its own for one of them. */
  folder(name: string): string {
    const path = join(this.directory, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** Makes one file of a program in `bench/support/`, for {@link start}. */
  bundle(program: string): Promise<string> {
    return this.#tools.bundle(`bench/support/${program}.ts`);
  }

  start(name: string, bundle: string, config: object, under: readonly string[] = []): Program {
    const program = new Program(name, bundle, config, under);
    this.#programs.add(program);
    void program.ended.then(() => this.#programs.delete(program));
    return program;
  }

  /** A server that is not ours, by its process id. It is told nothing but its arguments, and what it says is not heard. */
  serve(command: string, args: readonly string[]): number {
    const server = spawn(command, args, { stdio: 'ignore' });
    this.#servers.add(server);
    // One that does not start is noticed by whoever wants to connect to it.
    server.on('error', () => this.#servers.delete(server));
    server.once('exit', () => this.#servers.delete(server));
    return server.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ends = [
      ...[...this.#programs].map(({ ended }) => ended),
      ...[...this.#servers].map((server) => new Promise((resolve) => server.once('exit', resolve))),
    ];
    for (const each of [...this.#programs, ...this.#servers]) each.kill('SIGKILL');
    await Promise.all(ends);
    this.#clear();
    process.off('exit', this.#exit);
    for (const signal of Object.keys(SIGNALS)) process.off(signal, this.#signal);
  }

  #clear(): void {
    for (const each of [...this.#programs, ...this.#servers]) each.kill('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A port that is free at the moment, for servers that cannot choose one themselves. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      server.close(() => (port === undefined ? reject(new Error('no port')) : resolve(port)));
    });
  });
}
