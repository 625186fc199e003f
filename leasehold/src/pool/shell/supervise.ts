/**
 * A supervisor in a running process: `supervise`, and the options. The supervisor's work and safety are argued
 * in `supervision/supervise-child.ts`; this file finds the Managers.
 */

import { checkOwnRole } from '../../node/identity/gate.ts';
import { ANY } from '../../node/identity/grants.ts';
import { secureSocketsOf, TLS_ROW } from '../../node/mesh/tls-option.ts';
import type { Tls } from '../../runtime/handle.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { warnings } from '../../node/process/warnings.ts';
import type { Logger } from '../../runtime/logger.ts';
import { MANAGERS_ROW, type ManagerAddresses, resolveAddresses } from './addresses.ts';
import * as is from '../../runtime/option-kinds.ts';
import {
  type OptionTable,
  optional,
  or,
  required,
  resolveOptions,
  LOGGER_WORDS,
} from '../../runtime/option-table.ts';
import { CERTIFY_FOR_MS } from './supervision/certification.ts';
import { superviseChild } from './supervision/supervise-child.ts';
import type { SupervisedEnd } from './supervision/supervised-end.ts';

/** A process under supervision. Its death is proved to the Managers at once. */
export interface SupervisedProcess {
  readonly pid: number;
}

/** What `supervise` takes. */
export interface SuperviseOptions {
  /** The program to start, without a shell. */
  command: string;

  /** @default [] */
  args?: readonly string[] | undefined;

  /** Where the Managers are. @default LEASEHOLD_MANAGERS, LEASEHOLD_MANAGERS_FILE, 127.0.0.1:7400 */
  managers?: ManagerAddresses | undefined;

  /** As at the owners; the grant is `owner:pool`, for any pool. The command gets what its own environment says. @default the token of the environment; without one plain TCP */
  tls?: Tls | undefined;

  /** Variables for the command's environment, added to ours. */
  environment?: Readonly<Record<string, string>> | undefined;

  /** Told when the command runs. */
  onChild?: ((child: SupervisedProcess) => void) | undefined;

  /**
   * How long to tell the Managers of the command's death when none answers, in milliseconds; three seconds at most if
   * none was reached during the command's life. Longer than a hold is of little use: by then the keys are free.
   *
   * @default 12_000
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

/** @internal */
export const SUPERVISE_OPTIONS: OptionTable<SuperviseOptions, 'certifyForMs' | 'forwardSignals' | 'logger'> =
  {
    command: required(is.string),
    args: optional(is.anything()),
    managers: MANAGERS_ROW,
    tls: TLS_ROW,
    environment: optional(is.anything()),
    onChild: optional(is.callback()),
    certifyForMs: or(CERTIFY_FOR_MS, is.from(0)),
    forwardSignals: or(true, is.flag),
    logger: or(warnings, is.logger, LOGGER_WORDS),
  };

/**
 * Resolves when the command has ended and the Managers know, or when the attempts to tell them have ended.
 *
 * @throws {InvalidArgumentError} before anything has started
 * @throws {RefusedError} NOT_ALLOWED if the own token grants no pool
 * @throws {InvalidArgumentError} COMMAND_NOT_FOUND or COMMAND_NOT_STARTED if the command does not start; end with the error's `exitCode`
 */
export async function supervise(options: SuperviseOptions): Promise<SupervisedEnd> {
  const { managers, args = [], tls, logger, ...rest } = resolveOptions('', options, SUPERVISE_OPTIONS);
  const runtime = nodeRuntime();
  const secure = secureSocketsOf({ tls, logger }, runtime.wallMs());
  if (secure !== undefined) checkOwnRole({ module: 'pool', group: ANY }, 'owner', ANY, secure.own);
  using addresses = await resolveAddresses(managers, runtime, logger);
  return await superviseChild({
    ...{ ...rest, args, secure, runtime, logger },
    managers: () => addresses.current,
  });
}
