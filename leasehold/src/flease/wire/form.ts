/**
 * The form of a packet in a frame. All that is said of it is here, in `encode.ts` and in `decode.ts`;
 * `docs/flease-protocol.md` says it in English.
 *
 *     packet   group  view  members  before  from  incarnation  toIncarnation  sentMs  leaseMs  clockSkewMs  takeoverMs  echo  item item … until the frame ends
 *
 *      1  read       attempt  resource  askedMs  round
 *      2  write      attempt  resource  askedMs  round  lease
 *      3  promised   attempt                                   nothing is written there
 *      4  promised   attempt  askedMs  round  member  incarnation  attempt  lease
 *      5  accepted   attempt
 *      6  refused    attempt  why  detail                      a read or a query
 *      7  refused    attempt  why  detail                      a write
 *      8  enqueue    resource  member
 *      9  dequeue    resource  member
 *     10  notify     resource
 *     11  query      attempt  resource
 *     12  found      attempt                                   nothing is written there
 *     13  found      attempt  askedMs  round  member  incarnation  attempt  lease
 *
 *     lease    holder  incarnation  number  untilMs  state  successor?
 *
 * There is no count of the items, so there is none to believe: a packet that is too long for a frame is cut between
 * two items, and each piece gets the same head. Digests have four bytes. Small numbers are varints, times and numbers
 * that are large anyway are doubles: 51 bits take eight bytes either way, and a double is quicker to write.
 *
 * Members are few and are named often. A name is the place that it has among the names of this packet; the
 * sender's is 0. The first free place means that the name itself follows, and has that place from then on.
 */

import type { Lease } from '../lease.ts';
import type { RefusalReason } from '../messages.ts';

export const KIND = {
  read: 1,
  write: 2,
  promisedNothing: 3,
  promised: 4,
  accepted: 5,
  refusedRead: 6,
  refusedWrite: 7,
  enqueue: 8,
  dequeue: 9,
  notify: 10,
  query: 11,
  foundNothing: 12,
  found: 13,
} as const;

/** In the order of their numbers, from 0. */
export const REASONS: readonly RefusalReason[] = [
  'outbid',
  'late',
  'early',
  'clock-off',
  'recovering',
  'other-view',
];

/** In the order of their numbers, from 0. */
export const STATES: readonly Lease['state'][] = ['held', 'free', 'left'];
