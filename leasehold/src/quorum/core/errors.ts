/** Errors of replicas and clients, each with the next step for its reader. */

import {
  ClosedError,
  InUseError,
  InvalidArgumentError,
  type LeaseholdError,
  OutcomeUnknownError,
  RefusedError,
  StorageError,
  UnavailableError,
} from '../../runtime/errors.ts';
import { ANSWER_BYTES_MAX } from '../wire/bounds.ts';

const module = 'quorum';

/** The directory belongs to another replica, cell or program, or its identity cannot be read. */
export const directoryMismatch = (path: string, finding: string, advice: string): RefusedError =>
  new RefusedError(
    'DIRECTORY_MISMATCH',
    `the directory "${path}" cannot be used: ${finding}. Nothing was changed. ${advice}`,
    { module, details: { path } },
  );

/** Frames that other replicas may rely on are gone from the disk: this directory must not vote again. */
export const votesLost = (path: string, finding: string): StorageError =>
  new StorageError(
    'DATA_LOST',
    `the journal in "${path}" has lost votes: ${finding}. A replica that went on with it could vote twice, so it does not start. ` +
      'Keep a copy of the directory if you want to look into the damage. Then start this replica with an empty directory ' +
      'and newcomer: true (--newcomer), and add it in place of the old one (leasehold quorum add <name>).',
    { module, details: { path } },
  );

/** Two replicas have different values in a slot that is decided: some replicas have lost votes that were counted. */
export const historiesDiffer = (path: string, slot: number, peer: string): StorageError =>
  new StorageError(
    'HISTORIES_DIFFER',
    `slot ${slot} is decided in "${path}", and ${peer}, which leads, has something else there. Disks of other replicas, or this one, have lost votes: as when ` +
      'directories were put back from backups. This replica has ended, and answers nothing. Stop all replicas, keep copies of all directories, and find out whose values are ' +
      'the right ones. Then start the other replicas with empty directories and newcomer: true (--newcomer), and add them again (leasehold quorum add <name>).',
    { module, details: { path, slot, peer } },
  );

/** Why a replica was refused by another one. */
export type RefusalReason =
  | 'another-cell'
  | 'another-cluster'
  | 'emptied-directory'
  | 'removed'
  | 'old-copy'
  | 'votes-missing'
  | 'running-twice'
  | 'still-connected'
  | 'not-noted'
  | 'not-joined'
  | 'own-address'
  | 'unknown-name';

/** Another replica refuses this one. The class and the code of the error say what to do. */
export interface Refusal {
  readonly peer: string;
  readonly reason: RefusalReason;
  readonly error: LeaseholdError;
}

/** @param when `earlier`: the directory was marked, and is never opened again */
export function refusalBy(peer: string, reason: RefusalReason, when: 'now' | 'earlier' = 'now'): Refusal {
  const message =
    when === 'now'
      ? `${peer} refuses this replica: ${REFUSALS[reason]}`
      : `${peer} has refused this directory for good: ${REFUSALS[reason]}`;
  return { peer, reason, error: refusalError(reason, message, { peer, reason }) };
}

function refusalError(
  reason: RefusalReason,
  message: string,
  details: { readonly peer: string; readonly reason: RefusalReason },
): LeaseholdError {
  switch (reason) {
    case 'another-cell':
    case 'another-cluster':
    case 'own-address':
    case 'unknown-name':
      return new RefusedError('WRONG_PEER', message, { module, details });
    case 'removed':
      return new ClosedError('REMOVED', message, { module, details });
    case 'emptied-directory':
      return new InUseError('NAME_IN_USE', message, { module, details, retryable: false });
    case 'still-connected':
      return new InUseError('NAME_IN_USE', message, { module, details });
    case 'old-copy':
    case 'votes-missing':
    case 'running-twice':
      return new StorageError('DATA_LOST', message, { module, details });
    case 'not-noted':
    case 'not-joined':
      return new UnavailableError('NOT_SERVED', message, { module, details });
  }
}

const JOIN_AGAIN =
  'Start it with an empty directory and newcomer: true (--newcomer), and add it in place of the old one (leasehold quorum add <name>)';

