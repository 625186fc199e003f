/**
 * The way into a pool, which owners and look-ups go alike: ask until a Manager has answered, but not for
 * ever, because a program that cannot start should say so and not hang.
 *
 * Whoever gives up should hear the best reason there is. The caller's own signal comes first: it was the
 * caller's wish. A refusal that time cannot mend is thrown at once. When the time is over, a refusal that
 * time might have mended says more than that nobody answered; and if nobody did, the error has what
 * happened at each address. Whatever it is, the one who asked has been closed before it is thrown, which
 * waits for nobody: it is thrown when the time is over, not when a Manager has heard of it.
 */

import { InvalidOptionError, type LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';
import { deadline } from '../../runtime/deadline.ts';
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
  /** When the caller began to wait. */
  readonly startedAt: Instant;
  readonly signal: AbortSignal | undefined;
  readonly addresses: { readonly current: readonly string[] };
  readonly dialer: {
    /** Why each address is not connected. */
    problems(): ReadonlyMap<string, LeaseholdError>;
    /** What was said there on connecting; undefined while it is not connected. */
    welcome(address: string): object | undefined;
  };
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
  const { runtime, withinMs, startedAt, signal, addresses, dialer } = options;
  using time = deadline(runtime, withinMs - (runtime.now() - startedAt), signal);
  try {
    using progress = sayingWhy(entrant, options);
    await entrant.entered(time.signal);
    progress.isOver();
    return entrant;
  } catch (error) {
    const problems = dialer.problems();
    await entrant.giveUp();
    if (!time.isOver || signal?.aborted) throw error;
    throw entrant.refusal ?? new ManagersUnreachableError(addresses.current, withinMs, problems);
  }
}

/** Says, after a little while and then again and again, what it is waiting for; and that it is over. */
function sayingWhy(entrant: Entrant, options: EnteringOptions): Disposable & { isOver(): void } {
  const { runtime, logger, withinMs, startedAt, addresses, dialer } = options;
  let timer: Disposable | undefined;
  let wasSaid = false;
  const waitedMs = (): number => Math.round(runtime.now() - startedAt);
  const sayAfter = (ms: number): void => {
    timer = runtime.wakeAt(later(runtime.now(), ms), () => {
      logger.warn('still waiting to be let in', {
        why: entrant.refusal?.message ?? whatIsInTheWay(addresses.current, dialer),
        waitedMs: waitedMs(),
        givesUpAfterMs: withinMs,
      });
      wasSaid = true;
      sayAfter(PROGRESS_EVERY_MS);
    });
  };
  sayAfter(PROGRESS_AFTER_MS);
  return {
    isOver: () => {
      if (wasSaid) logger.warn('was let in', { waitedMs: waitedMs() });
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}

/** One that is connected and says nothing may be as it should be: who stands by lets nobody in, nor does a leader that waits. */
function whatIsInTheWay(addresses: readonly string[], dialer: EnteringOptions['dialer']): string {
  const problems = dialer.problems();
  const connected = addresses.filter((address) => dialer.welcome(address) !== undefined);
  const others = addresses
    .filter((address) => !connected.includes(address))
    .map((address) => problems.get(address)?.message ?? `${address} is not connected yet`);
  const silence =
    connected.length === 0
      ? []
      : [
          `connected to ${connected.join(', ')}, without an answer: perhaps nobody leads yet, or whoever leads waits before it gives out keys`,
        ];
  return [...silence, ...others].join('; ');
}
