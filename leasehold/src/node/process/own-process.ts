/**
 * Which process is this? The identity for other processes, and the differences from a process that only inherited the
 * environment.
 *
 * A process number means something only within a pid namespace, so the two go together; where the system has no
 * namespaces the namespace is `undefined`. The boot id names one run of one kernel: two processes that read the same
 * boot id share a kernel and the kernel's locks.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

export interface OwnProcess {
  readonly pid: number;
  /** As of now: changes when the parent dies. */
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

/** The name of this run of this kernel; `undefined` where there is none. */
export function bootId(): string | undefined {
  try {
    if (process.platform === 'darwin') {
      return named(execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }));
    }
    return named(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'));
  } catch {
    return undefined; // Without a boot id nothing can be proved, and nothing is.
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

/** The number of the user as whom this process runs; undefined on systems without numbers. */
export const ownUser = (): number | undefined => process.getuid?.();

const named = (text: string): string | undefined => (text.trim() === '' ? undefined : text.trim());
