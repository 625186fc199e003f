/**
 * A command that runs for as long as a lease is held, and no longer.
 *
 *     lease    ├──────────── renewed ────────────┤ grace │ over: others may have it
 *     command  ├──────────── runs ───────────────┤       │
 *                                          SIGTERM       SIGKILL
 *
 * If the lease could not be renewed the command is asked to end while it still has the lease, and killed when it has it
 * no more; if the lease is over at once, because the clock was set, it is killed at once (`held-process.ts`).
 *
 * Should this process be killed itself, a small watchman outlives it and does the same; and should it only stand still,
 * stopped by a signal or by a terminal that takes no more of what it says, the watchman kills the command at the end of
 * the lease as it was told of last, which it is at every renewal (`watchman.ts`). It knows of the command before that
 * begins (`started-process.ts`).
 *
 * So whoever is next finds the command gone, unless all of them were killed together, or stood still together, as on a
 * machine that is suspended: a lease cannot stop what nobody is there to stop, and that is what the number in
 * `LEASEHOLD_NUMBER` is for.
 */

import type { FleaseLease } from 'leasehold/flease';
import type { Logger } from 'leasehold/supervisor';
import type { ResolvedFleaseDurations } from '../../../../leasehold/src/flease/options.ts';
import { exitCodeOf } from '../../../../leasehold/src/node/child.ts';
import { CommandEndedError, type Suspects } from './command-ended-error.ts';
import { HeldProcess, wakefulnessFor } from './held-process.ts';
import type { CommandSignals } from './signals.ts';
import { startWatched } from './started-process.ts';
import { Watchman } from './watchman.ts';

export interface HeldCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly lease: FleaseLease;
  /** Of the group. The notice is how long it may take to end when the lease is over anyway. */
  readonly durations: ResolvedFleaseDurations;
  /** Members that may be why the lease was lost, although we did not listen for so long. */
  readonly suspects: (deafForMs: number) => Suspects;
  readonly signals: CommandSignals;
  readonly logger: Logger;
}

/**
 * Resolves with what the command ended with, as a shell would say it.
 *
 * @throws {CommandError} if it does not start
 * @throws {CommandEndedError} if the lease was lost before it had ended
 */
export async function runHeld(held: HeldCommand): Promise<number> {
  const { command, lease, durations, suspects, signals, logger } = held;
  const { resource, number } = lease;
  const wakefulness = wakefulnessFor(durations); // To start it is part of the time that the lease is had.
  await using watchman = new Watchman(durations.noticeMs);
  const started = await startWatched(held, watchman);
  logger.info('holds it: the command is started', { resource, number, command, pid: started.pid });
  using _ = signals.handTo((signal) => started.kill(signal));
  using running = new HeldProcess({ started, watchman, lease, durations, logger, wakefulness });
  const { end, lost } = await running.ended();
  if (lost === undefined) return exitCodeOf(end);
  throw new CommandEndedError(command, { ...lost, suspects: suspects(lost.stoodStillMs) });
}
