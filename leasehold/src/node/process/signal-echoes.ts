/**
 * Signals that come twice for one key. A terminal sends Ctrl-C to all processes in the foreground; `npm run` is among
 * them, and hands the signal on to processes that already have the signal. A process that takes a second signal for
 * "now, at once" would end at once for a single key. Nobody presses a key twice as fast as that.
 */

import type { Signal } from './signals.ts';

/** npm does so within a few milliseconds, on a machine that is not busy. */
const ECHO_MS = 250;

export class SignalEchoes {
  readonly #echoMs: number;
  readonly #lastMs = new Map<Signal, number>();

  constructor(echoMs: number = ECHO_MS) {
    this.#echoMs = echoMs;
  }

  /** Whether the signal is the echo of one that came just before; a signal of another kind never is. */
  isEcho(signal: Signal, nowMs: number): boolean {
    const lastMs = this.#lastMs.get(signal) ?? Number.NEGATIVE_INFINITY;
    if (nowMs - lastMs < this.#echoMs) return true;
    this.#lastMs.set(signal, nowMs);
    return false;
  }
}
