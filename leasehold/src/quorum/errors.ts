/** Errors of replicas and clients, each with the next step for its reader. */

import { LeaseholdError } from '../runtime/errors.ts';
import { ANSWER_BYTES_MAX } from './wire/bounds.ts';

/** The directory belongs to another replica, group or program, or its identity cannot be read. */
export class DirectoryMismatchError extends LeaseholdError {
  override readonly name = 'DirectoryMismatchError';
  readonly code = 'QUORUM_DIRECTORY_MISMATCH';
  readonly retryable = false;
  readonly path: string;

  constructor(path: string, finding: string, advice: string) {
    super(`the directory "${path}" cannot be used: ${finding}. Nothing was changed. ${advice}`);
    this.path = path;
  }
}

/** Frames that others may rely on are gone from the disk: this directory must not vote again. */
export class VotesLostError extends LeaseholdError {
  override readonly name = 'VotesLostError';
  readonly code = 'QUORUM_VOTES_LOST';
  readonly retryable = false;
  readonly path: string;

  constructor(path: string, finding: string) {
    super(
      `the journal in "${path}" has lost votes: ${finding}. A replica that went on with it could vote twice, so it does not start. ` +
        'Keep a copy of the directory if you want to look into the damage. Then start this replica with an empty directory ' +
        'and join: true (--join), and add it in place of the old one (leasehold quorum add <name>).',
    );
    this.path = path;
  }
}

/** Two replicas have different values in a slot that is decided: some replicas have lost votes that were counted. */
export class HistoriesDifferError extends LeaseholdError {
  override readonly name = 'HistoriesDifferError';
  readonly code = 'QUORUM_HISTORIES_DIFFER';
  readonly retryable = false;
  readonly path: string;
  readonly slot: number;
  readonly peer: string;

  constructor(path: string, slot: number, peer: string) {
    super(
      `slot ${slot} is decided in "${path}", and ${peer}, which leads, has something else there. Disks of other replicas, or this one, have lost votes: as when ` +
        'directories were put back from backups. This replica has ended, and answers nothing. Stop all replicas, keep copies of all directories, and find out whose values are ' +
        'the right ones. Then start the other replicas with empty directories and join: true (--join), and add them again (leasehold quorum add <name>).',
    );
    this.path = path;
    this.slot = slot;
    this.peer = peer;
  }
}

export type RefusalReason =
  | 'another-group'
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

/** The group knows this name with another directory: this one was emptied, restored from a copy, or exists twice. */
export class ReplicaRefusedError extends LeaseholdError {
  override readonly name = 'ReplicaRefusedError';
  readonly code = 'QUORUM_REPLICA_REFUSED';
  readonly retryable = false;
  readonly peer: string;
  readonly reason: RefusalReason;

  constructor(peer: string, reason: RefusalReason, when: 'now' | 'earlier' = 'now') {
    super(
      when === 'now'
        ? `${peer} refuses this replica: ${REFUSALS[reason]}`
        : `${peer} has refused this directory for good: ${REFUSALS[reason]}`,
    );
    this.peer = peer;
    this.reason = reason;
  }
}

const JOIN_AGAIN =
  'Start it with an empty directory and join: true (--join), and add it in place of the old one (leasehold quorum add <name>)';

const REFUSALS: Readonly<Record<RefusalReason, string>> = {
  'another-group': 'it is of another group. Give both the same group, or the right addresses',
  'another-cluster':
    'it belongs to another cluster: a group of the same name that was founded elsewhere. Correct the addresses. A replica that serves with others keeps its directory; one that was started anew, or joined the wrong cluster, has to be started with an empty directory and join: true (--join)',
  'emptied-directory': `the group knows this name with another directory, and this one was emptied or is new. ${JOIN_AGAIN}. If the group has never stored anything, empty the directories of all replicas and begin again`,
  removed: `this directory was removed from the group, and is never taken again. ${JOIN_AGAIN.replace(', and add it in place of the old one', ', then add it')}, or stop it if it was meant to go`,
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
    'its list of replicas does not have this name. Give all replicas the same list, or start this one with join: true (--join)',
};

export const isRefusalReason = (reason: string): reason is RefusalReason => Object.hasOwn(REFUSALS, reason);

/** The replica or the client was closed while the call waited. A write may have taken effect. */
export class QuorumClosedError extends LeaseholdError {
  override readonly name = 'QuorumClosedError';
  readonly code = 'QUORUM_CLOSED';
  readonly retryable = false;

