/**
 * Ends a process, or a group of them, should we die first.
 *
 * It is a shell that listens to us. It is told whom to end, says that it knows, and in the end is told that all is
 * well. If its input ends before that, whoever should have said so is dead.
 */

import { type ChildProcess, spawn } from 'node:child_process';

/** Whoever died does not read its answer either; that must not be the end of it. */
const SCRIPT =
  'trap "" PIPE; read target || exit; echo watching; read _ && exit; kill -s TERM -- "$target" && sleep "$1"; kill -s KILL -- "$target"';

export class Watchman implements Disposable {
  readonly #child: ChildProcess;
  #word = '';

  /** @param graceMs how long whoever is told to end may take */
  constructor(graceMs: number) {
    const args = ['-c', SCRIPT, 'leasehold-watchman', String(graceMs / 1_000)];
    this.#child = spawn('/bin/sh', args, { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
    this.#child.on('error', () => {}); // Then nobody is there.
    this.#child.stdin?.on('error', () => {});
    this.#child.stdout?.on('error', () => {});
  }

  get isThere(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Resolves with true when it knows, and with false if nobody is there.
   *
   * @param target a process, or a group if negative
   */
  watch(target: number): Promise<boolean> {
    if (!this.isThere) return Promise.resolve(false);
    this.#word = 'done\n';
    this.#child.stdin?.write(`${target}\n`);
    return new Promise((resolve) => {
      this.#child.stdout?.once('data', () => resolve(true)).once('close', () => resolve(false));
    });
  }

  [Symbol.dispose](): void {
    this.#child.stdin?.end(this.#word);
  }
}
