/**
 * The process of a command, which a watchman watches before the command begins:
 *
 *     gate      ├── closed ────────────────┤ open: the command begins
 *     watchman       ├── is informed ────┤ watches
 *
 * So there is no instant at which we could be killed and leave the command alone, unless the command has to do without
 * the gate (`gate.ts`) or there is no watchman (`watchman.ts`). The command starts all the same then, and a line says
 * that nobody watches.
 *
 * If the lease is lost, the descendants of the command are ended too: the command leads a group of its own. Not on a
 * terminal, though, where a group of its own would get no keys; there a script that wants its children to end too has
 * to see to that.
 */

import type { ChildProcess } from 'node:child_process';
import process from 'node:process';
import type { Lease } from 'leasehold/flease';
import type { Logger } from 'leasehold/supervisor';
import {
  type ChildEnd,
  endOf,
  inTerminalForeground,
  type Signal,
  spawnCommand,
  whenSpawned,
} from 'leasehold/internal';
import { behindGateIfItFits } from './gate.ts';
import type { Watchman } from './watchman.ts';

export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly lease: Lease;
  readonly logger: Logger;
}

/** @throws {CommandError} if the command does not start */
export async function startWatched(start: Start, watchman: Watchman): Promise<StartedProcess> {
  const { command, args, lease, logger } = start;
  const isGroup = !inTerminalForeground();
  const { number, resource } = lease;
  const env = { ...process.env, LEASEHOLD_NUMBER: String(number), LEASEHOLD_RESOURCE: resource };
  const options = { env, detached: isGroup };
  const gated = watchman.isThere ? behindGateIfItFits(command, args, options) : undefined;
  const child = gated?.child ?? spawnCommand(command, args, { ...options, stdio: 'inherit' });
  const started = new StartedProcess(command, child, isGroup, logger);
  const unwatched = (): void =>
    logger.warn(
      'no watchman runs: if this process is killed or stopped, the command may go on without the lease',
      {
        command,
      },
    );
  const watched = started.target === undefined ? undefined : watchman.watch(started.target, unwatched);
  await whenSpawned(child, command);
  if (!(await watched)) unwatched();
  watchman.allow(lease.leftMs);
  // If the lease was lost meanwhile, the next reader of the signal ends the waiting shell.
  if (lease.isHeld()) gated?.open();
  return started;
}

export class StartedProcess {
  readonly command: string;
  readonly ended: Promise<ChildEnd>;
  readonly #child: ChildProcess;
  readonly #isGroup: boolean;
  readonly #logger: Logger;

  constructor(command: string, child: ChildProcess, isGroup: boolean, logger: Logger) {
    this.command = command;
    this.#child = child;
    this.#isGroup = isGroup;
    this.#logger = logger;
    this.ended = endOf(child);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * The target of a signal: the process or, if the process leads a group, the whole group. Undefined if the process
   * did not start.
   */
  get target(): number | undefined {
    return this.pid !== undefined && this.#isGroup ? -this.pid : this.pid;
  }

  kill(signal: Signal): void {
    const { command, pid, target } = this;
    const { exitCode, signalCode } = this.#child;
    const isGone = exitCode !== null || signalCode !== null;
    if (target === undefined || (isGone && !this.#isGroup)) return;
    try {
      process.kill(target, signal);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ESRCH') return; // All processes are gone.
      if (code !== 'EPERM') throw error;
      // The process runs as another user now.
      this.#logger.error('the command cannot be sent a signal: this user may not', { command, pid, signal });
    }
  }
}
