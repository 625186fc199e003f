/** The errors of a process that uses etcd, each with the next step. */

import { LeaseholdError } from '../runtime/errors.ts';
import type { EtcdRefusalReason } from './client.ts';

const ANOTHER_PREFIX =
  'Choose another prefix, or the name of the cluster whose log this is; or, if nobody needs what is there, delete all keys under the prefix.';

/**
 * The keys under the prefix belong to something else: to another cluster of Managers or another group, or to neither. Nothing was written.
 */
export class PrefixInUseError extends LeaseholdError {
  override readonly name = 'PrefixInUseError';
  readonly code = 'PREFIX_IN_USE';
  readonly retryable = false;
  readonly key: string;

  constructor(key: string, finding: string, advice: string = ANOTHER_PREFIX) {
    super(`the key "${key}" in etcd ${finding}. Nothing was written. ${advice}`);
    this.key = key;
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
