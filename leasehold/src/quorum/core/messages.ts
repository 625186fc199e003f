/**
 * What replicas say to each other.
 *
 * Every message can be lost, repeated, delayed without bound, or overtaken by a later one. The sender is named by its
 * storage id, which the transport vouches for; two processes with different directories are different senders even
 * if one took the other's place.
 */

import type { Instant } from '../../runtime/time.ts';
import type { Ballot } from './ballot.ts';
import type { Configuration, Electorate, Mask } from './configuration.ts';
import type { Entry } from './log.ts';
import type { Operation, Request } from './operation.ts';
import type { ReadAnswer } from './answer.ts';
import type { Found } from './result.ts';
import type { SessionSnapshot } from './sessions.ts';
import type { SnapshotPart } from './snapshot.ts';
import type { TakenOver } from './copy.ts';
import type { Usage } from './placement/usage.ts';

/** Candidate → members. "Would you promise this ballot? I have the log up to `last`." Changes nothing. */
export interface PreVote {
  readonly kind: 'pre-vote';
  readonly ballot: Ballot;
  readonly last: number;
}

/**
 * Member → candidate. A no names the highest ballot that was promised here, if that is higher: the candidate may never have heard of it, and the
 * candidate to which it was promised may be gone. Without that word the only member that can be elected would ask for too low a ballot for ever.
 */
export interface PreVoted {
  readonly kind: 'pre-voted';
  /** The ballot of the question, or the promised one. */
  readonly ballot: Ballot;
  readonly isYes: boolean;
}

/** Candidate → members. "Accept nothing below this ballot, and tell me what you have after `chosen`." */
export interface Prepare {
  readonly kind: 'prepare';
  readonly ballot: Ballot;
  readonly chosen: number;
}

/** Member → candidate. The promised ballot is durable; `entries` begin after the candidate's chosen prefix. */
export interface Prepared {
  readonly kind: 'prepared';
  readonly ballot: Ballot;
  readonly chosen: number;
  readonly committed: number;
  readonly entries: readonly Entry[];
  /** How many frames with votes the sender has, the one of this promise included. */
  readonly votes: number;
  /** False for a copy that may have forgotten votes (`copy.ts`). */
  readonly isComplete: boolean;
}

/** Member → candidate or leader. "I have promised a higher ballot than `ballot`, or you are behind my snapshot." */
export interface Refused {
  readonly kind: 'refused';
  readonly ballot: Ballot;
  readonly promised: Ballot;
}

/** Leader → members and learners. Entries from slot `first` on; without entries it is a heartbeat. */
export interface Accept {
  readonly kind: 'accept';
  readonly ballot: Ballot;
  /** The end of the leader's log when its term began: what others have beyond it from before was never chosen. */
  readonly merged: number;
  readonly first: number;
  readonly operations: readonly Operation[];
  readonly chosen: number;
  readonly committed: number;
}

/** Member → leader. "I lack the slots from `from` on." */
export interface Gap {
  readonly kind: 'gap';
  readonly ballot: Ballot;
  readonly from: number;
}

/** Leader → a replica that needs slots which the leader has only in its snapshot: a part of the snapshot. */
export interface Install {
  readonly kind: 'install';
  readonly ballot: Ballot;
  readonly merged: number;
  /** The snapshot is as of this slot. */
  readonly slot: number;
  readonly configuration: Configuration;
  /** How many values and sessions were in the parts before. */
  readonly first: number;
  readonly values: readonly Found[];
  /** After all values. A session may come in several pieces. */
  readonly sessions: readonly SessionSnapshot[];
  readonly isLast: boolean;
}

/** Replica → leader. "Of the snapshot as of this slot, send me the values and sessions from `next` on." */
export interface Installing {
  readonly kind: 'installing';
  readonly ballot: Ballot;
  readonly slot: number;
  readonly next: number;
}

/**
 * Member → everybody. "In this ballot I have all up to `upTo`, durably; and I have promised the seats in `mask`." The
 * `committed` prefix is what the sender knows to be committed.
 */
export interface Accepted {
  readonly kind: 'accepted';
  readonly ballot: Ballot;
  readonly upTo: number;
  readonly committed: number;
  /** The committed prefix that the sender will know of after a restart. */
  readonly settled: number;
  readonly life: number;
  readonly number: number;
  readonly mask: Mask;
  /** How many frames with votes the sender has, those of this acknowledgement included. */
  readonly votes: number;
}

