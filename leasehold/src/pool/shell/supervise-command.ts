/**
 * A supervisor in a running process: `superviseCommand`, and the options. The supervisor's work and safety are argued
 * in `supervision/supervise.ts`; this file finds the Managers.
 */

import { CommandError } from '../../node/command-error.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { warnings } from '../../node/warnings.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { type ManagerAddresses, resolveAddresses } from './addresses.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { supervise } from './supervision/supervise.ts';
import type { SupervisedEnd } from './supervision/supervised-end.ts';

export { CommandError };

export interface SupervisedProcess {
  readonly pid: number;
}

export interface SuperviseCommandOptions {
  /** The program to start, without a shell. */
  command: string;

  /** @default [] */
  args?: readonly string[] | undefined;

  /** Where the Managers are. @default LEASEHOLD_MANAGERS, LEASEHOLD_MANAGERS_FILE, 127.0.0.1:7400 */
  managers?: ManagerAddresses | undefined;

  /** Variables for the command's environment, added to ours. */
  environment?: Readonly<Record<string, string>> | undefined;

  /** Told when the command runs. */
  onChild?: ((child: SupervisedProcess) => void) | undefined;

  /**
   * How long to tell the Managers of the command's death when none answers, in milliseconds; three seconds at most if
   * none was reached during the command's life. Longer than a hold is of little use: by then the keys are free.
   *
   * @default 10_000
   */
  certifyForMs?: number | undefined;

  /**
   * Whether signals to this process are for the command, which then leads a process group of its own. If false, the
   * command shares our group, and gets the signals to the group.
   *
   * @default true
   */
  forwardSignals?: boolean | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<SuperviseCommandOptions> = {
  ...{ command: true, args: true, managers: true, environment: true, onChild: true },
  ...{ certifyForMs: true, forwardSignals: true, logger: true },
};

/**
 * Resolves when the command has ended and the Managers know, or when the attempts to tell them have ended.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {CommandError} if the command does not start; end with the error's `exitCode`
 */
export async function superviseCommand(options: SuperviseCommandOptions): Promise<SupervisedEnd> {
  checkOptionNames('', options, OPTIONS);
  const { managers, args = [], certifyForMs, logger = warnings, ...rest } = options;
  if (certifyForMs !== undefined && !(certifyForMs >= 0)) {
    throw new InvalidOptionError('certifyForMs', certifyForMs, 'it must be a number of milliseconds');
  }
  const runtime = nodeRuntime();
  using addresses = await resolveAddresses(managers, runtime, logger);
  return await supervise({
    ...{ ...rest, args, certifyForMs, runtime, logger },
    managers: () => addresses.current,
  });
}
