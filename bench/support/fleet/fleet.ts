/** The fleet as the measurement sees it: a process to give commands to. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';

export type FleetCommand =
  | {
      readonly do: 'grow';
      readonly port: number;
      readonly owners: number;
      readonly lookups: number;
      /** Where look-ups are, one after the other, if not all at that port. */
      readonly lookupPorts?: readonly number[];
    }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'churn'; readonly port: number; readonly everyMs: number; readonly forMs: number }
  | { readonly do: 'restart-all'; readonly port: number; readonly withinMs: number }
  | { readonly do: 'spread'; readonly port: number; readonly times: number };

export interface FleetAnswer {
  readonly deaths?: number;
  readonly delaysMs?: readonly number[];
  /** All that the present clients have received. */
  readonly bytesIn?: number;
}

export class Pinned implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly #name: string;

  /** On one core, if this machine has `taskset`. */
  constructor(bundle: string, core: number, args: readonly string[] = []) {
    this.#name = bundle;
    this.child = spawn(
      'taskset',
      ['-c', String(core), process.execPath, '--max-old-space-size=12000', bundle, ...args],
      {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      },
    );
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error(`${this.#name} could not be started`);
    return pid;
  }

  /** The next message; fails if the process ends first. */
  heard<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        this.child.off('message', hear);
        this.child.off('exit', end);
        act();
      };
      const hear = (message: T & { readonly error?: string }): void =>
        settle(() => (message.error === undefined ? resolve(message) : reject(new Error(message.error))));
      const end = (code: number | null): void =>
        settle(() => reject(new Error(`${this.#name} ended with ${String(code)}`)));
      this.child.once('message', hear);
      this.child.once('exit', end);
    });
  }

  async perform(command: FleetCommand): Promise<FleetAnswer> {
    this.child.send(command);
    return this.heard<FleetAnswer>();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}
