/**
 * Finds the owner of a key, calls the owner, and calls the next one if that was not the owner: the loop of every
 * caller.
 *
 *     find ──► call ──► answer
 *       ▲        │ refused before any work, or never reached
 *       └─ wait ◄┘ a little, longer each time; or until the table says something else
 *
 * **Nothing is done twice.** A call is repeated only if the call cannot have had an effect: the server refused before
 * any work (`isMisdirected`), or no connection to the server came about. After anything else, a broken connection, a
 * time-out, an answer that the lease was lost, the work may have run. The failure then goes to the caller, unless the
 * caller has said that the call is `idempotent`.
 *
 * **A weak call** goes on to the next who may know something of the key: its last owner, then any other, as often as it takes.
 *
 * The wait grows from 20 to 250 ms, by half more or less at random, so that callers of an owner that died do not
 * come back all at once.
 */

import { deadline } from '../../../runtime/deadline.ts';
import { isCoded } from '../../../runtime/errors.ts';
import type { Key } from '../../../runtime/keys/hash.ts';
import * as is from '../../../runtime/option-kinds.ts';
import { type OptionTable, optional, or, resolveOptions } from '../../../runtime/option-table.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { notServed } from '../errors.ts';
import { isMisdirected, mayHaveRun } from '../http-answer.ts';

/** The owner of a key, as a look-up knows it. */
export interface FoundOwner {
  readonly url: string;
  readonly name: string;
  readonly incarnation: string;
  /** The lease number, for the owner to compare. 0 of an owner that was named only because `weak` was asked for: nobody ever holds a key under 0. */
  readonly number: number;
}

/** What `lookup.find` takes besides the key. */
export interface WeakOption {
  /**
   * Weak consistency: names an owner also when nobody can say who the owner is: the last one heard of, then any other. Such an answer has the number 0,
   * and whoever is asked may know nothing of the key, or something old.
   *
   * @default false
   */
  weak?: boolean | undefined;
}

/** How `lookup.call` looks for an owner, and for how long. */
export interface LookupCallOptions {
  /** Gives up. Part of the signal that the call gets. */
  signal?: AbortSignal | undefined;

  /** How long to try, in milliseconds; the signal that the call gets aborts then. @default 15_000 */
  timeoutMs?: number | undefined;

  /** How often to call at most. @default any number of times */
  maxAttempts?: number | undefined;

  /** The call may be repeated although the first attempt may have had an effect. @default false */
  idempotent?: boolean | undefined;

  /** Weak consistency: calls somebody also when nobody can say who the owner is, as {@link WeakOption} of `lookup.find` says. @default false */
  weak?: boolean | undefined;
}

/** One request to the owner. The signal aborts when the time is over, or when the caller's own does. */
export type OwnerCall<T> = (owner: FoundOwner, signal: AbortSignal) => Promise<T> | T;

/** @internal */
export interface CallDependencies {
  readonly runtime: Runtime;
  find(key: Key): FoundOwner | undefined;
  /** The owner, or else the best other one to ask; none of those that were tried. */
  findWeakly(key: Key, tried: ReadonlySet<string>): FoundOwner | undefined;
  /** Why no owner is found, if a Manager has said. */
  whyNone(): unknown;
  /** Resolves after this time, or as soon as another owner, or the same under another number, is found. */
  otherThan(owner: FoundOwner | undefined, key: Key, withinMs: number, signal: AbortSignal): Promise<void>;
}

/** @internal */
export const WEAK_OPTION: OptionTable<WeakOption, 'weak'> = { weak: or(false, is.flag) };

/** @internal */
export const CALL_OPTIONS: OptionTable<
  LookupCallOptions,
  'timeoutMs' | 'maxAttempts' | 'idempotent' | 'weak'
> = {
  signal: optional(is.signal),
  timeoutMs: or(15_000, is.timeLimit),
  maxAttempts: or(Number.POSITIVE_INFINITY, is.from(1, Number.POSITIVE_INFINITY), 'any number'),
  idempotent: or(false, is.flag),
  weak: or(false, is.flag),
};

const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 250;

/** @internal */
export async function callOwner<T>(
  key: Key,
  call: OwnerCall<T>,
  options: LookupCallOptions,
  around: CallDependencies,
): Promise<T> {
  const { signal, timeoutMs, maxAttempts, idempotent, weak } = resolveOptions('', options, CALL_OPTIONS);
  signal?.throwIfAborted();
  using time = deadline(around.runtime, timeoutMs, signal);
  let waitMs = FIRST_WAIT_MS;
  let last: unknown;
  let mayHaveRun = false;
  const tried = new Set<string>();
  for (let made = 0; !time.isOver && made < maxAttempts; ) {
    const known = around.find(key);
    const owner = weak ? around.findWeakly(key, tried) : known;
    if (owner === undefined) tried.clear();
    else {
      made += 1;
      tried.add(owner.incarnation);
      const outcome = await attempted(call, owner, time.signal, idempotent);
      if (outcome.kind === 'done') return outcome.result;
      last = outcome.why;
      mayHaveRun ||= outcome.mayHaveRun;
      signal?.throwIfAborted();
    }
    const pauseMs = waitMs * (0.5 + around.runtime.random());
    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    if (made < maxAttempts)
      await around.otherThan(known, key, pauseMs, time.signal).catch(unless(() => time.isOver));
  }
  throw notServed(key, mayHaveRun, last ?? around.whyNone());
}

type Outcome<T> =
  | { readonly kind: 'done'; readonly result: T }
  | { readonly kind: 'again'; readonly why: unknown; readonly mayHaveRun: boolean };

/** @throws the error of the call, if the call may have had an effect and must not be repeated */
async function attempted<T>(
  call: OwnerCall<T>,
  owner: FoundOwner,
  signal: AbortSignal,
  idempotent: boolean,
): Promise<Outcome<T>> {
  try {
    const result = await call(owner, signal);
    const isRefused = isMisdirected(result);
    if (!isRefused && !(idempotent && mayHaveRun(result))) return { kind: 'done', result };
    discard(result);
    return { kind: 'again', why: undefined, mayHaveRun: !isRefused };
  } catch (error) {
    const hasNotRun = isMisdirected(error) || neverArrived(error);
    if (!hasNotRun && (!idempotent || isFinal(error))) throw error;
    return { kind: 'again', why: error, mayHaveRun: !hasNotRun };
  }
}

/** An unread body would keep the connection busy: of `fetch`, of undici, of `node:http`. */
function discard(answer: unknown): void {
  const { body } = Object(answer) as { readonly body?: unknown };
  for (const stream of [body, answer]) {
    const { cancel, resume } = Object(stream) as { readonly cancel?: unknown; readonly resume?: unknown };
    if (typeof cancel === 'function') return void Promise.resolve(cancel.call(stream)).catch(() => {});
    if (typeof resume === 'function') return void resume.call(stream);
  }
}

/** An error of ours that will be the same next time: a lost lease, for one, is found at another owner. */
const isFinal = (error: unknown): boolean => isCoded(error) && !error.retryable && error.isOutcomeKnown;

/** No connection came about, so nothing was sent: the name was not found, nobody listened, the network was in the way. */
function neverArrived(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { syscall, code, cause } = error as { syscall?: unknown; code?: unknown; cause?: unknown };
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(neverArrived);
  if (syscall === 'connect' || syscall === 'getaddrinfo' || code === 'UND_ERR_CONNECT_TIMEOUT') return true;
  return cause !== undefined && neverArrived(cause);
}

const unless =
  (isExpected: () => boolean) =>
  (error: unknown): void => {
    if (!isExpected()) throw error;
  };
