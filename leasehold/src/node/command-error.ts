/** A program that does not start, with what a shell would end with and what to do about it. */

import { LeaseholdError } from '../runtime/errors.ts';

/** The command did not start. `exitCode` is what a shell would end with. */
export class CommandError extends LeaseholdError {
  override readonly name = 'CommandError';
  readonly code: 'COMMAND_NOT_FOUND' | 'COMMAND_NOT_STARTED';
  readonly retryable = false;
  readonly command: string;
  readonly exitCode: 126 | 127;

  constructor(command: string, cause: unknown) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    const isMissing = reason === 'ENOENT';
    super(`"${command}" ${whatToDo(reason)}`, { cause });
    this.command = command;
    this.code = isMissing ? 'COMMAND_NOT_FOUND' : 'COMMAND_NOT_STARTED';
    this.exitCode = isMissing ? 127 : 126;
  }
}

function whatToDo(reason: string): string {
  switch (reason) {
    case 'ENOENT':
      return 'was not found; check its spelling and PATH, or give its whole path (a shell\'s own commands need sh -c "…")';
    case 'EACCES':
      return 'may not be executed; chmod +x it, or name the program that runs it (node server.js)';
    case 'ENOEXEC':
      return 'is not a program; name the program that runs it (node server.js), or begin it with #!';
    default:
      return `could not be started: ${reason}`;
  }
}
