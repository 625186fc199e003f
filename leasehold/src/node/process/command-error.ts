/** A program that does not start, with a shell's exit code and the advice. */

import { InvalidArgumentError } from '../../runtime/errors.ts';

/** The command did not start. `exitCode` is the exit code of a shell. */
export class CommandError extends InvalidArgumentError {
  readonly exitCode: 126 | 127;

  private constructor(command: string, reason: string, about: About = {}) {
    const { interpreter, cause } = about;
    const isMissing = reason === MISSING || reason === NO_FOLDER;
    const advice = interpreter === undefined ? whatToDo(reason) : whatToDoWithout(interpreter, isMissing);
    const code = isMissing ? 'COMMAND_NOT_FOUND' : 'COMMAND_NOT_STARTED';
    const exitCode = isMissing ? 127 : 126;
    super(code, `"${command}" ${advice}`, {
      ...(cause === undefined ? {} : { cause }),
      details: { command, exitCode },
    });
    this.exitCode = exitCode;
  }

  /** Before any attempt: there is no program of that name; or, for a script, no such interpreter. */
  static notFound(command: string, interpreter?: string): CommandError {
    return new CommandError(command, MISSING, { interpreter });
  }

  /** Before any attempt: the program, or the interpreter, is a folder, or another file that we may not execute. */
  static notExecutable(command: string, interpreter?: string): CommandError {
    return new CommandError(command, NOT_ALLOWED, { interpreter });
  }

  /** An attempt failed with this error. */
  static of(command: string, cause: unknown): CommandError {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    return new CommandError(command, reason, { cause });
  }
}

interface About {
  /** The interpreter of the script's first line, if the interpreter has the fault. */
  readonly interpreter?: string | undefined;
  readonly cause?: unknown;
}

/** The system's code for a missing program. */
const MISSING = 'ENOENT';
/** And of one in a folder that is none. */
const NO_FOLDER = 'ENOTDIR';
/** The system's code for a program without permission, and for a folder. */
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
