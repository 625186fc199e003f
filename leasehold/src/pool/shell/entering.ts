/**
 * The way into a pool, which owners and look-ups go alike: ask until a Manager has answered, but not for
 * ever, because a program that cannot start should say so and not hang.
 *
 * A caller that gives up should get the best reason there is. The caller's own signal comes first: the abort was the
 * caller's wish. A refusal that time cannot mend is thrown at once, and so is that of
 * a handshake, if every Manager refuses so. When the time is over, a refusal that time might
 * have mended says more than a missing answer; and without any answer, the error has the result of each address. In
 * every case the owner or look-up has been closed before the error is thrown, and closing waits for nobody: the error
 * is thrown when the time is over, not when a Manager has heard of the end.
 */

import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';
import { deadline } from '../../runtime/deadline.ts';
import { HandshakeRefusedError } from '../../node/tcp/errors.ts';
import { leaderIsElsewhere, managersUnreachable, refusal as refusalOf } from './errors.ts';

/** An owner or a look-up that has just begun to ask. */
export interface Entrant {
  /** Resolves when admitted; rejects with a refusal that is final, or the reason of the signal. */
  entered(signal: AbortSignal): Promise<void>;
  /** A Manager's refusal, if there was one. */
  readonly refusal: LeaseholdError | undefined;
  /** Standbys that named a leader which is not in the list of Managers, each with the leader's address. */
  readonly leadersElsewhere?: ReadonlyMap<string, string>;
  giveUp(): Promise<void>;
}

export interface EnteringOptions {
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly timeoutMs: number;
  /** When the caller began to wait. */
  readonly startedAt: Instant;
  readonly signal: AbortSignal | undefined;
  readonly addresses: { readonly current: readonly string[] };
  readonly dialer: {
    /** Why each address is not connected. */
    problems(): ReadonlyMap<string, LeaseholdError>;
    /** Aborts when every Manager refuses for good. */
    readonly refused: AbortSignal;
    /** The Manager's welcome on connecting; undefined while not connected. */
    welcome(address: string): object | undefined;
  };
}

/** How long to try by default. */
export const TIMEOUT_MS = 30_000;
/** Somebody may be watching, and wonder. */
const PROGRESS_AFTER_MS = 2_000;
const PROGRESS_EVERY_MS = 5_000;

/**
 * @throws {UnavailableError} if none answers in time, with the result of each address
 * @throws {RefusedError} if a Manager refuses
 * @throws {RefusedError} if Managers of the list lead different logs
 */
export async function enter<T extends Entrant>(entrant: T, options: EnteringOptions): Promise<T> {
  const { runtime, timeoutMs, startedAt, signal, addresses, dialer } = options;
  const given = signal === undefined ? dialer.refused : AbortSignal.any([signal, dialer.refused]);
  using time = deadline(runtime, timeoutMs - (runtime.now() - startedAt), given);
  try {
    using progress = sayingWhy(entrant, options);
    await entrant.entered(time.signal);
    progress.isOver();
    return entrant;
  } catch (error) {
    const problems = dialer.problems();
    await entrant.giveUp();
    if (!time.isOver || signal?.aborted) throw error;
    throw (
      gaveUp(entrant.refusal, timeoutMs) ??
      whyFull(problems) ??
      managersUnreachable(addresses.current, timeoutMs, problems, entrant.leadersElsewhere)
    );
  }
}

function gaveUp(refusal: Entrant['refusal'], timeoutMs: number): Entrant['refusal'] {
  if (refusal === undefined || refusal.code === 'MANAGERS_DISAGREE') return refusal;
  const { code, message, retryable } = refusal;
  return refusalOf(code, `gave up after ${timeoutMs} ms: ${message}`, retryable);
}

/** A Manager that is full has answered: the network is not at fault. */
function whyFull(problems: ReadonlyMap<string, LeaseholdError>): LeaseholdError | undefined {
  for (const [address, problem] of problems) {
    const isFull = problem instanceof HandshakeRefusedError && problem.reason === 'TOO_MANY_CONNECTIONS';
    if (isFull) return refusalOf('FULL', `the Manager at ${address} is full: ${problem.message}`, true);
  }
  return undefined;
}

/** Logs, after a little while and then again and again, the reason for the wait; and the end of the wait. */
function sayingWhy(entrant: Entrant, options: EnteringOptions): Disposable & { isOver(): void } {
  const { runtime, logger, timeoutMs, startedAt, addresses, dialer } = options;
  let timer: Disposable | undefined;
  let wasSaid = false;
  const waitedMs = (): number => Math.round(runtime.now() - startedAt);
  const sayAfter = (ms: number): void => {
    timer = runtime.wakeAt(later(runtime.now(), ms), () => {
      // The reason of a refusal was logged when the refusal began.
      const code = entrant.refusal?.code;
      const reason =
        code === undefined ? { why: whatIsInTheWay(entrant, addresses.current, dialer) } : { code };
      logger.warn('still waiting to be admitted', {
        ...reason,
        waitedMs: waitedMs(),
        givesUpAfterMs: timeoutMs,
      });
      wasSaid = true;
      sayAfter(PROGRESS_EVERY_MS);
    });
  };
  sayAfter(PROGRESS_AFTER_MS);
  return {
    isOver: () => {
      if (wasSaid) logger.warn('was admitted', { waitedMs: waitedMs() });
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}

/** A Manager that is connected and silent may be all right: a standby admits nobody, nor does a leader that waits. */
function whatIsInTheWay(
  { leadersElsewhere = new Map() }: Entrant,
  addresses: readonly string[],
  dialer: EnteringOptions['dialer'],
): string {
  const problems = dialer.problems();
  const isConnected = (address: string): boolean => dialer.welcome(address) !== undefined;
  const connected = addresses.filter((address) => isConnected(address) && !leadersElsewhere.has(address));
  const standbys = [...leadersElsewhere].map(([address, leader]) => leaderIsElsewhere(address, leader));
  const others = addresses
    .filter((address) => !isConnected(address))
    .map((address) => problems.get(address)?.message ?? `${address} is not connected yet`);
  const silence =
    connected.length === 0
      ? []
      : [
          `connected to ${connected.join(', ')}, without an answer: perhaps no Manager leads yet, or the leader waits for earlier leases to expire before it grants keys`,
        ];
  return [...standbys, ...silence, ...others].join('; ');
}
