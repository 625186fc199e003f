/**
 * Who we are in etcd: the leader key, as we created it.
 *
 * Every transaction of a leader compares it. A key is created at one revision, and when it goes and another
 * is created in its place, that has a later one; so from the instant at which a successor is elected, no
 * transaction of ours that is still on its way can succeed, however late it arrives.
 *
 * The value is compared as well: it names our lease, which is ours alone. That matters when the store was
 * put back from a backup. Its revisions go back with it, and the next leader's key may well be created at
 * the very revision at which ours was, in the time that is gone.
 */

import type { DeposedReason } from '../log.ts';
import type { EtcdCompare, EtcdKeyValue } from './client.ts';
import { sameBytes } from './layout.ts';

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

  /** Why we lead no longer, if this was found in the place of our key. */
  reason(found: EtcdKeyValue | undefined): DeposedReason {
    return found === undefined ? 'lease-ended' : 'superseded';
  }
}
