/**
 * Signals to this process, and the other receivers of the same signal.
 *
 * A key like Ctrl-C is not meant for one process: the terminal sends a signal to the whole foreground group, and a
 * child in the group already has the signal. `kill` means one process alone. Node does not tell the two apart; but
 * only a group in the foreground of a terminal can have been signalled by a key.
 */

import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { isatty } from 'node:tty';

export type Signal = NodeJS.Signals;

/** Until disposed, these signals do not end this process; they are handed to `handle`. */
export function onSignals(signals: readonly Signal[], handle: (signal: Signal) => void): Disposable {
  for (const signal of signals) process.on(signal, handle);
  return {
    [Symbol.dispose]: () => {
      for (const signal of signals) process.off(signal, handle);
    },
  };
}

/** Stops this process as Ctrl-Z would have, had the signal not been handled. The process goes on at a SIGCONT. */
export const stopSelf = (): void => void process.kill(process.pid, 'SIGSTOP');

/** Tells this process to end, as `kill` would: the handlers of the program are called. */
export const askSelfToEnd = (): void => void process.kill(process.pid, 'SIGTERM');

/** 9 for SIGKILL. */
export const signalNumber = (signal: Signal): number => constants.signals[signal];

/** Whether a key on the terminal would be a signal to us and all of our group. */
export function inTerminalForeground(): boolean {
  let status: string;
  try {
    status = readFileSync('/proc/self/stat', 'utf8');
  } catch {
    return [0, 1, 2].some((descriptor) => isatty(descriptor)); // No such file: the best guess there is.
  }
  return isForeground(status);
}

/** By the text of `/proc/<pid>/stat`. The name of the program is in parentheses and may hold anything. */
export function isForeground(status: string): boolean {
  const [, , group, , terminal, foregroundGroup] = status
    .slice(status.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  return terminal !== undefined && terminal !== 0 && group === foregroundGroup;
}
