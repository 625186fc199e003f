/** The servers registered in etcd, as one read found them. */

import type { Incarnation, MemberId } from '../incarnation.ts';

export interface Registration extends MemberId {
  /** At which the registration began. */
  readonly revision: number;
}

export interface Registry {
  readonly revision: number;
  /** Each name once. */
  readonly registrations: readonly Registration[];
  /** An incarnation of the reader that can never be registered, because its lease in etcd has ended. */
  readonly failed?: Incarnation | undefined;
}
