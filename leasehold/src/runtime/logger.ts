/**
 * Where a running process says what happens to it. Four methods, so that pino, winston or the
 * console can be handed in as they are wrapped in one line; facts are flat, so that they can be
 * searched for.
 */

import type { TraceValue } from './trace.ts';

export type LogFacts = Readonly<Record<string, TraceValue>>;

export interface Logger {
  /** What one reads when looking for a fault: every change of state. */
  debug(message: string, facts?: LogFacts): void;
  /** What an operator wants to have read a day later. */
  info(message: string, facts?: LogFacts): void;
  /** Something was lost or refused, and it goes on; or that is over, for those who read no more than this. */
  warn(message: string, facts?: LogFacts): void;
  /** It does not go on without somebody. */
  error(message: string, facts?: LogFacts): void;
}

/** For a line that is not said each time: how often it was not; undefined if it always was. */
export const unsaid = (times: number): string | undefined =>
  times === 0 ? undefined : `${times === 1 ? 'once' : `${times} times`} more since this was last said`;

const nothing = (): void => {};

export const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
