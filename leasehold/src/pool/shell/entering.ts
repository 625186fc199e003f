/**
 * The way into a pool, which owners and look-ups go alike: ask until a Manager has answered, but not for
 * ever, because a program that cannot start should say so and not hang.
 *
 * Whoever gives up should hear the best reason there is. The caller's own signal comes first: it was the
 * caller's wish. A refusal that time cannot mend is thrown at once. When the time is over, a refusal that
 * time might have mended says more than that nobody answered; and if nobody did, the error has what
 * happened at each address. Whatever it is, the one who asked has been closed before it is thrown.
 */

import { InvalidOptionError, type LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import { deadline } from './deadline.ts';
import { ManagersUnreachableError, type RefusedError } from './errors.ts';

/** An owner or a look-up that has just begun to ask. */
export interface Entrant {
  /** Resolves when it is in; rejects with a refusal that is final, or the reason of the signal. */
  entered(signal: AbortSignal): Promise<void>;
  /** What a Manager has against it, if one said so. */
  readonly refusal: RefusedError | undefined;
  giveUp(): Promise<void>;
}

export interface EnteringOptions {
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly withinMs: number;
  readonly signal: AbortSignal | undefined;
  readonly addresses: { readonly current: readonly string[] };
  /** Why each address is not connected. */
  readonly dialer: { problems(): ReadonlyMap<string, LeaseholdError> };
}

const WITHIN_MS = 30_000;
/** Somebody may be watching, and wonder. */
const PROGRESS_AFTER_MS = 2_000;
const PROGRESS_EVERY_MS = 5_000;

/** @throws {InvalidOptionError} */
export function withinOption(option: string, value: number | undefined): number {
  const withinMs = value ?? WITHIN_MS;
  if (withinMs > 0) return withinMs;
  throw new InvalidOptionError(option, withinMs, 'it must be a positive number of milliseconds');
}

/**
 * @throws {ManagersUnreachableError} if none answers in time; it says what each address did
 * @throws {RefusedError} if a Manager will not have it
 */
export async function enter<T extends Entrant>(entrant: T, options: EnteringOptions): Promise<T> {
  const { runtime, withinMs, signal, addresses, dialer } = options;
  using time = deadline(runtime, withinMs, signal);
  using _progress = sayingWhy(entrant, options);
  try {
    await entrant.entered(time.signal);
    return entrant;
  } catch (error) {
    const problems = dialer.problems();
    await entrant.giveUp();
    if (!time.isOver || signal?.aborted) throw error;
    throw entrant.refusal ?? new ManagersUnreachableError(addresses.current, withinMs, problems);
  }
}

/** Says, after a little while and then again and again, what it is waiting for. */
function sayingWhy(entrant: Entrant, options: EnteringOptions): Disposable {
  const { runtime, logger, withinMs, addresses, dialer } = options;
  const startedAt = runtime.now();
  let timer: Disposable | undefined;
  const sayAfter = (ms: number): void => {
    timer = runtime.wakeAt(later(runtime.now(), ms), () => {
      const problems = dialer.problems();
      const each = addresses.current.map(
        (address) => problems.get(address)?.message ?? `${address} is silent`,
      );
      logger.warn('still waiting to be let in', {
        why: entrant.refusal?.message ?? each.join('; '),
        waitedMs: Math.round(runtime.now() - startedAt),
        givesUpAfterMs: withinMs,
      });
      sayAfter(PROGRESS_EVERY_MS);
    });
  };
  sayAfter(PROGRESS_AFTER_MS);
  return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}
