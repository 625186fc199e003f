/**
 * What can go wrong for an application that uses the pool. `code` is the contract (`docs/errors.md`
 * has them all); every message says what to do next.
 */

import { LeaseholdError } from '../../runtime/errors.ts';
import type { Key } from '../../runtime/keys/hash.ts';

const shown = (key: Key): string => (typeof key === 'string' ? JSON.stringify(key) : `position ${key}`);

/**
 * The key is not held here, or not yet. Nothing was done; ask a look-up who has it and send the
 * request there (over HTTP, answer 421).
 */
export class NotOwnerError extends LeaseholdError {
  override readonly name = 'NotOwnerError';
  readonly code = 'NOT_OWNER';
  readonly retryable = true;
  readonly key: Key;

  constructor(key: Key) {
    super(`${shown(key)} is not owned by this process: find its owner with a look-up and ask there`);
    this.key = key;
  }
}

/**
 * The key was held when the work began, and cannot be shown to have been held all along. What the
 * work did may overlap with what the next owner does; do not answer with its result.
 */
export class LeaseLostError extends LeaseholdError {
  override readonly name = 'LeaseLostError';
  readonly code = 'LEASE_LOST';
  readonly retryable = true;
  readonly key: Key;
  readonly number: number;

  constructor(key: Key, number: number, options?: ErrorOptions) {
    super(
      `the lease on ${shown(key)} (number ${number}) was lost while it was in use: discard the result and let the caller retry`,
      options,
    );
    this.key = key;
    this.number = number;
  }
}

/**
 * Guarded work on a key called `guard` for the same key. One works on a key at a time, so it would wait for
 * itself. Nothing was begun; hand `held` to what is called, or call `guard` when the work is over.
 */
export class GuardWithinGuardError extends LeaseholdError {
  override readonly name = 'GuardWithinGuardError';
  readonly code = 'GUARD_WITHIN_GUARD';
  readonly retryable = false;
  readonly key: Key;

  constructor(key: Key) {
    super(
      `guard(${shown(key)}) was called from within guarded work on ${shown(key)}, and would wait for that to end: hand what the work was given (held) to what it calls`,
    );
    this.key = key;
  }
}

/** No Manager answered in time. Nothing was joined or opened; see what each address said. */
export class ManagersUnreachableError extends LeaseholdError {
  override readonly name = 'ManagersUnreachableError';
  readonly code = 'MANAGERS_UNREACHABLE';
  readonly retryable = true;
  readonly managers: readonly string[];

  constructor(managers: readonly string[], waitedMs: number, problems: ReadonlyMap<string, Error>) {
    const each = managers.map((address) => `${address} (${problems.get(address)?.message ?? 'no answer'})`);
    super(
      `no Manager answered within ${Math.round(waitedMs)} ms: ${each.join(', ')}. Is one running (leasehold manager), and is this its address?`,
      { cause: problems.values().next().value },
    );
    this.managers = managers;
  }
}

/** A Manager answered, and said no. */
export class RefusedError extends LeaseholdError {
  override readonly name = 'RefusedError';
  /** `UNKNOWN_POOL`, `URL_IN_USE`: what the Manager has against it. */
  readonly code: string;
  readonly retryable: boolean;

  constructor(code: string, message: string, retryable: boolean) {
    super(message);
    this.code = code;
    this.retryable = retryable;
  }
}

const ANEW = {
  'the owner': 'join the pool again (joinPool)',
  'the look-up': 'open another (openLookup)',
  'the Manager': 'start it again (startManager)',
} as const;

/** This owner, look-up or Manager was closed. Join, open or start again. */
export class ClosedError extends LeaseholdError {
  override readonly name = 'ClosedError';
  readonly code = 'CLOSED';
  readonly retryable = false;

  constructor(what: keyof typeof ANEW) {
    super(`${what} was closed, so it cannot be used any more; ${ANEW[what]}`);
  }
}

const ANOTHER = 'Start another one on the same etcd first (leasehold manager --store)';

/** No other Manager can lead instead, or none has taken over in time. This one goes on. */
export class AloneError extends LeaseholdError {
  override readonly name = 'AloneError';
  readonly code = 'ALONE';
  readonly retryable = true;

  constructor(why: string, advice: string = ANOTHER) {
    super(`this Manager cannot step down: ${why}. ${advice}`);
  }
}
