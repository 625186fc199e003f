/**
 * The errors for an application that uses the pool. `code` is the contract (`docs/errors.md` has them all); every
 * message says the next step.
 */

import { LeaseholdError } from '../../runtime/errors.ts';
import type { LedHistory } from '../history-watch.ts';
import type { Key } from '../../runtime/keys/hash.ts';

const shown = (key: Key): string => (typeof key === 'string' ? JSON.stringify(key) : `position ${key}`);

/**
 * The key is not held here, or not yet. Nothing was done; ask a look-up for the owner and send the request there (over
 * HTTP, `httpAnswer` gives the answer).
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
 * The key was held when the work began, and cannot be shown to have been held all along. The effects of the work may
 * overlap with those of the next owner; do not answer with the result.
 */
export class LeaseLostError extends LeaseholdError {
  override readonly name = 'LeaseLostError';
  readonly code = 'LEASE_LOST';
  readonly retryable = true;
  readonly key: Key;
  readonly number: number;

  constructor(key: Key, number: number, options?: ErrorOptions) {
    super(
      `the lease on ${shown(key)} (number ${number}) was lost while it was in use: discard the result, and tell the caller that the work may have run`,
      options,
    );
    this.key = key;
    this.number = number;
  }
}

/**
 * Guarded work on a key called `guard` for the same key. Only one work on a key runs at a time, so the inner call
 * would wait for itself. Nothing was begun; hand `held` to the called function, or call `guard` after the work.
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

export const leaderIsElsewhere = (standby: string, leader: string): string =>
  `the Manager at ${standby} is a standby of the leader at ${leader}, which is not in \`managers\`: list every Manager`;

/** No Manager answered in time. Nothing was joined or opened; see the result of each address. */
export class ManagersUnreachableError extends LeaseholdError {
  override readonly name = 'ManagersUnreachableError';
  readonly code = 'MANAGERS_UNREACHABLE';
  readonly retryable = true;
  readonly managers: readonly string[];

  constructor(
    managers: readonly string[],
    waitedMs: number,
    problems: ReadonlyMap<string, Error>,
    leadersElsewhere: ReadonlyMap<string, string> = new Map(),
  ) {
    const resultOf = (address: string): string => {
      const leader = leadersElsewhere.get(address);
      const isStandby = leader === undefined ? undefined : leaderIsElsewhere(address, leader);
      return problems.get(address)?.message ?? isStandby ?? 'no answer';
    };
    const each = managers.map((address) => `${address} (${resultOf(address)})`);
    super(
      `no Manager answered within ${Math.round(waitedMs)} ms: ${each.join(', ')}. Is one running (leasehold manager), and is this its address?`,
      { cause: problems.values().next().value },
    );
    this.managers = managers;
  }
}

/**
 * Managers in one list lead different logs, so each of them would grant every key. An owner holds nothing while that lasts, and
 * a look-up finds nothing. Both go on by themselves when one of these Managers has been gone for a hold.
 */
export class ManagersDisagreeError extends LeaseholdError {
  override readonly name = 'ManagersDisagreeError';
  readonly code = 'MANAGERS_DISAGREE';
  readonly retryable = false;
  /** The history that each Manager leads. */
  readonly histories: readonly LedHistory[];

  constructor(histories: readonly LedHistory[]) {
    const each = histories.map(
      ({ manager, history, term }) => `${manager} leads history ${history} in term ${term}`,
    );
    super(
      `the Managers disagree, because they keep separate logs: ${each.join(', ')}. Each of them would grant every key, so no keys are held. Name one Manager in the list (managers), or start all of them on one etcd (leasehold manager --store), and stop the others. If two of them lead one history, one of their data directories is a copy of the other`,
    );
    this.histories = histories;
  }
}

/** A Manager answered, and said no. */
export class RefusedError extends LeaseholdError {
  override readonly name = 'RefusedError';
  /** `UNKNOWN_POOL`, `URL_IN_USE`: the Manager's reason. */
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
  readonly what: keyof typeof ANEW;

  constructor(what: keyof typeof ANEW) {
    super(`${what} was closed, so it cannot be used any more; ${ANEW[what]}`);
    this.what = what;
  }
}

/**
 * `lookup.call` found no owner that served the key in time. Unless the call is idempotent, nothing was done: the call
 * can be repeated. `cause` is the last failure.
 */
export class NotServedError extends LeaseholdError {
  override readonly name = 'NotServedError';
  readonly code = 'NOT_SERVED';
  readonly retryable = true;
  readonly key: Key;

  constructor(key: Key, idempotent: boolean, cause: unknown) {
    const why = cause === undefined ? '' : ` (the last failure: ${String(cause)})`;
    const done = idempotent ? 'the call may have had its effect' : 'nothing was done';
    super(`no owner served ${shown(key)}${why}; ${done}: try again later`, { cause });
    this.key = key;
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

const OWNERS_NAMED = 5;

/** A pool cannot be removed, because owners are in the pool, or were about to be. Nothing was changed. */
export class PoolInUseError extends LeaseholdError {
  override readonly name = 'PoolInUseError';
  readonly code = 'POOL_IN_USE';
  readonly retryable = true;
  readonly pool: string;
  readonly owners: readonly string[];

  constructor(pool: string, owners: readonly string[]) {
    const more = owners.length > OWNERS_NAMED ? `, and ${owners.length - OWNERS_NAMED} more` : '';
    super(
      `the pool "${pool}" is not removed: ${owners.slice(0, OWNERS_NAMED).join(', ')}${more} may hold keys of it. Stop these servers, or wait until the hold of a dead one is over, and try again`,
    );
    this.pool = pool;
    this.owners = owners;
  }
}

/** Only the Manager that leads can do this. */
export class NotLeadingError extends LeaseholdError {
  override readonly name = 'NotLeadingError';
  readonly code = 'NOT_LEADING';
  readonly retryable = true;
  /** The leader, as far as known. */
  readonly leader: string | undefined;

  constructor(leader: string | undefined) {
    const who = leader === undefined ? 'it knows of no leader' : `as far as it knows, ${leader} leads`;
    super(`this Manager does not lead (any more); ${who}. Ask the leader`);
    this.leader = leader;
  }
}