  constructor(what: 'replica' | 'client', options?: ErrorOptions) {
    super(`this ${what} is closed`, options);
  }
}

/** No replica answered in time. A read changed nothing; a write may take effect later, or may have taken effect. */
export class QuorumTimeoutError extends LeaseholdError {
  override readonly name = 'QuorumTimeoutError';
  readonly code = 'QUORUM_TIMEOUT';
  /** True for a read, and for a write that was not sent. A write that is made again is another write. */
  readonly retryable: boolean;
  readonly isOutcomeKnown: boolean;

  constructor(timeoutMs: number, call: TimedOutCall, problems: string) {
    const head = `no answer within ${timeoutMs} ms${OUTCOMES[call]}${problems}`;
    super(
      `${head}${head.endsWith('?') ? '' : '.'} A majority of the replicas must run and reach each other, and a new group needs all replicas of its list once: ask leasehold quorum status`,
    );
    this.isOutcomeKnown = call !== 'sent-write';
    this.retryable = this.isOutcomeKnown;
  }
}

/** Nothing was answered in time because no majority of the replicas has room on its disk. */
export class QuorumDiskFullError extends LeaseholdError {
  override readonly name = 'QuorumDiskFullError';
  readonly code = 'QUORUM_DISK_FULL';
  /** True for a read, and for a write that was not sent. A write that is made again is another write. */
  readonly retryable: boolean;
  readonly isOutcomeKnown: boolean;

  constructor(timeoutMs: number, call: TimedOutCall) {
    super(
      `no answer within ${timeoutMs} ms${OUTCOMES[call]}; the disks of so many replicas are full that no majority can write. Make room there: leasehold quorum status names them, and they go on by themselves`,
    );
    this.isOutcomeKnown = call !== 'sent-write';
    this.retryable = this.isOutcomeKnown;
  }
}

type TimedOutCall = 'read' | 'unsent-write' | 'sent-write';

/** The error of a call without an answer: what servers said of their disks, or why they could not be reached. */
export const timedOut = (
  timeoutMs: number,
  call: TimedOutCall,
  problems: string,
): QuorumTimeoutError | QuorumDiskFullError =>
  problems === 'disk-full'
    ? new QuorumDiskFullError(timeoutMs, call)
    : new QuorumTimeoutError(timeoutMs, call, problems);

export const isTimeout = (error: unknown): boolean =>
  error instanceof QuorumTimeoutError || error instanceof QuorumDiskFullError;

const OUTCOMES: Readonly<Record<TimedOutCall, string>> = {
  read: '',
  'unsent-write': '; the write was not sent',
  'sent-write': '; whether the write took effect is unknown',
};

/** The session of this client ran out before the group heard of the write again. It may have taken effect. */
export class OutcomeUnknownError extends LeaseholdError {
  override readonly name = 'OutcomeUnknownError';
  readonly code = 'QUORUM_OUTCOME_UNKNOWN';
  readonly retryable = false;

  constructor() {
    super(
      'the session of this client expired while the write was under way, so whether it took effect is unknown. Read the keys, or write with a condition',
    );
  }
}

/** The server belongs to another cluster than the server that this client used first. Nothing was sent to it. */
export class AnotherClusterError extends LeaseholdError {
  override readonly name = 'AnotherClusterError';
  readonly code = 'QUORUM_ANOTHER_CLUSTER';
  readonly retryable = false;

  constructor(own: string, found: string) {
    super(
      `the server belongs to cluster ${found}, and this client uses cluster ${own}: they are two groups, founded apart. Nothing was sent. Give the servers of one group`,
    );
  }
}

/** The replica has too much to do. Nothing was done. */
export class QuorumBusyError extends LeaseholdError {
  override readonly name = 'QuorumBusyError';
  readonly code = 'QUORUM_BUSY';
  readonly retryable = true;

  constructor() {
    super(
      'the replica has too many requests waiting, and took no more. Try again later, and send less at once',
    );
  }
}

/** A key, a value or a transaction is larger than the group takes. Nothing was sent. */
export class TooLargeError extends LeaseholdError {
  override readonly name = 'TooLargeError';
  readonly code = 'QUORUM_TOO_LARGE';
  readonly retryable = false;

