/**
 * The messages between members.
 *
 * Everything that one member sends to another in one turn travels in one {@link Packet}: questions about many
 * resources and answers to as many (`runtime/outbox.ts`). An answer names the attempt and not the resource; the packet names
 * the sender and the receiver, each with its incarnation. So a duplicate counts once, and a message for an earlier
 * incarnation, or from another group, counts for nothing.
 */

import type { Ballot } from './ballot.ts';
import type { Lease } from './lease.ts';
import type { ViewDigest } from './view-digest.ts';

/** "Promise to refuse lower ballots, and report the written lease." */
export interface Read {
  readonly kind: 'read';
  readonly attempt: number;
  readonly resource: string;
  readonly askedMs: number;
  readonly round: number;
}

/** "Write this, unless you have promised a higher ballot." */
export interface Write {
  readonly kind: 'write';
  readonly attempt: number;
  readonly resource: string;
  readonly askedMs: number;
  readonly round: number;
  readonly lease: Lease;
}

/** "Report the written lease": needs no promise, so a query outbids nobody. */
export interface Query {
  readonly kind: 'query';
  readonly attempt: number;
  readonly resource: string;
}

/** Answers a read: the sender will refuse lower ballots, and reports the written lease with its ballot. */
export interface Promised {
  readonly kind: 'promised';
  readonly attempt: number;
  readonly written: Ballot | undefined;
  readonly lease: Lease | undefined;
}

/** Answers a query: the written lease with its ballot. */
export interface Found {
  readonly kind: 'found';
  readonly attempt: number;
  readonly written: Ballot | undefined;
  readonly lease: Lease | undefined;
}

/** Answers a write: the lease is written. */
export interface Accepted {
  readonly kind: 'accepted';
  readonly attempt: number;
}

export type RefusalReason =
  /** A rival has a higher ballot. */
  | 'outbid'
  /** By the acceptor's clock, the attempt began too long ago. */
  | 'late'
  /** By the acceptor's clock, the attempt begins in the future, by more than the skew. */
  | 'early'
  /** The clocks of acceptor and proposer are certainly further apart than the skew. */
  | 'clock-off'
  /** The acceptor has lost its memory and waits until the loss cannot matter. */
  | 'recovering'
  /** The acceptor or the proposer knows of a later view of the group. */
  | 'other-view';

/** Answers any question. Nothing was changed. */
export interface Refused {
  readonly kind: 'refused';
  readonly attempt: number;
  /** A query counts as a read. */
  readonly of: 'read' | 'write';
  readonly why: RefusalReason;
  /** If outbid in this interval, the round to exceed; if recovering, for how many milliseconds; else 0. */
  readonly detail: number;
}

/**
 * "This member waits for the lease", or no longer: sent to the holder, which leaves the lease to the waiting members,
 * one after the other, and passes the rest of the waiting line on to the next holder.
 */
export interface QueueChange {
  readonly kind: 'enqueue' | 'dequeue';
  readonly resource: string;
  /** Mostly the sender. */
  readonly member: string;
}

/** "Try again": the lease may be free. A hint: safety does not depend on its arrival or truth. */
export interface Notify {
  readonly kind: 'notify';
  readonly resource: string;
}

export type Question = Read | Write | Query;
export type Answer = Promised | Found | Accepted | Refused;
export type Item = Question | Answer | QueueChange | Notify;

export const isAnswer = ({ kind }: Item): boolean =>
  kind === 'promised' || kind === 'found' || kind === 'accepted' || kind === 'refused';

export interface Packet {
  /** Members of groups with different names ignore each other. */
  readonly group: string;
  readonly view: number;
  /** Of the members in that view: the receiver must have the same digest for the same number. */
  readonly digest: ViewDigest;
  readonly from: string;
  readonly incarnation: number;
  /** The incarnation that the answers are for; 0 if there are none. */
  readonly toIncarnation: number;
  /** By the sender's clock. */
  readonly sentMs: number;
  /** The last packet from the receiver: when it was sent and when it arrived, each by its own clock. */
  readonly echo: Echo | undefined;
  /** Sender and receiver must have the same values of all three. */
  readonly leaseMs: number;
  readonly clockSkewMs: number;
  /** How long a new holder waits before it acts (`options.ts`); 0 in a group whose holders promise nothing. */
  readonly takeoverMs: number;
  readonly items: readonly Item[];
}

export interface Echo {
  readonly sentMs: number;
  readonly receivedMs: number;
}

/**
 * So many items to one member do not wait for more. One input may add more to the same packet. Packets of this size are a tenth to
 * a third faster than those of whole turns (`docs/decisions/0019-how-much-a-packet-waits-for.md`).
 */
export const ITEMS_ENOUGH = 64;

/** The limit of rounds: a ballot without a limit could outbid all others for the rest of the interval. */
export const ROUND_MAX: number = 2 ** 32;

/** The longest name of a resource, in UTF-8. */
export const RESOURCE_BYTES_MAX = 1_024;
