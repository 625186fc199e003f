/**
 * What members say to each other.
 *
 * What a member has to say to another in one turn travels together in a {@link Packet}: questions about many resources
 * and answers to as many (`outbox.ts`). Answers name the attempt and not the resource; the packet names who answers,
 * in which of its lives, and whom, in which of theirs. So a word that comes twice counts once, and one that was
 * meant for an earlier life, or said by a member of another group, counts for nothing.
 */

import type { Ballot } from './ballot.ts';
import type { Lease } from './lease.ts';
import type { ViewDigest } from './view-digest.ts';

/** "Promise me to heed no lower ballot, and tell me what is written." */
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

/** "Tell me what is written": nothing is promised, so nobody is outbid by it. */
export interface Query {
  readonly kind: 'query';
  readonly attempt: number;
  readonly resource: string;
}

/** To a read. The sender will refuse lower ballots; and this is what it has, under which ballot. */
export interface Promised {
  readonly kind: 'promised';
  readonly attempt: number;
  readonly written: Ballot | undefined;
  readonly lease: Lease | undefined;
}

/** To a query: this is what the sender has, under which ballot. */
export interface Found {
  readonly kind: 'found';
  readonly attempt: number;
  readonly written: Ballot | undefined;
  readonly lease: Lease | undefined;
}

/** To a write: it is written here. */
export interface Accepted {
  readonly kind: 'accepted';
  readonly attempt: number;
}

export type RefusalReason =
  /** Somebody has a higher ballot. */
  | 'outbid'
  /** The attempt began too long ago by the acceptor's clock. */
  | 'late'
  /** It has not begun yet by the acceptor's clock, by more than the skew. */
  | 'early'
  /** The acceptor's clock and the asker's are certainly further apart than the skew. */
  | 'clock-off'
  /** The acceptor has lost its memory and waits until that cannot matter. */
  | 'recovering'
  /** The acceptor knows of a later view of the group, or the asker does. */
  | 'other-view';

/** To any of them. Nothing was changed. */
export interface Refused {
  readonly kind: 'refused';
  readonly attempt: number;
  /** A query counts as a read. */
  readonly of: 'read' | 'write';
  readonly why: RefusalReason;
  /** The round to exceed, if outbid in this interval; how long it will be, in milliseconds, if recovering; else 0. */
  readonly detail: number;
}

/**
 * "This member waits for it", or no longer: said to its holder, who gives it to those who wait, one after the other,
 * and tells whoever has it next who is still waiting.
 */
export interface Wish {
  readonly kind: 'wish' | 'unwish';
  readonly resource: string;
  /** Mostly the sender. */
  readonly member: string;
}

/** "Try again": what you wait for was left for you. A hint, of no consequence if it is lost or false. */
export interface Freed {
  readonly kind: 'freed';
  readonly resource: string;
}

export type Question = Read | Write | Query;
export type Answer = Promised | Found | Accepted | Refused;
export type Item = Question | Answer | Wish | Freed;

export interface Packet {
  /** Members of groups with other names have nothing to say to each other. */
  readonly group: string;
  readonly view: number;
  /** Who is in that view: in one of the same number the receiver must have the same. */
  readonly digest: ViewDigest;
  readonly from: string;
  readonly life: number;
  /** The life that the answers in it are for; 0 if there are none. */
  readonly toLife: number;
  /** When it was sent, by the sender's clock. */
  readonly sentMs: number;
  /** The last packet the sender had from the receiver: when that was sent and when it came, each by its own clock. */
  readonly echo: Echo | undefined;
  /** Both must agree about them. */
  readonly leaseMs: number;
  readonly clockSkewMs: number;
  readonly items: readonly Item[];
}

export interface Echo {
  readonly sentMs: number;
  readonly receivedMs: number;
}

/** No ballot has a higher round: whoever claimed one would outbid all others for the rest of the interval. */
export const ROUND_MAX: number = 2 ** 32;

/** The longest name of a member or a group, in UTF-16 units, as `length` counts. */
export const NAME_CHARACTERS_MAX = 128;

/** The longest name of a resource, in UTF-8. */
export const RESOURCE_BYTES_MAX = 1_024;