const REFUSALS: Readonly<Record<RefusalReason, string>> = {
  'another-cell': 'it is of another cell. Give both the same cell, or the right addresses',
  'another-cluster':
    'it belongs to another cluster: a cell of the same name that was founded elsewhere, or by another list of replicas. Correct the addresses, give all replicas the same list, and start them again. A replica that serves with others keeps its directory; one that was started anew, or joined the wrong cluster, has to be started with an empty directory and newcomer: true (--newcomer)',
  'emptied-directory': `the cell knows this name with another directory, and this one was emptied or is new. ${JOIN_AGAIN}. If the cell has never stored anything, empty the directories of all replicas and begin again`,
  removed: `this directory was removed from the cell, and is never taken again. ${JOIN_AGAIN.replace(', and add it in place of the old one', ', then add it')}, or stop it if it was meant to go`,
  'old-copy': `this directory or its journal is an older copy or a restored backup, and votes that were cast later are missing in it. ${JOIN_AGAIN}`,
  'votes-missing': `it has heard of votes of this directory that are not in its journal any more. The journal was damaged or cut off, or an older one took its place, or the whole volume went back. ${JOIN_AGAIN}`,
  'running-twice': `another process with a copy of this very directory is running or was running, and its votes are not in this one. ${JOIN_AGAIN}. A copy must never be started`,
  'still-connected':
    'an earlier process of this directory is still connected. If that process has ended, wait: its connection is given up within seconds. If not, one of the two has a copy of the directory and must be stopped',
  'not-noted':
    'it cannot write down that it has heard this replica, perhaps because its disk is full. This replica asks again',
  'not-joined': 'it joins a cluster and has not reached one yet. This replica asks again',
  'own-address':
    'its address leads back to this very replica. Correct the address in the list; the directory is as it should be',
  'unknown-name':
    'its list of replicas does not have this name. Give all replicas the same list, or start this one with newcomer: true (--newcomer)',
};

export const isRefusalReason = (reason: string): reason is RefusalReason => Object.hasOwn(REFUSALS, reason);

/** The replica or the client was closed while the call waited. A write that was sent may have taken effect. */
export const closed = (what: 'replica' | 'client', isWriteSent = false): ClosedError =>
  new ClosedError('CLOSED', `this ${what} is closed${isWriteSent ? OUTCOMES['sent-write'] : ''}`, {
    ...{ module, isOutcomeKnown: !isWriteSent },
  });

type TimedOutCall = 'read' | 'unsent-write' | 'sent-write';

const OUTCOMES: Readonly<Record<TimedOutCall, string>> = {
  read: '',
  'unsent-write': '; the write was not sent',
  'sent-write': '; whether the write took effect is unknown',
};

/**
 * The error of a call without an answer: what servers said of their disks, or why they could not be reached. A write that was sent may
 * have taken effect, or take effect later, so a caller must look before it writes again.
 */
export function timedOut(
  timeoutMs: number,
  call: TimedOutCall,
  problems: string,
): UnavailableError | OutcomeUnknownError {
  const isFull = problems === 'disk-full';
  const head = `no answer within ${timeoutMs} ms${OUTCOMES[call]}${isFull ? '' : problems}`;
  const full =
    '; the disks of so many replicas are full that no majority can write. Make room there: leasehold quorum status names them, and they go on by themselves';
  const silent = `${head.endsWith('?') ? '' : '.'} A majority of the replicas must run and reach each other, and a new cell needs all replicas of its list once: ask leasehold quorum status`;
  const message = `${head}${isFull ? full : silent}`;
  const details = { timeoutMs, why: isFull ? 'disk-full' : 'timeout' };
  if (call === 'sent-write') return new OutcomeUnknownError('OUTCOME_UNKNOWN', message, { module, details });
  return isFull
    ? new UnavailableError('DISK_FULL', message, { module, details })
    : new UnavailableError('TIMEOUT', message, { module, details });
}

export const isTimeout = (error: unknown): boolean =>
  error instanceof UnavailableError && (error.code === 'TIMEOUT' || error.code === 'DISK_FULL');

/** The session of this client ran out before the cell heard of the write again. It may have taken effect. */
export const sessionExpired = (): OutcomeUnknownError =>
  new OutcomeUnknownError(
    'OUTCOME_UNKNOWN',
    'the session of this client expired while the write was under way, so whether it took effect is unknown. Read the keys, or write with a condition',
    { module, details: { why: 'session-expired' } },
  );

/** The server belongs to another cluster than the server that this client used first. Nothing was sent to it. */
export const anotherCluster = (own: string, found: string): RefusedError =>
  new RefusedError(
    'WRONG_PEER',
    `the server belongs to cluster ${found}, and this client uses cluster ${own}: they are two cells, founded apart. Nothing was sent. Give the servers of one cell`,
    { module, details: { reason: 'another-cluster', own, found } },
  );

/** The replica has too much to do. Nothing was done. */
export const busy = (): UnavailableError =>
  new UnavailableError(
    'BUSY',
    'the replica has too many requests waiting, and took no more. Try again later, and send less at once',
    { module },
  );

