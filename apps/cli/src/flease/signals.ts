/**
 * The treatment of signals around a command under a lease. Before the command runs, signals end the waiting. While the
 * command runs, signals are passed to the command, as if nobody stood in between. After the command has ended, only
 * the release of the lease is left, and a user who cannot wait for that need not: the lease expires by itself.
 */

import process from 'node:process';
import { SignalEchoes, inTerminalForeground, onSignals, type Signal, signalNumber } from 'leasehold/internal';
import { FORWARDED, SignalPolicy } from './signal-policy.ts';

export class CommandSignals implements Disposable {
  readonly #policy = new SignalPolicy();
  readonly #echoes = new SignalEchoes();
  readonly #waiting = new AbortController();
  readonly #arriving: Disposable;
  #child: ((signal: Signal) => void) | undefined;
  #interruption: Signal | undefined;

  constructor() {
    this.#arriving = onSignals(FORWARDED, (signal) => this.#arrived(signal));
  }

  /** Aborts when somebody wants the waiting to end. */
  get waiting(): AbortSignal {
    return this.#waiting.signal;
  }

  /** The exit code that a shell would give, if the waiting was ended. */
  get exitCode(): number | undefined {
    return this.#interruption === undefined ? undefined : 128 + signalNumber(this.#interruption);
  }

  /**
   * From here on signals are for the command, and so is a signal that came while the command was started; until the
   * result is disposed of.
   */
  handTo(child: (signal: Signal) => void): Disposable {
    this.#child = child;
    if (this.#interruption !== undefined) child(this.#interruption);
    return { [Symbol.dispose]: () => (this.#child = undefined) };
  }

  [Symbol.dispose](): void {
    this.#arriving[Symbol.dispose]();
  }

  #arrived(signal: Signal): void {
    if (this.#echoes.isEcho(signal, performance.now()) && inTerminalForeground()) return;
    if (this.#child !== undefined) {
      if (this.#policy.forwards(signal, inTerminalForeground())) this.#child(signal);
      return;
    }
    if (this.#interruption !== undefined) process.exit(128 + signalNumber(signal));
    this.#interruption = signal;
    this.#waiting.abort();
  }
}
