/** The errors of a log on etcd, each with the next step. */

import { InUseError, StorageError } from '../../runtime/errors.ts';

/**
 * A key of the log does not hold the written value, or is missing. Lost entries may have been told to others as true,
 * so nothing is skipped.
 */
export class DamagedEtcdLogError extends StorageError {
  readonly key: string;

  constructor(key: string, finding: string) {
    super(
      'DAMAGED_LOG',
      `the log in etcd is damaged at "${key}": ${finding}. Nothing was changed. Somebody has written to the keys of the ` +
        'log, or deleted some of them: find out who. Then restore etcd from a backup and raise the counters (`leasehold ' +
        'manager recover`); or stop all Managers, delete all keys under the prefix, and start them: all leases are ' +
        'waited out, everybody joins anew, and look-ups report everything as lost.',
      { details: { key } },
    );
    this.key = key;
  }
}

/**
 * A leader finds that the log ends before the leader's own last entry: etcd was restored from a backup during this
 * leadership. The log has forgotten numbers that others store and compare, so nobody may lead on this log before those
 * numbers are left behind.
 */
export class StoreWentBackError extends StorageError {
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
      'STORE_WENT_BACK',
      `the log in etcd ends before ${position}, which this Manager has written ("${key}"): etcd was put back from a ` +
        'backup. Stop all Managers, raise the counters of the log (`leasehold manager recover --store etcd://…`), and ' +
        'start them.',
      { details: { key, history, term, position } },
    );
    this.key = key;
    this.history = history;
    this.term = term;
    this.position = position;
  }
}

/** Counters are raised only while nobody leads. Nothing was changed. */
export class LeaderAliveError extends InUseError {
  readonly leader: string;

  constructor(leader: string) {
    super(
      'LEADER_ALIVE',
      `the counters of the log cannot be raised while "${leader}" leads. Nothing was changed. Stop all Managers, and ` +
        'try again when the leader key has expired: some seconds after the last of them has stopped.',
      { details: { leader } },
    );
    this.leader = leader;
  }
}