/** A key, a value or a transaction is larger than the cell takes. Nothing was sent. */
export const tooLarge = (what: string, size: number, limit: number): InvalidArgumentError =>
  new InvalidArgumentError(
    'TOO_LARGE',
    `${what} is ${size}, and at most ${limit} is allowed. Nothing was sent. Split it, or store large values elsewhere`,
    { module, details: { size, limit } },
  );

/** The values that were asked for at once are larger than one answer may be. */
export function answerTooLarge(
  bytes: number,
  to: 'read' | 'done' | 'unmet',
): InvalidArgumentError | OutcomeUnknownError {
  const message = `the answer has ${bytes} bytes, and at most ${ANSWER_BYTES_MAX} can be sent at once. ${CARRIED_OUT[to]}Ask for fewer keys at once: with getMany(), or with watches of smaller ranges`;
  const details = { size: bytes, limit: ANSWER_BYTES_MAX };
  return to === 'done'
    ? new OutcomeUnknownError('ANSWER_LOST', message, { module, details })
    : new InvalidArgumentError('TOO_LARGE', message, { module, details });
}

const CARRIED_OUT = {
  read: '',
  done: 'The transaction was carried out. ',
  unmet: 'A condition did not hold, so the transaction was not carried out. ',
} as const;

/** A transaction was carried out, its answer was lost, and the cell has not kept the values that its gets found. */
export const answerNotKept = (bytes: number): OutcomeUnknownError =>
  new OutcomeUnknownError(
    'ANSWER_LOST',
    `the transaction was carried out, and its answer was lost on the way. What its gets found has ${bytes} bytes, and the cell keeps only so much for a repeated question. Read the keys again`,
    { module, details: { bytes } },
  );

/** Refusals of a change that time, or a newcomer that is started, may end. */
const PENDING: ReadonlySet<string> = new Set(['not-ready', 'not-known', 'only-removed']);

/** The members or holders could not be changed. Nothing was changed. */
export function changeRefused(reason: string): RefusedError | UnavailableError {
  const message = `the cell was not changed: ${CHANGE_ADVICE[reason] ?? reason}`;
  const details = { reason };
  return PENDING.has(reason)
    ? new UnavailableError('CHANGE_PENDING', message, { module, details })
    : new RefusedError('CHANGE_REFUSED', message, { module, details });
}

const CHANGE_ADVICE: Readonly<Record<string, string>> = {
  'already-a-member': 'it is a member already',
  'not-a-member': 'there is no member of that name',
  'leader-must-step-down-first': 'it leads; let another member lead first (leasehold quorum step-down)',
  'no-other-member': 'there is no other member that could lead',
  'no-member-would-be-left':
    'it is the last member, and a cell without members has lost everything. Add another one first, or stop this one if the cell is no longer needed',
  'no-free-seat': 'all seats are taken',
  'removed-before':
    'that directory was removed from the cell before, and is never taken again. Start the replica with an empty directory and newcomer: true (--newcomer)',
  'too-many-members':
    'a cell has at most 7 members: each one more makes writes slower. Remove one first (leasehold quorum remove <name>), or put the newcomer in the place of another under the same name',
  'several-of-that-name':
    'several replicas of that name have joined. Stop all but one, or give its storage id, as leasehold quorum status shows it',
  'only-removed':
    'the only directory of that name that the leader knows was removed from the cell, and is never taken again. Start the replica with an empty directory and newcomer: true (--newcomer), then try again',
  'not-ready':
    'no leader could decide it now: a change is under way, a majority is missing, or the newcomer lags behind. Try again in a moment',
  'not-known':
    'the leader has not heard of a replica of that name. Start the replica with newcomer: true (--newcomer) and with the addresses of all members in its peers, the leader among them; then try again',
};

/** The replica no longer keeps the changes after the position that a watch asked for; those after `details.oldest` are kept. */
export const watchBehind = (from: number, oldest: number): InvalidArgumentError =>
  new InvalidArgumentError(
    'WATCH_BEHIND',
    `changes after position ${from} are no longer kept; those after ${oldest} are. Watch without a position: the watch then begins with all values there are`,
    { module, details: { from, oldest } },
  );

/** Another client has written something else under the keys of a Manager's log. */
export const damagedLog = (key: string): StorageError =>
  new StorageError(
    'DAMAGED_LOG',
    `the log of the Managers in this cell cannot be read: "${key}" is missing, or is not what a Manager writes. ` +
      'Another client of the cell has written there. Stop that client; found a new cell for the Managers, in empty directories.',
    { module, details: { key } },
  );
