/** A program that does not start, with what a shell would end with and what to do about it. */

import { LeaseholdError } from '../runtime/errors.ts';

/** The command did not start. `exitCode` is what a shell would end with. */
export class CommandError extends LeaseholdError {
  override readonly name = 'CommandError';
  readonly code: 'COMMAND_NOT_FOUND' | 'COMMAND_NOT_STARTED';
  readonly retryable = false;
  readonly command: string;
  readonly exitCode: 126 | 127;

  private constructor(command: string, reason: string, cause?: unknown) {
    const isMissing = reason === MISSING || reason === NO_FOLDER;
    super(`"${command}" ${whatToDo(reason)}`, cause === undefined ? {} : { cause });
    this.command = command;
    this.code = isMissing ? 'COMMAND_NOT_FOUND' : 'COMMAND_NOT_STARTED';
    this.exitCode = isMissing ? 127 : 126;
  }

  /** Nobody has tried: there is nothing of that name to start. */
  static notFound(command: string): CommandError {
    return new CommandError(command, MISSING);
  }

  /** Nobody has tried: it is a folder, or something else that we may not execute. */
  static notExecutable(command: string): CommandError {
    return new CommandError(command, NOT_ALLOWED);
  }

  /** It was tried, and this was thrown. */
  static of(command: string, cause: unknown): CommandError {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    return new CommandError(command, reason, cause);
  }
}

/** What the system says of a program that is not there. */
const MISSING = 'ENOENT';
/** And of one in a folder that is none. */
const NO_FOLDER = 'ENOTDIR';
/** What it says of a program that is not for us, and of a folder. */
const NOT_ALLOWED = 'EACCES';

function whatToDo(reason: string): string {
  switch (reason) {
    case MISSING:
    case NO_FOLDER:
      return 'was not found; check its spelling and PATH, or give its whole path (a shell\'s own commands need sh -c "…")';
    case NOT_ALLOWED:
      return 'may not be executed; chmod +x it, or name the program that runs it (node server.js)';
    case 'ENOEXEC':
      return 'is not a program; name the program that runs it (node server.js), or begin it with #!';
    case 'E2BIG':
      return 'could not be started: its arguments and its environment are more than the system allows (E2BIG); hand it a file instead';
    default:
      return `could not be started: ${reason}`;
  }
}
