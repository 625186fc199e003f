/**
 * Signals that come twice for one key. A terminal sends Ctrl-C to everybody in the foreground; `npm run` is among them,
 * and hands it on to whoever has had it already. Whoever takes a second one for "now, at once" would end at once for
 * a single key. Nobody presses a key twice as fast as that.
 */

import type { Signal } from './signals.ts';

/** npm does it within a few milliseconds, on a machine that has time. */
const ECHO_MS = 250;

export class SignalEchoes {
  readonly #lastMs = new Map<Signal, number>();

  /** Whether it is the echo of one that came just before; of another kind it never is. */
  isEcho(signal: Signal, nowMs: number): boolean {
    const lastMs = this.#lastMs.get(signal) ?? Number.NEGATIVE_INFINITY;
    if (nowMs - lastMs < ECHO_MS) return true;
    this.#lastMs.set(signal, nowMs);
    return false;
  }
}
