/** A program that does not start, with what a shell would end with and what to do about it. */

import { LeaseholdError } from '../runtime/errors.ts';

/** The command did not start. `exitCode` is what a shell would end with. */
export class CommandError extends LeaseholdError {
  override readonly name = 'CommandError';
  readonly code: 'COMMAND_NOT_FOUND' | 'COMMAND_NOT_STARTED';
  readonly retryable = false;
  readonly command: string;
  readonly exitCode: 126 | 127;

  private constructor(command: string, reason: string, about: About = {}) {
    const { interpreter, cause } = about;
    const isMissing = reason === MISSING || reason === NO_FOLDER;
    const advice = interpreter === undefined ? whatToDo(reason) : whatToDoWithout(interpreter, isMissing);
    super(`"${command}" ${advice}`, cause === undefined ? {} : { cause });
    this.command = command;
    this.code = isMissing ? 'COMMAND_NOT_FOUND' : 'COMMAND_NOT_STARTED';
    this.exitCode = isMissing ? 127 : 126;
  }

  /** Nobody has tried: there is nothing of that name to start; or, if it is a script, nothing of its interpreter's. */
  static notFound(command: string, interpreter?: string): CommandError {
    return new CommandError(command, MISSING, { interpreter });
  }

  /** Nobody has tried: it, or its interpreter, is a folder, or something else that we may not execute. */
  static notExecutable(command: string, interpreter?: string): CommandError {
    return new CommandError(command, NOT_ALLOWED, { interpreter });
  }

  /** It was tried, and this was thrown. */
  static of(command: string, cause: unknown): CommandError {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    return new CommandError(command, reason, { cause });
  }
}

interface About {
  /** Which a script asks for in its first line, and which is what is the matter. */
  readonly interpreter?: string | undefined;
  readonly cause?: unknown;
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

function whatToDoWithout(interpreter: string, isMissing: boolean): string {
  const what = `asks in its first line (#!) for ${JSON.stringify(interpreter)}, which ${isMissing ? 'was not found' : 'may not be executed'}`;
  return interpreter.endsWith('\r')
    ? `${what}: that line ends as on Windows; save the script with line ends of Unix (CR LF to LF)`
    : `${what}; mend that line, or name the program that runs it (sh script.sh)`;
}
