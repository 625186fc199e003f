/** A stretch of keys of an owner, in one phase (`holdings.ts`). */

import type { Instant } from '../../../runtime/time.ts';
import type { NumberedSpan } from '../messages.ts';

export type Phase =
  | 'loading'
  | 'arriving'
  | 'serving'
  | 'stopping'
  | 'frozen'
  | 'handed'
  | 'revoking'
  | 'lapsed'
  | 'released';

/** `until` and `toldIn` change in place; a change of anything else makes a new piece. */
export interface Piece extends NumberedSpan {
  /** The first number of the unbroken tenure that `number` ends. */
  readonly since: number;
  readonly phase: Phase;
  /** The end of the lease; of no meaning once let go of. */
  until: Instant;
  /** When revoking must be over. */
  revokeBy: Instant | undefined;
  /** The first report that said it was let go of. */
  toldIn: number | undefined;
  /** By which it leaves (stopping, frozen, handed), or came and has yet to be served (arriving, or lapsed meanwhile). */
  readonly ticket: string | undefined;
}
