/**
 * The errors for an application that uses the pool, each made in one place: its class, its code and its sentence.
 * `code` is the contract (`docs/errors.md` has them all); every message says the next step.
 */

import {
  ClosedError,
  InUseError,
  InvalidArgumentError,
  type LeaseholdError,
  LeaseLostError,
  NotOwnerError,
  OutcomeUnknownError,
  RefusedError,
  UnavailableError,
} from '../../runtime/errors.ts';
import type { LedHistory } from '../core/history-watch.ts';
import type { Key } from '../../runtime/keys/hash.ts';
import type { DrainProgress } from './owner/drain.ts';

const shown = (key: Key): string => (typeof key === 'string' ? JSON.stringify(key) : `hash ${key}`);

/**
 * The key is not held here, or not yet. Nothing was done; ask a look-up for the owner and send the request there (over
 * HTTP, `httpAnswer` gives the answer).
 */
export const notOwner = (key: Key): NotOwnerError =>
  new NotOwnerError(
    'NOT_OWNER',
    `${shown(key)} is not owned by this process: find its owner with a look-up and ask there`,
    { module: 'pool', details: { key } },
  );

/**
 * The key was held when the work began, and cannot be shown to have been held all along. The effects of the work may
 * overlap with those of the next owner; do not answer with the result.
 */
export const leaseLost = (key: Key, number: number): LeaseLostError =>
  new LeaseLostError(
    'LEASE_LOST',
    `the lease on ${shown(key)} (number ${number}) was lost while it was in use: discard the result, and tell the caller that the work may have run`,
    { module: 'pool', details: { key, number } },
  );

/** A key, or nothing, where a leased map takes the handle of guarded work. */
export const notHeld = (given: unknown): InvalidArgumentError =>
  new InvalidArgumentError(
    'INVALID_KEY',
    'a leased map takes what guard hands to the work, and no bare key: guard(key, (held) => map.get(held)); without a lease: map.peek(key)',
    { module: 'pool', details: { key: given } },
  );

const mapNamed = (name: string | undefined): string =>
  name === undefined ? 'a leased map' : `the leased map "${name}"`;

/** A leased map has as much as it may. Nothing was set. */
export const mapIsFull = (name: string | undefined, key: Key, most: string): UnavailableError =>
  new UnavailableError(
    'FULL',
    `${mapNamed(name)} is full, with ${most}, so ${shown(key)} was not set: delete entries, raise the limit, give entries a ttlMs, or evict the oldest (whenFull: 'evict')`,
    { module: 'pool', details: { name, key } },
  );

/** A value that would not fit into an empty map. Nothing was set. */
export const valueTooLarge = (
  name: string | undefined,
  key: Key,
  bytes: number,
  maxBytes: number,
): InvalidArgumentError =>
  new InvalidArgumentError(
    'TOO_LARGE',
    `the value of ${shown(key)} has ${bytes} bytes, and ${mapNamed(name)} takes ${maxBytes} in all, so nothing was set: store less under one key, or raise maxBytes`,
    { module: 'pool', details: { name, key, bytes, maxBytes } },
  );

/** An item of a movable that would not arrive at another owner as it left. Its keys stay. */
export const itemWouldChange = (
  key: Key | undefined,
  place: string,
  what: string,
  cause?: unknown,
): InvalidArgumentError =>
  new InvalidArgumentError(
    'INVALID_ITEM',
    `${key === undefined ? 'an item' : `key ${shown(key)}`}: ${place} is ${what}, and would not arrive at another owner as it left, so its keys do not move: keep plain data, or give the map or the movable a codec`,
    { module: 'pool', details: { key, place, what }, ...(cause === undefined ? {} : { cause }) },
  );

/** State of the same keys was read for another move, or the keys were lost meanwhile. This move cannot go on. */
export const snapshotIsOver = (): UnavailableError =>
  new UnavailableError(
    'SNAPSHOT_OVER',
    'the snapshot of these keys is over, because they were lost, were handed over, or another snapshot of them began: begin another',
    { module: 'pool' },
  );

