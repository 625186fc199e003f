/** The time limit of a call that waits, which ends with our own error and not with that of a timer. */

import { deadline } from './deadline.ts';
import { invalidOption, type Module, UnavailableError } from './errors.ts';
import type { CallOptions } from './handle.ts';
import * as is from './option-kinds.ts';
import type { Runtime } from './runtime.ts';

/**
 * Waits with the signal of the call; without `timeoutMs` for as long as it takes.
 *
 * @param waitsFor what does not come about, for the error
 * @throws {InvalidArgumentError} before it waits, if the options are of a wrong kind
 * @throws {UnavailableError} `TIMEOUT` when the time is over: nothing was done
 */
export async function waitWithin<T>(
  runtime: Runtime,
  [module, waitsFor]: readonly [module: Module, waitsFor: string],
  { timeoutMs, signal }: CallOptions,
  wait: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0))
    throw invalidOption('timeoutMs', timeoutMs, 'it must be a number of milliseconds, of at least 0');
  if (signal !== undefined) is.signal.check('signal', signal);
  if (timeoutMs === undefined || timeoutMs === Number.POSITIVE_INFINITY) return await wait(signal);
  using time = deadline(runtime, timeoutMs, signal);
  try {
    return await wait(time.signal);
  } catch (error) {
    const isTime = time.isOver && signal?.aborted !== true && error === time.signal.reason;
    if (!isTime) throw error;
    const message = `${waitsFor} did not come about within ${timeoutMs} ms; try again`;
    throw new UnavailableError('TIMEOUT', message, { module, details: { timeoutMs } });
  }
}
