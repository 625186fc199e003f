/**
 * A command that runs for as long as a lease is held, and no longer.
 *
 *     lease    ├──────────── renewed ────────────┤ grace │ over: others may acquire
 *     command  ├──────────── runs ───────────────┤       │
 *                                          SIGTERM       SIGKILL
 *
 * If the lease could not be renewed, the command is asked to end while the lease is still held, and killed at the end
 * of the lease; if the lease is over at once, because the clock was set, the command is killed at once
 * (`held-process.ts`).
 *
 * If this process is killed, a small watchman outlives this process and does the same. If this process only stands
 * still, stopped by a signal or by a terminal that takes no more output, the watchman kills the command at the last
 * known end of the lease, which the watchman is told at every renewal (`watchman.ts`). The watchman knows of the
 * command before the command begins (`started-process.ts`).
 *
 * So the next holder finds the command gone, unless all of these processes were killed together, or stood still
 * together, as on a suspended machine. No lease can stop a command when no process is left to stop it; the number in
 * `LEASEHOLD_NUMBER` serves for that.
 */

import type { Lease } from 'leasehold/flease';
import type { Logger } from 'leasehold/supervisor';
import { type ResolvedFleaseDurations, exitCodeOf } from 'leasehold/internal';
import { commandEnded, type Suspects } from './command-ended.ts';
import { HeldProcess, wakefulnessFor } from './held-process.ts';
import type { CommandSignals } from './signals.ts';
import { startWatched } from './started-process.ts';
import { Watchman } from './watchman.ts';

export interface HeldCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly lease: Lease;
  /** Of the group. The notice is how long the command may take to end when the lease is over anyway. */
  readonly durations: ResolvedFleaseDurations;
  /** Members that may be why the lease was lost, although we did not listen for so long. */
  readonly suspects: (deafForMs: number) => Suspects;
  readonly signals: CommandSignals;
  readonly logger: Logger;
}

/**
 * Resolves with the exit code of the command, as a shell would give.
 *
 * @throws {CommandError} if the command does not start
 * @throws {LeaseLostError} if the lease was lost before the command had ended
 */
export async function runHeld(held: HeldCommand): Promise<number> {
  const { command, lease, durations, suspects, signals, logger } = held;
  const { resource, number } = lease;
  const wakefulness = wakefulnessFor(durations); // Starting the command is part of the time of the lease.
  await using watchman = new Watchman(durations.noticeMs);
  const started = await startWatched(held, watchman);
  logger.info('lease acquired: the command is started', { resource, number, command, pid: started.pid });
  using _ = signals.handTo((signal) => started.kill(signal));
  using running = new HeldProcess({ started, watchman, lease, durations, logger, wakefulness });
  const { end, lost } = await running.ended();
  if (lost === undefined) return exitCodeOf(end);
  throw commandEnded(command, { ...lost, suspects: suspects(lost.stoodStillMs) });
}
