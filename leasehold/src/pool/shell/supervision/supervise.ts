/**
 * The supervisor: starts a command, and when it has died says so to the Managers, so that what it
 * held is free in milliseconds instead of when its lease has run out.
 *
 *     supervisor  start ─┬── secret ──► child                 reaped ├── certificate ──► Managers
 *                        └─ connects to the Managers                 │ ◄── certified ──┤
 *     child              ├── joins with the digest ── … ── kill -9 ──┤                 exit, as the child did
 *
 * *A certificate is sent only after the kernel has said that the child is no more*, and its secret was
 * used by the child alone (`handover.ts`). Not before, not on a guess: a child that does not answer, or
 * a line that broke, proves nothing. What a dead process sent before it died may still arrive
 * somewhere; that is so after every kind of death, and what lease numbers are for.
 *
 * Should the supervisor itself die, even by `kill -9`, the child lives on and keeps its leases: nobody
 * else knows the secret, so nothing will be certified, and its end is noticed by its lease.
 *
 * It stays until a Manager has confirmed, so that no certificate is lost with it, or until a deadline:
 * at once if the child never took the secret, for then it had no lease that this secret could free; after
 * a few seconds if no Manager was reached in all that time (`certifier.ts`). Whoever waits is told so.
 * As process 1 of a container it does not reap orphans of the command: let an init do that.
 */

import { type Child, CHILD_DESCRIPTOR, exitCodeOf, startChild } from '../../../node/child.ts';
import { randomId } from '../../../node/id.ts';
import { ownProcess } from '../../../node/own-process.ts';
import { inTerminalForeground, onSignals, type Signal } from '../../../node/signals.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { Certification } from './certification.ts';
import { formatLetter, formatSummons, SUPERVISOR_VARIABLE, TAKEN } from './handover.ts';
import { ManagerLine } from './manager-line.ts';
import { FORWARDED, SignalPolicy } from './signal-policy.ts';
import type { SupervisedEnd } from './supervised-end.ts';

export interface SuperviseOptions {
  /** The program to start, without a shell. */
  command: string;
  args: readonly string[];

  /** The Managers, as `host:port`; a function is asked each time. */
  managers: readonly string[] | (() => readonly string[]);

  runtime: Runtime;
  logger: Logger;

  /** What the command has in its environment beside what we have. */
  environment?: Readonly<Record<string, string>> | undefined;

  /** Told when the command runs. */
  onChild?: ((child: SupervisedChild) => void) | undefined;

  /** How long to tell the Managers when none answers, in milliseconds; see {@link UNREACHED_FOR_MS}. @default 10_000 */
  certifyForMs?: number | undefined;

  /** Whether signals that this process is sent are for the command. @default true */
  forwardSignals?: boolean | undefined;
}

/** How long at most if no Manager was ever reached: more than a dialler's longest pause, so that each is tried once more. */
const UNREACHED_FOR_MS = 3_000;

export interface SupervisedChild {
  readonly pid: number;
  kill(signal: Signal): void;
}

/**
 * Resolves when the command has ended and the Managers know, or will not hear of it any more.
 *
 * @throws {CommandError} if the command does not start; its `exitCode` is what to end with
 */
export async function supervise(options: SuperviseOptions): Promise<SupervisedEnd> {
  const { runtime, logger } = options;
  const managers = managersOf(options);
  const secret = randomId(32);
  await using line = new ManagerLine({
    ...{ managers, runtime, logger },
    onConnected: (manager) => certification.connected(manager),
  });
  using certification = new Certification({
    ...{ secret, managers, transport: line, runtime, logger, forMs: options.certifyForMs },
    unreachedForMs: UNREACHED_FOR_MS,
    onWait: ({ forMs, hasReached }) =>
      logger.warn(hasReached ? WAITS : WAITS_UNREACHED, {
        ...{ forMs: Math.round(forMs), managers: managers().join(',') },
      }),
  });
  using signals = new SignalDesk(options, certification);
  const child = await startChild({
    ...{ command: options.command, args: options.args },
    environment: { ...options.environment, [SUPERVISOR_VARIABLE]: summons() },
  });
  child.say(formatLetter({ childPid: child.pid, secret }));
  signals.started(child);
  logger.info('started', { command: options.command, pid: child.pid });
  options.onChild?.({ pid: child.pid, kill: (signal) => child.kill(signal) });

  const end = await child.ended;
  signals.ended();
  const tookProof = child.heard().startsWith(TAKEN);
  if (tookProof) certification.died();
  logger.info('ended', { command: options.command, pid: child.pid, code: end.code, signal: end.signal });
  const exitCode = exitCodeOf(end);
  if (!tookProof) {
    logger.info('it never joined a pool itself, so there is no death to certify', { pid: child.pid });
    return { ...end, exitCode, death: 'not-needed' };
  }
  const outcome = await certification.outcome;
  return { ...end, exitCode, death: outcome === 'certified' ? 'certified' : 'ran-out' };
}

const WAITS =
  'the command has ended, and no Manager has confirmed it yet; telling them again until one does, so that what it held is free before its lease has run out. Ctrl-C ends the wait within 2 s, a second one at once';
const WAITS_UNREACHED =
  'the command has ended, and no Manager has been reached in all that time; trying each once more. Ctrl-C ends the wait within 2 s, a second one at once';

const managersOf = ({ managers }: SuperviseOptions): (() => readonly string[]) =>
  typeof managers === 'function' ? managers : () => managers;

function summons(): string {
  const { pid, pidNamespace } = ownProcess();
  return formatSummons({ supervisorPid: pid, pidNamespace, descriptor: CHILD_DESCRIPTOR });
}

/** Where signals arrive: they are for the child while it lives, and then for us, who outstay it. */
class SignalDesk implements Disposable {
  readonly #policy = new SignalPolicy();
  readonly #certification: Certification;
  readonly #logger: Logger;
  readonly #arriving: Disposable | undefined;
  #child: Child | 'starting' | 'ended' = 'starting';
  /** What came while it was starting. */
  #early: Signal[] = [];

  constructor({ forwardSignals, logger }: SuperviseOptions, certification: Certification) {
    this.#certification = certification;
    this.#logger = logger;
    if (forwardSignals !== false) this.#arriving = onSignals(FORWARDED, (signal) => this.#arrived(signal));
  }

  started(child: Child): void {
    this.#child = child;
    for (const signal of this.#early) this.#arrived(signal);
    this.#early = [];
  }

  ended(): void {
    this.#child = 'ended';
  }

  [Symbol.dispose](): void {
    this.#arriving?.[Symbol.dispose]();
  }

  #arrived(signal: Signal): void {
    if (this.#child === 'starting') {
      this.#early.push(signal);
      return;
    }
    if (this.#child === 'ended') {
      this.#certification.hurry();
      return;
    }
    const isHandedOn = this.#policy.forwards(signal, inTerminalForeground());
    this.#logger.debug('signal', { signal, isHandedOn });
    if (isHandedOn) this.#child.kill(signal);
  }
}
