/**
 * The process of a command, which somebody watches before it begins:
 *
 *     gate      ├── closed ────────────────┤ open: the command begins
 *     watchman       ├── is told of it ──┤ watches
 *
 * So there is no instant at which we could be killed and the command be left alone, unless it has to do without the
 * gate (`gate.ts`) or there is no watchman (`watchman.ts`). It starts all the same then, and that nobody watches is
 * said.
 *
 * If the lease is lost, what the command has started is ended with it: it leads a group of its own. Not on a terminal, though, where a group
 * of its own could not be typed to; there a script that wants its children to go with it has to say so itself.
 */

import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import process from 'node:process';
import type { FleaseLease } from 'leasehold/flease';
import { CommandError, type Logger } from 'leasehold/supervisor';
import type { ChildEnd } from '../../../../leasehold/src/node/child.ts';
import { inTerminalForeground, type Signal } from '../../../../leasehold/src/node/signals.ts';
import { behindGateIfItFits } from './gate.ts';
import type { Watchman } from './watchman.ts';

export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly lease: FleaseLease;
  readonly logger: Logger;
}

/** @throws {CommandError} if it does not start */
export async function startWatched(start: Start, watchman: Watchman): Promise<StartedProcess> {
  const { command, args, lease, logger } = start;
  const isGroup = !inTerminalForeground();
  const { number, resource } = lease;
  const env = { ...process.env, LEASEHOLD_NUMBER: String(number), LEASEHOLD_RESOURCE: resource };
  const options = { env, detached: isGroup };
  const gated = watchman.isThere ? behindGateIfItFits(command, args, options) : undefined;
  const child = gated?.child ?? spawned(command, args, options);
  const started = new StartedProcess(command, child, isGroup, logger);
  const unwatched = (): void =>
    logger.warn('nobody watches: should this process be killed or stand still, the command may go on', {
      command,
    });
  const watched = started.target === undefined ? undefined : watchman.watch(started.target, unwatched);
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) => reject(CommandError.of(command, cause)));
  });
  if (!(await watched)) unwatched();
  watchman.allow(lease.leftMs);
  // If it was lost meanwhile, whoever asks for the signal next ends what waits there.
  if (lease.isHeld()) gated?.open();
  return started;
}

/** Some of what can be wrong is thrown, the rest is an event. @throws {CommandError} */
function spawned(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(command, args, { ...options, stdio: 'inherit' });
  } catch (cause) {
    throw CommandError.of(command, cause);
  }
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
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }));
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whom to send a signal: it or, if it leads a group, all of that. Undefined if it did not start. */
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
      if (code === 'ESRCH') return; // All of it is gone.
      if (code !== 'EPERM') throw error;
      // It has become another user's.
      this.#logger.error('the command cannot be sent a signal: this user may not', { command, pid, signal });
    }
  }
}