/**
 * Guarded work on a key called `guard` for the same key. Only one work on a key runs at a time, so the inner call
 * would wait for itself. Nothing was begun; hand `held` to the called function, or call `guard` after the work.
 */
export const guardWithinGuard = (key: Key): InvalidArgumentError =>
  new InvalidArgumentError(
    'GUARD_WITHIN_GUARD',
    `guard(${shown(key)}) was called from within guarded work on ${shown(key)}, and would wait for that to end: hand what the work was given (held) to what it calls`,
    { module: 'pool', details: { key } },
  );

/** What a drain lacked when it came to its end, for a sentence. */
export function whatDrainLacks({ waitsFor }: Pick<DrainProgress, 'waitsFor'>): string {
  const missing = {
    manager: ': no Manager was heard; is one running, and can it be reached?',
    target:
      ': no other owner could take them; start one with moves that has the same names of state, and that is neither draining nor cordoned',
    work: ': guarded work on them has not ended',
  };
  return waitsFor === undefined ? '' : missing[waitsFor];
}

/** A drain with `otherwise: 'stay'` came to its end before everything had moved. This owner serves on what is left. */
export const notDrained = (progress: DrainProgress): UnavailableError => {
  const { ranges, moved } = progress;
  return new UnavailableError(
    'NOT_DRAINED',
    `${ranges - moved} of ${ranges} ranges have not moved in time${whatDrainLacks(progress)}. This owner serves them on: drain again, or close it, which loses what cannot move`,
    { module: 'pool', details: { progress } },
  );
};

export const leaderIsElsewhere = (standby: string, leader: string): string =>
  `the Manager at ${standby} is a standby of the leader at ${leader}, which is not in \`managers\`: list every Manager`;

/** No Manager answered in time. Nothing was joined or connected; the message has the result of each address. */
export function managersUnreachable(
  managers: readonly string[],
  waitedMs: number,
  problems: ReadonlyMap<string, Error>,
  leadersElsewhere: ReadonlyMap<string, string> = new Map(),
): UnavailableError {
  const resultOf = (address: string): string => {
    const leader = leadersElsewhere.get(address);
    const isStandby = leader === undefined ? undefined : leaderIsElsewhere(address, leader);
    return problems.get(address)?.message ?? isStandby ?? 'no answer';
  };
  const each = managers.map((address) => `${address} (${resultOf(address)})`);
  return new UnavailableError(
    'MANAGERS_UNREACHABLE',
    `no Manager answered within ${Math.round(waitedMs)} ms: ${each.join(', ')}. Is one running (leasehold manager start), and is this its address?`,
    { module: 'pool', details: { managers }, cause: problems.values().next().value },
  );
}

/**
 * Managers in one list lead different logs, so each of them would grant every key. An owner holds nothing while that lasts, and
 * a look-up finds nothing. Both go on by themselves when one of these Managers has been gone for a hold. `histories`: the
 * history that each Manager leads.
 */
export function managersDisagree(histories: readonly LedHistory[]): RefusedError {
  const each = histories.map(
    ({ manager, history, term }) => `${manager} leads history ${history} in term ${term}`,
  );
  return new RefusedError(
    'MANAGERS_DISAGREE',
    `the Managers disagree, because they keep separate logs: ${each.join(', ')}. Each of them would grant every key, so no keys are held. Name one Manager in the list (managers), or start all of them on one etcd (leasehold manager start --store), and stop the others. If two of them lead one history, one of their data directories is a copy of the other`,
    { module: 'pool', details: { histories } },
  );
}

const ANEW = {
  'the owner': 'join the pool again (joinPool)',
  'the look-up': 'connect another (connectLookup)',
  'the Manager': 'start it again (startManager)',
  'the shared limits': 'join them again (joinLimits)',
} as const;

