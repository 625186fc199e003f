/**
 * To which processes a supervisor hands a signal on, so that a server gets each signal once.
 *
 * Shells, `timeout`, container runtimes and terminals send a signal to a whole process group. A server in the
 * supervisor's group would get the signal from the sender and again from the supervisor, and most servers take the
 * second SIGTERM for "now, at once": they end in the middle of `close()`. The supervisor cannot tell a signal to the
 * group from one to itself alone, so the command leads a group of its own and hears of signals only through here:
 *
 *     sender ──SIGTERM──► group: npm, supervisor ──SIGTERM──► command's group: command, descendants
 *                              └──again──▲ an echo, dropped
 *
 *  - A key on the terminal (Ctrl-C, Ctrl-\) and a change of the terminal's size go to the whole foreground group, so
 *    they are handed to the command's whole group: a shell that waits for a child does nothing at a Ctrl-C that the
 *    child did not get.
 *  - Every other signal goes to the command alone. `npm` and many scripts hand such a signal on themselves, and their
 *    children would get two.
 *  - A shell without a trap dies of SIGTERM and leaves children behind. So when a command has ended after a signal to
 *    end, the rest of the group gets the same signal. A daemon that a command leaves behind by itself gets none.
 *  - A signal to end that comes again within a quarter of a second is an echo: a process between us and the sender,
 *    such as `npm run`, got the signal with us and hands it on (`signal-echoes.ts`).
 *  - Ctrl-Z is not handed on, but carried out: the command's group is orphaned in the sense of POSIX, and there a SIGTSTP is
 *    ignored. So the group is stopped, then the supervisor, and both go on at a SIGCONT.
 *
 * An init system that signals all processes of a service (systemd's `KillMode=control-group`, the default) looks at no
 * groups, and makes two signals of one. That cannot be seen from here: set `KillMode=mixed`.
 */

import { SignalEchoes } from '../../../node/process/signal-echoes.ts';
import type { Signal } from '../../../node/process/signals.ts';

export type Routing = 'dropped' | 'command' | 'group' | 'stops' | 'continues';

export interface Arrival {
  readonly nowMs: number;
  /** Whether a key on the terminal would be a signal to us. */
  readonly inForeground: boolean;
}

const ENDING: ReadonlySet<Signal> = new Set<Signal>(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']);
const FROM_TERMINAL: ReadonlySet<Signal> = new Set<Signal>(['SIGINT', 'SIGQUIT', 'SIGWINCH']);

export const ROUTED: readonly Signal[] = [
  ...ENDING,
  ...(['SIGUSR1', 'SIGUSR2', 'SIGWINCH', 'SIGTSTP', 'SIGCONT'] as const),
];

export class SignalRouter {
  readonly #echoes = new SignalEchoes();
  #leftToTell: Signal | undefined;

  /** The signal for the rest of the group when the command has ended; undefined: none. */
  get leftToTell(): Signal | undefined {
    return this.#leftToTell;
  }

  route(signal: Signal, { nowMs, inForeground }: Arrival): Routing {
    if (signal === 'SIGTSTP') return 'stops';
    if (signal === 'SIGCONT') return 'continues';
    if (ENDING.has(signal) && this.#echoes.isEcho(signal, nowMs)) return 'dropped';
    if (inForeground && FROM_TERMINAL.has(signal)) return 'group';
    if (ENDING.has(signal)) this.#leftToTell = signal;
    return 'command';
  }
}