  constructor(what: string, size: number, limit: number) {
    super(
      `${what} is ${size}, and at most ${limit} is allowed. Nothing was sent. Split it, or store large values elsewhere`,
    );
  }
}

/** The values that were asked for at once are larger than one answer may be. */
export class AnswerTooLargeError extends LeaseholdError {
  override readonly name = 'AnswerTooLargeError';
  readonly code = 'QUORUM_ANSWER_TOO_LARGE';
  readonly retryable = false;

  constructor(bytes: number, to: 'read' | 'done' | 'unmet') {
    super(
      `the answer has ${bytes} bytes, and at most ${ANSWER_BYTES_MAX} can be sent at once. ${CARRIED_OUT[to]}Ask for fewer keys at once: with gets(), or with watches of smaller ranges`,
    );
  }
}

const CARRIED_OUT = {
  read: '',
  done: 'The transaction was carried out. ',
  unmet: 'A condition did not hold, so the transaction was not carried out. ',
} as const;

/** A transaction was carried out, its answer was lost, and the group has not kept the values that its gets found. */
export class AnswerNotKeptError extends LeaseholdError {
  override readonly name = 'AnswerNotKeptError';
  readonly code = 'QUORUM_ANSWER_NOT_KEPT';
  readonly retryable = false;

  constructor(bytes: number) {
    super(
      `the transaction was carried out, and its answer was lost on the way. What its gets found has ${bytes} bytes, and the group keeps only so much for a repeated question. Read the keys again`,
    );
  }
}

/** The members or holders could not be changed. Nothing was changed. */
export class ChangeRefusedError extends LeaseholdError {
  override readonly name = 'ChangeRefusedError';
  readonly code = 'QUORUM_CHANGE_REFUSED';
  readonly retryable: boolean;
  readonly reason: string;

  constructor(reason: string) {
    super(`the group was not changed: ${CHANGE_ADVICE[reason] ?? reason}`);
    this.reason = reason;
    this.retryable = ['not-ready', 'not-known', 'only-removed'].includes(reason);
  }
}

const CHANGE_ADVICE: Readonly<Record<string, string>> = {
  'already-a-member': 'it is a member already',
  'not-a-member': 'there is no member of that name',
  'leader-must-transfer-first': 'it leads; let another lead first (leasehold quorum transfer <name>)',
  'no-member-would-be-left':
    'it is the last member, and a group without members has lost everything. Add another one first, or stop this one if the group is no longer needed',
  'no-free-seat': 'all seats are taken',
  'removed-before':
    'that directory was removed from the group before, and is never taken again. Start the replica with an empty directory and join: true (--join)',
  'too-many-members':
    'a group has at most 7 members: each one more makes writes slower. Remove one first (leasehold quorum remove <name>), or put the newcomer in the place of another under the same name',
  'several-of-that-name':
    'several replicas of that name have joined. Stop all but one, or give its storage id, as leasehold quorum status shows it',
  'only-removed':
    'the only directory of that name that the leader knows was removed from the group, and is never taken again. Start the replica with an empty directory and join: true (--join), then try again',
  'not-ready':
    'no leader could decide it now: a change is under way, a majority is missing, or the newcomer lags behind. Try again in a moment',
  'not-known':
    'the leader has not heard of a replica of that name. Start the replica with join: true (--join) and with the addresses of all members in its peers, the leader among them; then try again',
};

/** The replica no longer keeps the changes after the position that a watch asked for. */
export class WatchBehindError extends LeaseholdError {
  override readonly name = 'WatchBehindError';
  readonly code = 'QUORUM_WATCH_BEHIND';
  readonly retryable = false;
  /** Changes after this position are kept. */
  readonly oldest: number;

  constructor(from: number, oldest: number) {
    super(
      `changes after position ${from} are no longer kept; those after ${oldest} are. Watch without a position: the watch then begins with all values there are`,
    );
    this.oldest = oldest;
  }
}

/** Somebody has written something else under the keys of a Manager's log. */
export class DamagedQuorumLogError extends LeaseholdError {
  override readonly name = 'DamagedQuorumLogError';
  readonly code = 'QUORUM_LOG_DAMAGED';
  readonly retryable = false;
  readonly key: string;

  constructor(key: string) {
    super(
      `the log of the Managers in this group cannot be read: "${key}" is missing, or is not what a Manager writes. ` +
        'Another client of the group has written there. Stop that client; found a new group for the Managers, in empty directories.',
    );
    this.key = key;
  }
}
