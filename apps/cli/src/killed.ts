/** The last word about a supervised command that was killed. */

import type { Logger, SupervisedEnd } from 'leasehold/supervisor';

const AFTERWARDS: Readonly<Record<SupervisedEnd['death'], string>> = {
  certified: 'what it held is free',
  'ran-out': 'what it held, if anything, is free when its lease has expired',
  'not-needed': 'it had joined no pool',
};

/** A user who sees a process end with 137 would otherwise have to know the meaning. */
export function sayIfKilled(
  logger: Logger,
  command: string,
  { signal, exitCode, death }: SupervisedEnd,
): void {
  if (signal === undefined) return;
  logger.warn(`killed by a signal; ${AFTERWARDS[death]}`, { command, signal, exitCode });
}
