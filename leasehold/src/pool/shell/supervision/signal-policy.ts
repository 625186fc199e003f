/**
 * Which signals a supervisor hands on to its child.
 *
 * All that mean something to a server, each once. A key on the terminal is the exception: Ctrl-C and
 * Ctrl-\ go to the whole foreground group, so the child has had the signal already, and servers take a
 * second one for "now, at once". So in the foreground the first is kept back; from the second on they
 * are handed on, for whoever sends it again, by key or by `kill`, means it.
 *
 * An init system that signals all processes of a service (systemd's `KillMode=control-group`, its
 * default) makes two of one as well. That cannot be seen from here: set `KillMode=mixed`.
 */

import type { Signal } from '../../../node/signals.ts';

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
