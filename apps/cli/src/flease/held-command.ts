/**
 * A command that runs for as long as a lease is held, and no longer.
 *
 *     lease    ├──────────── renewed ────────────┤ grace │ over: others may have it
 *     command  ├──────────── runs ───────────────┤       │
 *                                          SIGTERM       SIGKILL
 *
 * If the lease could not be renewed the command is asked to end while it still has the lease, and killed when it has
 * it no more; if the lease is over at once, because the clock was set, it is killed at once. Should this process be killed
 * itself, a small watchman outlives it and does the same; and should it only stand still, stopped by a signal or by a terminal
 * that takes no more of what it says, the watchman kills the command at the end of the lease as it was told of last, which it
 * is at every renewal (`watchman.ts`). The command waits behind a gate until the watchman knows of it, unless its environment
 * does not fit through (`gate.ts`). So whoever is next finds the command gone, unless all of them were killed together, or stood
 * still together, as on a machine that is suspended: a lease cannot stop what nobody is there to stop, and that is
 * what the number in `LEASEHOLD_NUMBER` is for.
 *
 * What the command has started is ended with it: it leads a group of its own. Not on a terminal, though, where a group of its
 * own could not be typed to; there a script that wants its children to go with it has to say so itself.
 */

import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import process from 'node:process';
import type { FleaseLease } from 'leasehold/flease';
import { CommandError, type Logger } from 'leasehold/supervisor';
import type { ResolvedFleaseDurations } from '../../../../leasehold/src/flease/options.ts';
import { exitCodeOf } from '../../../../leasehold/src/node/child.ts';
import { inTerminalForeground, type Signal } from '../../../../leasehold/src/node/signals.ts';
import { CommandEndedError, type Suspects } from './command-ended-error.ts';
import { behindGateIfItFits } from './gate.ts';
import type { CommandSignals } from './signals.ts';
import { Wakefulness } from './wakefulness.ts';
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
  const { command, lease, suspects, signals, logger } = held;
  const { noticeMs: graceMs, leaseMs, renewAfterMs, answerMs } = held.durations;
  const isGroup = !inTerminalForeground();
  const { resource, number } = lease;
  await using watchman = new Watchman(graceMs);
  const { child, ended } = await started(held, isGroup, watchman);
  logger.info('holds it: the command is started', { resource, number, command, pid: child.pid });
  const kill = (signal: Signal): void => {
    if (send(child, isGroup, signal)) return;
    logger.error('the command cannot be sent a signal: this user may not', {
      command,
      pid: child.pid,
      signal,
    });
  };
  using _ = signals.handTo(kill);
  const wakefulness = new Wakefulness({ leaseMs, renewalMs: renewAfterMs + answerMs });
  const looking = setInterval(() => wakefulness.look(), wakefulness.everyMs);
  using renewals = lease.onRenewal(() => {
    wakefulness.renewed();
    watchman.allow(lease.leftMs);
  });
  let lateness: NodeJS.Timeout | undefined;
  let hasOverslept: boolean | undefined;
  const lost = (): void => {
    renewals[Symbol.dispose](); // Should it be renewed after all, that is too late.
    hasOverslept = wakefulness.hasOverslept;
    const withinMs = Math.round(Math.min(lease.leftMs, graceMs));
    watchman.allow(withinMs);
    kill('SIGTERM');
    lateness = setTimeout(() => kill('SIGKILL'), withinMs);
    logger.warn('the lease is lost: the command is ended', { command, pid: child.pid, withinMs });
  };
  const { signal } = lease;
  if (signal.aborted) lost();
  else signal.addEventListener('abort', lost, { once: true });
  const end = await ended;
  clearTimeout(lateness);
  clearInterval(looking);
  signal.removeEventListener('abort', lost);
  // We may have stood still until the watchman killed it, and have gone on in time to renew the lease.
  const wasOverdue = end.signal === 'SIGKILL' && (await watchman.end());
  if (wasOverdue === undefined && !signal.aborted) {
    logger.warn('who killed the command is not known: the process that watches does not answer', { command });
  }
  // Read again, by the clock: it may have been over before any timer said so.
  if (signal.aborted || wasOverdue) {
    if (isGroup) kill('SIGKILL');
    const stoodStillMs = signal.aborted ? wakefulness.stoodStillMs : wakefulness.stoodStillLatelyMs;
    throw new CommandEndedError(command, {
      ...{ resource, number, reason: signal.reason, wasHeldToTheEnd: lease.isHeld() },
      ...{ stoodStillMs, hasOverslept: hasOverslept ?? wakefulness.hasOverslept },
      suspects: suspects(stoodStillMs),
    });
  }
  return exitCodeOf(end);
}

const NOBODY_WATCHES = 'nobody watches: should this process be killed or stand still, the command may go on';

interface Ended {
  readonly code: number | undefined;
  readonly signal: Signal | undefined;
}

async function started(
  { command, args, lease, logger }: HeldCommand,
  isGroup: boolean,
  watchman: Watchman,
): Promise<{ readonly child: ChildProcess; readonly ended: Promise<Ended> }> {
  const { number, resource } = lease;
  const env = { ...process.env, LEASEHOLD_NUMBER: String(number), LEASEHOLD_RESOURCE: resource };
  const options = { env, detached: isGroup };
  const gated = watchman.isThere ? behindGateIfItFits(command, args, options) : undefined;
  const child = gated?.child ?? spawned(command, args, options);
  const gone = (): void => logger.warn(NOBODY_WATCHES, { command });
  const watched =
    child.pid === undefined ? undefined : watchman.watch(isGroup ? -child.pid : child.pid, gone);
  const ended = new Promise<Ended>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) => reject(CommandError.of(command, cause)));
  });
  if (!(await watched)) gone();
  watchman.allow(lease.leftMs);
  // If it was lost meanwhile, whoever asks for the signal next ends what waits there.
  if (lease.isHeld()) gated?.open();
  return { child, ended };
}

/** Some of what can be wrong is thrown, the rest is an event. @throws {CommandError} */
function spawned(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  try {
    return spawn(command, args, { ...options, stdio: 'inherit' });
  } catch (cause) {
    throw CommandError.of(command, cause);
  }
}

/** To it and, if it leads a group, to all of that. False if we may not: it has become another user's. */
function send({ pid, exitCode, signalCode }: ChildProcess, isGroup: boolean, signal: Signal): boolean {
  const isGone = exitCode !== null || signalCode !== null;
  if (pid === undefined || (isGone && !isGroup)) return true;
  try {
    process.kill(isGroup ? -pid : pid, signal);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return true; // All of it is gone.
    if (code === 'EPERM') return false;
    throw error;
  }
}
