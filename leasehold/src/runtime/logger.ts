/**
 * Where a running process logs events. Four methods, so that pino, winston or the console can be handed in as they are
 * wrapped in one line; facts are flat, so that they can be searched for.
 */

import type { TraceValue } from './trace.ts';

/** What a line of the log is about, as plain data. */
export type LogFacts = Readonly<Record<string, TraceValue>>;

/** Where lines of the log go. Any logger with these three methods fits, such as pino or the console. */
export interface Logger {
  /** For finding a fault: every change of state. */
  debug(message: string, facts?: LogFacts): void;
  /** For an operator who reads a day later. */
  info(message: string, facts?: LogFacts): void;
  /**
   * Something was lost or refused, and the process goes on; or such an episode is over, for readers of warnings only.
   */
  warn(message: string, facts?: LogFacts): void;
  /** The process does not go on without an operator. */
  error(message: string, facts?: LogFacts): void;
}

/** For a line that is not printed each time: how often the line was left out; undefined if never. */
export const unsaid = (times: number): string | undefined =>
  times === 0 ? undefined : `${times === 1 ? 'once' : `${times} times`} more since this was last said`;

const nothing = (): void => {};

/** A logger that says nothing. */
export const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
