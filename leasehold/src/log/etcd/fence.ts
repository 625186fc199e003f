/**
 * Our identity in etcd: the leader key, as we created it.
 *
 * Every transaction of a leader compares the key. A key is created at one revision, and a later key of the same name
 * has a later revision; so from the election of a successor on, no transaction of ours that is still on the way can
 * succeed, regardless of the time of arrival.
 *
 * The value is compared as well: it names our lease, which is ours alone. That matters after a restore from a backup.
 * Revisions go back with the store, and the next leader's key may be created at the very revision at which ours was,
 * in the time that is gone.
 */

import type { DeposedReason } from '../log.ts';
import type { EtcdCompare, EtcdKeyValue } from '../../etcd/client.ts';
import { sameBytes } from '../../etcd/values.ts';

export class Fence {
  readonly createRevision: number;
  readonly compare: readonly EtcdCompare[];
  readonly #value: Uint8Array;

  constructor(key: string, createRevision: number, value: Uint8Array) {
    this.createRevision = createRevision;
    this.#value = value;
    this.compare = [
      { key, createRevision },
      { key, value },
    ];
  }

  isOurs(found: EtcdKeyValue | undefined): boolean {
    return found?.createRevision === this.createRevision && sameBytes(found.value, this.#value);
  }

  /** Why we lead no longer, if this was found in place of our key. */
  reason(found: EtcdKeyValue | undefined): DeposedReason {
    return found === undefined ? 'lease-ended' : 'superseded';
  }
}
