/**
 * Which process is this? What others can name it by, and what tells it apart from one that only
 * inherited its environment.
 *
 * A process number means something only within its pid namespace, so the two go together; where the
 * system has no namespaces there is only one, and it is `undefined`. The boot id names one run of one
 * kernel: two processes that read the same one share a kernel and its locks.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

export interface OwnProcess {
  readonly pid: number;
  /** As of now: it becomes another one when the parent dies. */
  readonly parentPid: number;
  readonly pidNamespace: string | undefined;
  readonly isMainThread: boolean;
}

export const ownProcess = (): OwnProcess => ({
  pid: process.pid,
  parentPid: process.ppid,
  pidNamespace: pidNamespace(),
  isMainThread,
});

/** What this run of this kernel is called; `undefined` where it has no name. */
export function bootId(): string | undefined {
  try {
    if (process.platform === 'darwin') {
      return named(execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }));
    }
    return named(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'));
  } catch {
    return undefined; // Neither here nor there: nothing can be proved by it, and nothing is.
  }
}

/** `4026531836`, out of `pid:[4026531836]`. */
function pidNamespace(): string | undefined {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0];
  } catch {
    return undefined; // No such file: a system without namespaces.
  }
}

const named = (text: string): string | undefined => (text.trim() === '' ? undefined : text.trim());
