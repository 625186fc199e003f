/**
 * The supervisor: starts a command, and tells the Managers of the command's death, so that the keys of the command are
 * free in milliseconds instead of at the end of the lease.
 *
 *     supervisor  start ─┬── secret ──► child                 reaped ├── certificate ──► Managers
 *                        └─ connects to the Managers                 │ ◄── certified ──┤
 *     child              ├── joins with the digest ── … ── kill -9 ──┤                 exit, as the child did
 *
 * *A certificate is sent only after the kernel has said that the child is no more*, and only the child used the secret
 * (`handover.ts`). Not before, not on a guess: a child that does not answer, or a line that broke, proves nothing.
 * Messages of a dead process may still arrive somewhere; that is so after every kind of death, and lease numbers serve
 * for that.
 *
 * Should the supervisor itself die, even by `kill -9`, nothing will be certified: nobody else knows the secret. But
 * the line through which the secret came ends with the supervisor, so the library in the child notices, and sends the
 * own process a SIGTERM (decision 0034). A server that does not end by that keeps the keys until the lease expires.
 *
 * The supervisor stays until a Manager has confirmed, so that no certificate is lost, or until a deadline: at once if
 * the child never took the secret, for then there was no lease that this secret could free; after a few seconds if no
 * Manager was reached in all that time (`certifier.ts`). A waiting user is told so. As process 1 of a container the
 * supervisor does not reap orphans of the command: let an init do that.
 */

import { CHILD_DESCRIPTOR, exitCodeOf, startChild } from '../../../node/process/child.ts';
import { randomId } from '../../../node/id.ts';
import type { DialSockets } from '../../../node/tcp/sockets.ts';
import { STAYS } from '../../../node/process/inherited-line.ts';
import { ownProcess } from '../../../node/process/own-process.ts';
import type { Signal } from '../../../node/process/signals.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { Certification } from './certification.ts';
import { formatLetter, formatSummons, SUPERVISOR_VARIABLE, TAKEN } from './handover.ts';
import { ManagerLine } from './manager-line.ts';
import { SignalDesk } from './signal-desk.ts';
import type { SupervisedEnd } from './supervised-end.ts';

export interface SuperviseChildOptions {
  /** The program to start, without a shell. */
  command: string;
  args: readonly string[];

  /** The Managers, as `host:port`; a function is asked each time. */
  managers: readonly string[] | (() => readonly string[]);

  /** @default plain sockets */
  secure?: DialSockets | undefined;

  runtime: Runtime;
  logger: Logger;

  /** Variables for the command's environment, added to ours. */
  environment?: Readonly<Record<string, string>> | undefined;

  /** Told when the command runs. */
  onChild?: ((child: SupervisedChild) => void) | undefined;

  /** How long to tell the Managers when none answers, in milliseconds; see {@link UNREACHED_FOR_MS}. @default 12_000 */
  certifyForMs?: number | undefined;

  /** Whether signals to this process are for the command, which then leads a group of its own. @default true */
  forwardSignals?: boolean | undefined;
}

/** How long at most if no Manager was ever reached: more than a dialler's longest pause, so that each is tried once more. */
const UNREACHED_FOR_MS = 3_000;

export interface SupervisedChild {
  readonly pid: number;
  kill(signal: Signal): void;
}

/**
 * Resolves when the command has ended and the Managers know, or when the attempts to tell them have ended.
 *
 * @throws {InvalidArgumentError} COMMAND_NOT_FOUND or COMMAND_NOT_STARTED if the command does not start; end with the error's `exitCode`
 */
export async function superviseChild(options: SuperviseChildOptions): Promise<SupervisedEnd> {
  const { runtime, logger } = options;
  const managers = managersOf(options);
  const secret = randomId(32);
  await using line = new ManagerLine({
    ...{ managers, secure: options.secure, runtime, logger },
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
  const { forwardSignals = true } = options;
  using signals = forwardSignals ? new SignalDesk(certification, runtime, logger) : undefined;
  const child = await startChild({
    ...{ command: options.command, args: options.args },
    environment: { ...options.environment, [SUPERVISOR_VARIABLE]: summons() },
    leadsGroup: forwardSignals,
  });
  child.say(`${formatLetter({ childPid: child.pid, secret })}${STAYS}`);
  signals?.started(child);
  logger.info('started', { command: options.command, pid: child.pid });
  options.onChild?.({ pid: child.pid, kill: (signal) => child.kill(signal) });

  const end = await child.ended;
  signals?.ended();
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
  'the command has ended, and no Manager has confirmed it yet; telling them again until one does, so that what it held is free before its lease expires. Ctrl-C ends the wait within 2 s, a second one at once';
const WAITS_UNREACHED =
  'the command has ended, and no Manager has been reached in all that time; trying each once more. Ctrl-C ends the wait within 2 s, a second one at once';

const managersOf = ({ managers }: SuperviseChildOptions): (() => readonly string[]) =>
  typeof managers === 'function' ? managers : () => managers;

function summons(): string {
  const { pid, pidNamespace } = ownProcess();
  return formatSummons({ supervisorPid: pid, pidNamespace, descriptor: CHILD_DESCRIPTOR });
}
