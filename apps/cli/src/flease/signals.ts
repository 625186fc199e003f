/**
 * What to do with signals while a command runs under a lease, or is to. Before it runs they end the waiting. While it
 * runs they are for it, as if nobody stood in between. After it has ended there is only the lease to be given back, and
 * whoever cannot wait for that is not made to: it runs out by itself.
 */

import process from 'node:process';
import { SignalEchoes } from '../../../../leasehold/src/node/signal-echoes.ts';
import {
  inTerminalForeground,
  onSignals,
  type Signal,
  signalNumber,
} from '../../../../leasehold/src/node/signals.ts';
import { FORWARDED, SignalPolicy } from '../../../../leasehold/src/pool/shell/supervision/signal-policy.ts';

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

  /** What a shell would end with, if the waiting was ended. */
  get exitCode(): number | undefined {
    return this.#interruption === undefined ? undefined : 128 + signalNumber(this.#interruption);
  }

  /**
   * From here on they are for the command, and so is one that came while it was started; until the result is disposed
   * of.
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