const MODULES = {
  'the owner': 'pool',
  'the look-up': 'pool',
  'the Manager': 'manager',
  'the shared limits': 'ratelimit',
} as const;

/** This owner, look-up or Manager was closed. Join, connect or start again. */
export const closed = (what: keyof typeof ANEW): ClosedError =>
  new ClosedError('CLOSED', `${what} was closed, so it cannot be used any more; ${ANEW[what]}`, {
    module: MODULES[what],
    details: { what },
  });

/**
 * `lookup.call` found no owner that served the key in time. Unless an attempt may have run, which only an idempotent call
 * survives, nothing was done: the call can be repeated. `cause` is the last failure.
 */
export function notServed(key: Key, mayHaveRun: boolean, cause: unknown): UnavailableError {
  const why = cause === undefined ? '' : ` (the last failure: ${String(cause)})`;
  const done = mayHaveRun ? 'the call may have had its effect' : 'nothing was done';
  return new UnavailableError('NOT_SERVED', `no owner served ${shown(key)}${why}; ${done}: try again later`, {
    module: 'pool',
    details: { key },
    isOutcomeKnown: !mayHaveRun,
    cause,
  });
}

const ANOTHER = 'Start another one on the same etcd first (leasehold manager start --store)';

/** No other Manager can lead instead, or none has taken over in time. This one goes on. */
export const alone = (why: string, advice: string = ANOTHER): UnavailableError =>
  new UnavailableError('ALONE', `this Manager cannot step down: ${why}. ${advice}`, { module: 'manager' });

const OWNERS_NAMED = 5;

/** A pool cannot be removed, because owners are in the pool, or were about to be. Nothing was changed. */
export function poolInUse(pool: string, owners: readonly string[]): InUseError {
  const more = owners.length > OWNERS_NAMED ? `, and ${owners.length - OWNERS_NAMED} more` : '';
  return new InUseError(
    'POOL_IN_USE',
    `the pool "${pool}" is not removed: ${owners.slice(0, OWNERS_NAMED).join(', ')}${more} may hold keys of it. Stop these servers, or wait until the hold of a dead one is over, and try again`,
    { module: 'manager', details: { pool, owners } },
  );
}

/** Only the Manager that leads can do this. `leader`: as far as known; `isOutcomeKnown` is false if it was deposed meanwhile. */
export function notLeading(leader: string | undefined, isOutcomeKnown = true): UnavailableError {
  const who = leader === undefined ? 'it knows of no leader' : `as far as it knows, ${leader} leads`;
  return new UnavailableError(
    'NOT_LEADING',
    `this Manager does not lead (any more); ${who}. Ask the leader`,
    { module: 'manager', details: { leader }, isOutcomeKnown },
  );
}

/** A Manager was told to do something, and the caller did not wait for the end. */
export const outcomeUnknown = (what: string, timeoutMs: number): OutcomeUnknownError =>
  new OutcomeUnknownError(
    'OUTCOME_UNKNOWN',
    `${what} was begun, and did not end within ${timeoutMs} ms; it goes on. Look at the Manager's status`,
    { module: 'manager', details: { timeoutMs } },
  );

const IN_USE: ReadonlySet<string> = new Set(['NAME_IN_USE', 'URL_IN_USE']);
const NOT_NOW: ReadonlySet<string> = new Set(['BUSY', 'FULL', 'TOO_MANY_POOLS']);

/** A Manager refuses an owner or a look-up, in the Manager's words. A code of a later version is a refusal in general. */
export function refusal(code: string, message: string, retryable: boolean): LeaseholdError {
  const facts = { module: 'manager', retryable } as const;
  if (IN_USE.has(code)) return new InUseError(code, message, facts);
  return NOT_NOW.has(code)
    ? new UnavailableError(code, message, facts)
    : new RefusedError(code, message, facts);
}
