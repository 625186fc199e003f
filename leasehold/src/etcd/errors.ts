/** The error of a process that cannot reach etcd, with the next step. */

import { LeaseholdError } from '../runtime/errors.ts';
import type { EtcdRefusalReason } from './client.ts';

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