/** Holder → members. "Promise me, for a lease that I count from before I sent this." */
export interface Ask {
  readonly kind: 'ask';
  readonly life: number;
  readonly number: number;
  readonly leaseMs: number;
  /** What the holder has synced: a grantor refuses one whose disk does not keep up. */
  readonly ballot: Ballot;
  readonly upTo: number;
}

/** Grantor → holder. "Promised; the last slot of my log, of whatever ballot, is `last`, and my clock shows `stamp`." */
export interface LeasePromise {
  readonly kind: 'promise';
  readonly life: number;
  readonly number: number;
  readonly last: number;
  /** By the clock of the grantor, between being asked and sending this. */
  readonly stamp: Instant;
  /** The life of the grantor: another one counts from another beginning. */
  readonly by: number;
}

/** Holder → members. "I no longer use what I asked for, up to this question." */
export interface Release {
  readonly kind: 'release';
  readonly life: number;
  readonly number: number;
  /** The disk of the holder is full: it can neither accept nor promise. Otherwise the process is about to end. */
  readonly isDiskFull: boolean;
}

/** Replica → leader. Requests of clients, to be proposed. */
export interface Forward {
  readonly kind: 'forward';
  readonly requests: readonly Request[];
}

/** Replica → leader. "Read these keys for me, as a holder." */
export interface RemoteRead {
  readonly kind: 'remote-read';
  readonly id: number;
  readonly keys: readonly string[];
}

/** Leader → replica. No answer means: the leader may not read either. */
export interface RemoteAnswer {
  readonly kind: 'remote-answer';
  readonly id: number;
  readonly answer: ReadAnswer | undefined;
}

/** Replica → members. "What is the last slot of your log?" For a read without clocks. */
export interface Query {
  readonly kind: 'query';
  readonly id: number;
}

export interface Queried {
  readonly kind: 'queried';
  readonly id: number;
  readonly last: number;
}

/** A replica without a seat → members. "Feed me." */
export interface Join {
  readonly kind: 'join';
}

/** Leader → the member that is to lead next. "You have everything; begin now, without a pre-vote." */
export interface LeadNow {
  readonly kind: 'lead-now';
  readonly ballot: Ballot;
}

/**
 * Replica that lacks slots which are chosen → member. "Send me the slots from `first` to `last`, as many as fit; or, if they are compacted
 * away, your state. I have the first `next` values and sessions of your state as of slot `partOf`."
 */
export interface Fetch {
  readonly kind: 'fetch';
  readonly first: number;
  readonly last: number;
  /** 0: of none. */
  readonly partOf: number;
  readonly next: number;
}

/** A question of a replica that has nothing of a state. */
export const fetchOf = (first: number, last: number): Fetch => ({
  ...{ kind: 'fetch', first, last, partOf: 0, next: 0 },
});

/** Replica that follows a new leader → leader. "Send me these slots as well, which I know to be chosen; I compare them." */
export interface Compare {
  readonly kind: 'compare';
  readonly first: number;
  readonly last: number;
}

/** Chosen entries from slot `first` on, or a part of a snapshot as of the slot before: a bounded piece (`serving.ts`). */
export interface Fetched {
  readonly kind: 'fetched';
  readonly first: number;
  readonly operations: readonly Operation[];
  readonly part: SnapshotPart | undefined;
}

/** Member → leader. What its clients read and write, and how far away the others are; for automatic placement. */
export interface UsageReport {
  readonly kind: 'usage';
  readonly usage: Usage;
}

/** A replica that has started → members. "How many frames with votes have you heard of me?" */
export interface CheckIn {
  readonly kind: 'check-in';
  /** Drawn by the process, so that an answer to an earlier start is not taken for one to this. */
  readonly nonce: number;
}

/**
 * Member → the replica that has started: the highest count that the member heard of it, the newest configuration, and what a copy takes over
 * (`copy.ts`).
 */
export interface CheckedIn extends TakenOver {
  readonly kind: 'checked-in';
  readonly nonce: number;
  readonly votes: number;
  /** The newest configuration in the sender's log, without the placement, and its slot. */
  readonly slot: number;
  readonly configuration: Electorate;
}

export type Message =
  | PreVote
  | PreVoted
  | Prepare
  | Prepared
  | Refused
  | Accept
  | Gap
  | Install
  | Installing
  | Accepted
  | Ask
  | LeasePromise
  | Release
  | Forward
  | RemoteRead
  | RemoteAnswer
  | Query
  | Queried
  | Join
  | LeadNow
  | Fetch
  | Compare
  | Fetched
  | UsageReport
  | CheckIn
  | CheckedIn;
