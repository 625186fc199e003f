/**
 * How a command ends when the request cannot be fulfilled: one sentence for the person, one code for the program, and
 * an exit code for the shell.
 *
 *     0  success
 *     1  failure
 *     2  the command line makes no sense: an unknown option, a wrong value, one that differs from the others'
 *     3  nobody answered: no Manager there, no member of a group, or no replica in time
 *     4  there is an answer, and no such thing: no such pool, no such key
 *     5  this process is not allowed to: its token does not grant it, or is none
 *    75  not now; a later attempt may succeed: a lease was not acquired in time, a change of a cell is under way, the Manager does not lead
 *    76  the lease was lost while the command ran, which was therefore ended
 *
 * The last two are far from the codes of usual programs, so that a command that ran under a lease can be told from one
 * that did not.
 */

import { type Command, CommanderError } from 'commander';
import { LeaseholdError, UnavailableError } from 'leasehold/manager';
import { CommandError } from 'leasehold/internal';
import { isNoMajority, printable, SingleError, withoutTokens } from 'leasehold/internal';
import { colorsFor, type Context } from './context.ts';
import { writeJson, writeLines, writeStyled } from './output.ts';
import { usageAdvice, usageSentence } from './usage.ts';

export const EXIT = {
  failure: 1,
  usage: 2,
  unreachable: 3,
  notFound: 4,
  notAllowed: 5,
  notNow: 75,
  lost: 76,
} as const;

const BY_CODE: Readonly<Record<string, number>> = {
  INVALID_KEY: EXIT.usage,
  INVALID_OPTION: EXIT.usage,
  INVALID_CONFIGURATION: EXIT.usage,
  INVALID_PARAMETER: EXIT.usage,
  USAGE: EXIT.usage,
  CONFIG_MISMATCH: EXIT.usage,
  NO_TOKEN: EXIT.usage,
  TOKEN_MALFORMED: EXIT.notAllowed,
  UNREACHABLE: EXIT.unreachable,
  MANAGERS_UNREACHABLE: EXIT.unreachable,
  TIMEOUT: EXIT.unreachable,
  UNKNOWN_POOL: EXIT.notFound,
  UNKNOWN_OWNER: EXIT.notFound,
  NOT_FOUND: EXIT.notFound,
  NOT_ALLOWED: EXIT.notAllowed,
  TOKEN_EXPIRED: EXIT.notAllowed,
  TLS_REQUIRED: EXIT.notAllowed,
  TLS_NOT_SPOKEN: EXIT.notAllowed,
  WRONG_CLUSTER: EXIT.notAllowed,
  NOT_A_SERVER: EXIT.notAllowed,
  ALONE: EXIT.notNow,
  BUSY: EXIT.notNow,
  CHANGE_PENDING: EXIT.notNow,
  DISK_FULL: EXIT.notNow,
  FULL: EXIT.notNow,
  GROUP_NOT_HERE: EXIT.notNow,
  LEASE_HELD: EXIT.notNow,
  NOT_A_MEMBER: EXIT.notNow,
  NOT_LEADING: EXIT.notNow,
  NOT_SERVED: EXIT.notNow,
  NO_MAJORITY: EXIT.notNow,
  NO_VIEW: EXIT.notNow,
  TOO_MANY_POOLS: EXIT.notNow,
  LEASE_LOST: EXIT.lost,
};

/** Time mends what is not available, unless the error says otherwise: a wrong password, for one. */
function exitCodeOf(error: LeaseholdError): number {
  const isForNow = error instanceof UnavailableError && error.retryable;
  return BY_CODE[error.code] ?? (isForNow ? EXIT.notNow : EXIT.failure);
}

/** The command line makes no sense. The message says why, and gives a correct form. */
export class UsageError extends SingleError {
  override readonly name = 'UsageError';
  readonly code = 'USAGE';
  readonly retryable = false;

  constructor(message: string, options?: ErrorOptions) {
    super(withoutTokens(message), options);
  }
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly exitCode: number;
  /** For a fault in the program itself, and on request. */
  readonly stack: string | undefined;
}

/** Undefined: no failure, help or the version was asked for. */
function failureOf(error: unknown, command: Command, isDebugging: boolean): Failure | undefined {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return undefined;
    const message = usageSentence(error, command);
    return { code: 'USAGE', message, exitCode: EXIT.usage, stack: undefined };
  }
  if (error instanceof LeaseholdError) {
    const exitCode = error instanceof CommandError ? error.exitCode : exitCodeOf(error);
    return {
      code: error.code,
      message: error.message,
      exitCode,
      stack: isDebugging ? error.stack : undefined,
    };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { code: 'INTERNAL', message, exitCode: EXIT.failure, stack };
}

/** The facts beside the words, for programs. */
function factsOf(error: unknown): object {
  if (isNoMajority(error)) return { reasons: error.details.reasons };
  const facts = error instanceof LeaseholdError && 'facts' in error ? error.facts : undefined;
  return typeof facts === 'object' && facts !== null ? facts : {};
}

/** Whether the same may be tried again, and whether it is known what was done. A wrong command line did nothing. */
function outcomeOf(error: unknown, code: string): object {
  if (!(error instanceof LeaseholdError)) return { retryable: false, isOutcomeKnown: code === 'USAGE' };
  const { retryable, isOutcomeKnown } = error;
  return { retryable, isOutcomeKnown };
}

/** Prints the failure of this command, and returns the exit code. */
export function report(error: unknown, command: Command, context: Context, isJson: boolean): number {
  const failure = failureOf(error, command, Boolean(context.environment['LEASEHOLD_DEBUG']));
  if (failure === undefined) return 0;
  const { code, message, exitCode, stack } = failure;
  if (isJson) {
    writeJson(context.err, { error: { ...factsOf(error), code, message, ...outcomeOf(error, code) } });
    return exitCode;
  }
  if (message === '(outputHelp)') return exitCode;
  const colors = colorsFor(context.err, context);
  const label = code === 'USAGE' ? '' : colors.dim(` (${printable(code)})`);
  writeStyled(context.err, [`${colors.red('leasehold:')} ${printable(message)}${label}`]);
  if (stack !== undefined) writeLines(context.err, stack.split('\n'));
  if (code === 'USAGE') writeLines(context.err, usageAdvice(error, command, context));
  return exitCode;
}
