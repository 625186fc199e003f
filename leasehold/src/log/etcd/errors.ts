/** The errors of a log on etcd, each with the next step. */

import { LeaseholdError } from '../../runtime/errors.ts';
import type { EtcdRefusalReason } from './client.ts';

/**
 * The keys under the prefix belong to something else: to another cluster of Managers, or not to a log
 * at all. Nothing was written.
 */
export class PrefixInUseError extends LeaseholdError {
  override readonly name = 'PrefixInUseError';
  readonly code = 'PREFIX_IN_USE';
  readonly retryable = false;
  readonly key: string;

  constructor(key: string, finding: string) {
    super(
      `the key "${key}" in etcd ${finding}. Nothing was written. Choose another prefix, or the name of the cluster ` +
        'whose log this is; or, if nobody needs what is there, delete all keys under the prefix.',
    );
    this.key = key;
  }
}

/**
 * A key of the log does not hold the written value, or is missing. Lost entries may have been told to others as true,
 * so nothing is skipped.
 */
export class DamagedEtcdLogError extends LeaseholdError {
  override readonly name = 'DamagedEtcdLogError';
  readonly code = 'DAMAGED_LOG';
  readonly retryable = false;
  readonly key: string;

  constructor(key: string, finding: string) {
    super(
      `the log in etcd is damaged at "${key}": ${finding}. Nothing was changed. Somebody has written to the keys of the ` +
        'log, or deleted some of them: find out who. Then restore etcd from a backup and raise the counters (`leasehold ' +
        'manager recover`); or stop all Managers, delete all keys under the prefix, and start them: all leases are ' +
        'waited out, everybody joins anew, and look-ups report everything as lost.',
    );
    this.key = key;
  }
}

/**
 * A leader finds that the log ends before the leader's own last entry: etcd was restored from a backup during this
 * leadership. The log has forgotten numbers that others store and compare, so nobody may lead on this log before those
 * numbers are left behind.
 */
export class StoreWentBackError extends LeaseholdError {
  override readonly name = 'StoreWentBackError';
  readonly code = 'STORE_WENT_BACK';
  readonly retryable = false;
  readonly key: string;
  readonly history: string;
  /** The term of this leadership. */
  readonly term: number;
  /** The log had been written up to here. */
  readonly position: number;

  constructor(
    key: string,
    {
      history,
      term,
      position,
    }: { readonly history: string; readonly term: number; readonly position: number },
  ) {
    super(
      `the log in etcd ends before ${position}, which this Manager has written ("${key}"): etcd was put back from a ` +
        'backup. Stop all Managers, raise the counters of the log (`leasehold manager recover --store etcd://…`), and ' +
        'start them.',
    );
    this.key = key;
    this.history = history;
    this.term = term;
    this.position = position;
  }
}

/** etcd did not answer in time, or refused. Nothing is open; the requested write may have been made. */
export class EtcdUnavailableError extends LeaseholdError {
  override readonly name = 'EtcdUnavailableError';
  readonly code = 'ETCD_UNAVAILABLE';
  /** False if waiting does not help: wrong credentials, not enough rights, endpoints of different clusters. */
  readonly retryable: boolean;
  /** Undefined: no answer. */
  readonly reason: EtcdRefusalReason | undefined;

  constructor(doing: string, why: string, reason: EtcdRefusalReason | undefined) {
    super(`could not ${doing}: ${ADVICE[reason ?? 'unavailable']} etcd: ${why}`);
    this.retryable = reason !== 'denied' && reason !== 'divided';
    this.reason = reason;
  }
}

const TROUBLE = 'etcd refuses. Look at its own log.';

const ADVICE: Readonly<Record<EtcdRefusalReason, string>> = {
  denied:
    'etcd denies it. Check user, password and certificates, and the rights of that user under the prefix.',
  'no-space': 'the database of etcd is full. Compact and defragment it, then disarm its alarm.',
  unavailable: 'no answer from a majority of etcd. Check the endpoints, and that most of its members run.',
  divided:
    'its endpoints belong to different clusters of etcd: a member was set up anew, or the list is wrong. Name the ' +
    'members of one cluster, and have a member that lost its data join that one again.',
  'too-large': TROUBLE,
  compacted: TROUBLE,
  'no-lease': TROUBLE,
  other: TROUBLE,
};

/** Counters are raised only while nobody leads. Nothing was changed. */
export class LeaderAliveError extends LeaseholdError {
  override readonly name = 'LeaderAliveError';
  readonly code = 'LEADER_ALIVE';
  readonly retryable = true;
  readonly leader: string;

  constructor(leader: string) {
    super(
      `the counters of the log cannot be raised while "${leader}" leads. Nothing was changed. Stop all Managers, and ` +
        'try again when the leader key has expired: some seconds after the last of them has stopped.',
    );
    this.leader = leader;
  }
}
