/**
 * Which signals `flease hold` hands on to the command, with which `flease hold` shares the process group on a
 * terminal.
 *
 * All that mean something to a command, each once. A key on the terminal is the exception: Ctrl-C and Ctrl-\ go to the
 * whole foreground group, so the command has had the signal already, and many take a second one for "now, at once". So
 * in the foreground the first signal is kept back; from the second on they are handed on, because a user that repeats
 * the signal, by key or by `kill`, means it.
 */

import type { Signal } from 'leasehold/internal';

export const FORWARDED: readonly Signal[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];

const KEYS: ReadonlySet<Signal> = new Set<Signal>(['SIGINT', 'SIGQUIT']);

export class SignalPolicy {
  readonly #keptBack = new Set<Signal>();

  /** Whether to hand this one on. */
  forwards(signal: Signal, inForeground: boolean): boolean {
    if (!KEYS.has(signal) || !inForeground || this.#keptBack.has(signal)) return true;
    this.#keptBack.add(signal);
    return false;
  }
}
