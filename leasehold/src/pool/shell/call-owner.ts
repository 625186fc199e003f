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
 * The wait grows from 20 to 250 ms, by half more or less at random, so that callers of an owner that died do not
 * come back all at once.
 */

import { deadline } from '../../runtime/deadline.ts';
import { isCoded } from '../../runtime/errors.ts';
import type { Key } from '../../runtime/keys/hash.ts';
import * as is from '../../runtime/option-kinds.ts';
import { type OptionTable, optional, or, resolveOptions } from '../../runtime/option-table.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { NotServedError } from './errors.ts';
import { isMisdirected, mayHaveRun } from './http-answer.ts';
import type { FoundOwner } from './pool-lookup.ts';

export interface CallOptions {
  /** Gives up. Part of the signal that the call gets. */
  signal?: AbortSignal | undefined;

  /** How long to try, in milliseconds; the signal that the call gets aborts then. @default 15_000 */
  withinMs?: number | undefined;

  /** How often to call at most. @default any number of times */
  attempts?: number | undefined;

  /** The call may be repeated although the first attempt may have had an effect. @default false */
  idempotent?: boolean | undefined;
}

/** One request to the owner. The signal aborts when the time is over, or when the caller's own does. */
export type OwnerCall<T> = (owner: FoundOwner, signal: AbortSignal) => Promise<T> | T;

/** @internal */
export interface CallDependencies {
  readonly runtime: Runtime;
  find(key: Key): FoundOwner | undefined;
  /** Resolves after this time, or as soon as another owner, or the same under another number, is found. */
  otherThan(owner: FoundOwner | undefined, key: Key, withinMs: number, signal: AbortSignal): Promise<void>;
}

/** @internal */
export const CALL_OPTIONS: OptionTable<CallOptions, 'withinMs' | 'attempts' | 'idempotent'> = {
  signal: optional(is.signal),
  withinMs: or(15_000, is.timeLimit),
  attempts: or(Number.POSITIVE_INFINITY, is.from(1, Number.POSITIVE_INFINITY), 'any number'),
  idempotent: or(false, is.flag),
};

const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 250;

/** @internal */
export async function callOwner<T>(
  key: Key,
  call: OwnerCall<T>,
  options: CallOptions,
  around: CallDependencies,
): Promise<T> {
  const { signal, withinMs, attempts, idempotent } = resolveOptions('', options, CALL_OPTIONS);
  signal?.throwIfAborted();
  using time = deadline(around.runtime, withinMs, signal);
  let waitMs = FIRST_WAIT_MS;
  let last: unknown;
  for (let made = 0; !time.isOver && made < attempts; ) {
    const owner = around.find(key);
    if (owner !== undefined) {
      made += 1;
      const outcome = await attempted(call, owner, time.signal, idempotent);
      if (outcome.kind === 'done') return outcome.result;
      last = outcome.why;
      signal?.throwIfAborted();
    }
    const pauseMs = waitMs * (0.5 + around.runtime.random());
    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    if (made < attempts)
      await around.otherThan(owner, key, pauseMs, time.signal).catch(unless(() => time.isOver));
  }
  throw new NotServedError(key, idempotent, last);
}

type Outcome<T> =
  | { readonly kind: 'done'; readonly result: T }
  | { readonly kind: 'again'; readonly why: unknown };

/** @throws the error of the call, if the call may have had an effect and must not be repeated */
async function attempted<T>(
  call: OwnerCall<T>,
  owner: FoundOwner,
  signal: AbortSignal,
  idempotent: boolean,
): Promise<Outcome<T>> {
  try {
    const result = await call(owner, signal);
    if (!isMisdirected(result) && !(idempotent && mayHaveRun(result))) return { kind: 'done', result };
    discard(result);
    return { kind: 'again', why: undefined };
  } catch (error) {
    if (isMisdirected(error) || neverArrived(error) || (idempotent && !isFinal(error))) {
      return { kind: 'again', why: error };
    }
    throw error;
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

/** An error of ours that will be the same next time. */
const isFinal = (error: unknown): boolean => isCoded(error) && error.retryable === false;

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
