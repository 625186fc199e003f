/** The errors of a process that uses etcd, each with the next step. */

import { InUseError, UnavailableError } from '../runtime/errors.ts';
import type { EtcdRefusalReason } from './client.ts';

const ANOTHER_PREFIX =
  'Choose another prefix, or the name of the cluster whose log this is; or, if nobody needs what is there, delete all keys under the prefix.';

/**
 * The keys under the prefix belong to something else: to another cluster of Managers or another group, or to neither. Nothing was written.
 */
export class PrefixInUseError extends InUseError {
  readonly key: string;

  constructor(key: string, finding: string, advice: string = ANOTHER_PREFIX) {
    super('PREFIX_IN_USE', `the key "${key}" in etcd ${finding}. Nothing was written. ${advice}`, {
      retryable: false,
      details: { key },
    });
    this.key = key;
  }
}

/** etcd did not answer in time, or refused. Nothing is open; the requested write may have been made. */
export class EtcdUnavailableError extends UnavailableError {
  /** Undefined: no answer. */
  readonly reason: EtcdRefusalReason | undefined;

  constructor(doing: string, why: string, reason: EtcdRefusalReason | undefined) {
    super('ETCD_UNAVAILABLE', `could not ${doing}: ${ADVICE[reason ?? 'unavailable']} etcd: ${why}`, {
      retryable: reason !== 'denied' && reason !== 'divided',
      details: { reason },
    });
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
