/**
 * The messages between owners, look-ups, supervisors and Managers.
 *
 * Every message can be lost, repeated, delayed without bound, or overtaken by a later one. Two
 * orders put that right: a Manager's messages to an owner are ordered by (term, sequence), an
 * owner's reports by their sequence; a receiver takes no notice of an older one. What an owner has
 * let go of is outside that order, because it is true for ever.
 *
 * Ranges travel as linear spans, `start < end <= 2^64`: a range across the zero point is two.
 */

import type { Span } from '../../runtime/keys/range.ts';
import type { Transfer } from './moves/seam.ts';

/** The furthest point of a log that the sender has heard of. */
export interface Seen {
  readonly history: string;
  readonly term: number;
  readonly position: number;
  /** The Manager's stamp of this term and position. Without the stamp a claim only tells which rows the sender lacks. */
  readonly stamp?: string | undefined;
}

/** Keys held, or once held, under a lease number. */
export interface NumberedSpan extends Span {
  readonly number: number;
}

/**
 * `released`: the owner has stopped and has dropped the state of these keys. `lapsed`: the lease expired by the owner's
 * clock; the owner has stopped but keeps the state, in case the Manager says that no other owner can have held the keys.
 */
export interface LetGo extends NumberedSpan {
  readonly how: 'released' | 'lapsed';
}

/** One move of one span of keys, from the owner that holds it under `number`. The ticket is unlike any other. */
export interface TicketSpan extends NumberedSpan {
  readonly ticket: string;
}

/** A move that this owner is the source of, and that has not come to its end. */
export interface Moving extends TicketSpan {
  readonly to: string;
  readonly bytes: number;
}

/** A move that this owner is the target of. With the digest: everything is staged, and is kept until the table has decided. */
export interface Receiving extends TicketSpan {
  readonly from: string;
  readonly digest: string | undefined;
}

/**
 * A move that the target has acknowledged. The source serves these keys under this number no more, for ever, and keeps the memory of them
 * until the table shows another number.
 */
export interface Handed extends TicketSpan {
  readonly to: string;
  /** How much was sent. */
  readonly bytes: number;
  readonly digest: string;
}

/**
 * `cordoned`: the owner takes no more keys. `emptying`: and it wants to hand over those it has, and stays a member without keys.
 * `draining`: and then it leaves.
 */
export type Intent = 'stay' | 'cordoned' | 'emptying' | 'draining';

/** Whether an owner with this intent hands over what it has. */
export const handsAllOver = (intent: Intent | undefined): boolean =>
  intent === 'draining' || intent === 'emptying';

/**
 * Owner → Manager. "I live; these keys I hold, and these I have let go of."
 *
 * The sender promises never again to use a number for keys it has let go of under it. What is in
 * neither list means nothing. The lease that an answer gives runs from the instant this was sent.
 */
export interface Report {
  readonly kind: 'report';
  readonly pool: string;
  /** One run of one owner process, unlike any other that ever was. */
  readonly incarnation: string;
  /** The same after a restart; decides where the ranges of this owner lie. */
  readonly name: string;
  /** The url that look-ups hand to callers. */
  readonly url: string;
  /** The digest of the secret that a death certificate for this process would show. */
  readonly proof: string | undefined;
  readonly sequence: number;
  /** False for a mere acknowledgement, which need not be answered. */
  readonly wantsAnswer: boolean;
  /** The latest update this owner took notice of. */
  readonly heard: { readonly term: number; readonly sequence: number } | undefined;
  readonly seen: Seen | undefined;
  readonly held: readonly NumberedSpan[];
  readonly letGo: readonly LetGo[];
  /** The owner wants to hold nothing any more. */
  readonly leaving: boolean;
  /** Requests per second, or another figure that the policy in use understands. */
  readonly load: number;
  /** Where other owners bring state, and which state this owner can be brought. An owner without it is given no tickets. */
  readonly transfer?: Transfer | undefined;
  /** @default stay */
  readonly intent?: Intent | undefined;
  /** All of them. A ticket that the owner has heard of, and that is in none of the three lists, it has abandoned for ever. */
  readonly moving?: readonly Moving[] | undefined;
  readonly receiving?: readonly Receiving[] | undefined;
  readonly handed?: readonly Handed[] | undefined;
}

/**
 * Owner → Manager, before the first report on a connection. "This connection speaks for the incarnation", see
 * `incarnation.ts`.
 */
export interface Prove {
  readonly kind: 'prove';
  readonly pool: string;
  readonly incarnation: string;
  /** The public key of which the incarnation is the hash. */
  readonly key: string;
  /** Of the connection's channel, the pool and the incarnation. */
  readonly signature: string;
}

export interface GrantedSpan extends NumberedSpan {
  /** The owner should give these keys back. */
  readonly recalled: boolean;
  /**
   * The numbers under which the same owner held these keys immediately before, where no other owner
   * can have held them in between.
   */
  readonly continues: readonly NumberedSpan[];
}

/**
 * Manager → owner. "This is all that is yours." Every span is committed, and the Manager promises to grant none of them
 * to another owner until this owner has released the span, is proved dead, or `holdMs` have passed since the Manager
 * received the acknowledged report. A span that is not listed means nothing.
 */
export interface Update {
  readonly kind: 'update';
  readonly pool: string;
  readonly incarnation: string;
  readonly history: string;
  readonly term: number;
  readonly sequence: number;
  /** The position of the log at which this is true. */
  readonly position: number;
  /** Of term and position, see `manager/stamps.ts`; undefined if the log has no key yet. */
  readonly stamp?: string | undefined;
  /** The report that starts the lease, when it is sent. */
  readonly acknowledges: number;
  readonly leaseMs: number;
  readonly pace: OwnerPace;
  /**
   * Whether the receiver is a member. If not, this only asks the candidate to confirm the update by its next report: a
   * report can come late, from a process that is gone, but a confirmation of this update cannot.
   */
  readonly admitted: boolean;
  readonly spans: readonly GrantedSpan[];
  /** Keys that the receiver should hand over, and to whom. */
  readonly moves?: readonly MoveOrder[] | undefined;
  /** Keys that will be brought to the receiver. */
  readonly incoming?: readonly Expected[] | undefined;
  /** Which of the spans came by a ticket, until the owner reports that it holds them: it must not take them without that state. */
  readonly arrived?: readonly TicketSpan[] | undefined;
  /** What the receiver should intend: another process has joined under its name, or an operator wants so. */
  readonly asked?: Intent | undefined;
  /** To an owner that hands all over: how many owners could take its keys; undefined as long as the leader does not know. */
  readonly targets?: number | undefined;
}

/**
 * "Hand these keys over to that owner." The target has been told already. An update withdraws a ticket only if it acknowledges a report
 * that named the ticket; otherwise absence means nothing.
 */
export interface MoveOrder extends TicketSpan {
  readonly to: string;
  /** The name of that owner: the process at the address has to show a grant of this name. */
  readonly toName: string;
  readonly address: string;
}

/** "That owner will bring you these keys." */
export interface Expected extends TicketSpan {
  readonly from: string;
  /** The name of that owner: the process that dials has to show a grant of this name. */
  readonly fromName: string;
}

/**
 * The durations of a lease, in milliseconds, from the Manager's configuration. The tolerance is
 * part of the promise: the hold covers suspensions shorter than that, and no others.
 */
export interface OwnerPace {
  readonly renewEveryMs: number;
  readonly retryMs: number;
  readonly revokeTimeoutMs: number;
  readonly suspensionToleranceMs: number;
}

/** How often a look-up syncs, and when a look-up counts as cut off, in milliseconds. */
export interface LookupPace {
  readonly syncEveryMs: number;
  readonly staleAfterMs: number;
  readonly retryMs: number;
}

/** The owner of a range: its name, its incarnation and the address for callers. */
export interface OwnerAddress {
  readonly incarnation: string;
  readonly name: string;
  readonly url: string;
}

/** A row of the lease table as look-ups see it. */
export interface TableRow extends Span {
  readonly owner: OwnerAddress | undefined;
  readonly number: number;
  /** The position at which these keys last lost their state; 0 if never. */
  readonly lostAt: number;
}

/** Look-up → Manager. "I am at this position; what has changed?" */
export interface Sync {
  readonly kind: 'sync';
  readonly pool: string;
  readonly lookup: string;
  readonly sequence: number;
  readonly seen: Seen | undefined;
}

/**
 * Manager → look-up. "A look-up at position `from` or later is at `to` with these rows." A
 * snapshot has `from` 0 and all rows. With `answers`, the Manager promises that at some instant
 * after the sync was received the log held nothing beyond `to`, or that nothing beyond `to` can have
 * been committed longer ago than a leader lease.
 */
export interface Changes {
  readonly kind: 'changes';
  readonly pool: string;
  readonly history: string;
  readonly term: number;
  readonly from: number;
  readonly to: number;
  /** Of `term` and `to`; undefined if the log has no key yet. */
  readonly stamp?: string | undefined;
  readonly rows: readonly TableRow[];
  readonly answers: { readonly lookup: string; readonly sequence: number } | undefined;
  /** Goes with an answer. */
  readonly pace: LookupPace | undefined;
}

/** Supervisor → Manager. "The process that knew this secret has ended, and I have reaped it." */
export interface Certificate {
  readonly kind: 'certificate';
  readonly secret: string;
}

/** Manager → supervisor. "The keys of that process are free, or it held none." */
export interface Certified {
  readonly kind: 'certified';
  readonly proof: string;
}

/**
 * Manager → owner or look-up. "Not like this." Promises nothing, and takes nothing back: a member stays a
 * member. If the refusal is `retryable`, time may end it; otherwise an operator has to.
 */
export interface Refused {
  readonly kind: 'refused';
  readonly pool: string;
  /** The incarnation or the look-up that is meant. */
  readonly asker: string;
  /**
   * `UNKNOWN_POOL`: pools must be declared here; or, retryable, no owner has joined the pool. `URL_IN_USE`: a member of another name has this url. `BUSY`: the
   * owner is in line to be admitted. `FULL`: there is no room for another candidate. `TOO_MANY_POOLS`: nor for another pool.
   */
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

/**
 * Manager → owner. "I do not lead; ask there." Promises nothing: only a leader can, and only the Manager that is
 * named can say whether it still leads.
 */
export interface NotLeader {
  readonly kind: 'notLeader';
  readonly pool: string;
  readonly incarnation: string;
  /** The latest term that the sender knows of. */
  readonly term: number;
  /** Where the Manager that leads in it said it can be reached. */
  readonly leader: string;
}

/** Owner or look-up → every Manager in its list. "Do you lead, and which history?" See `history-watch.ts`. */
export interface Probe {
  readonly kind: 'probe';
  /** The incarnation or the look-up that asks. */
  readonly asker: string;
  readonly round: number;
}

/**
 * Manager → owner or look-up. "At some instant after I received that probe, I led this history in this term", or "I led none".
 * A leader that waits before it grants keys says so too.
 */
export interface Role {
  readonly kind: 'role';
  readonly asker: string;
  readonly round: number;
  readonly leads: Leadership | undefined;
}

/** One log has one leader in each term. So two leader ids for one history and term are leaders of two logs. */
export interface Leadership {
  readonly history: string;
  readonly term: number;
  /** Random, drawn by the process that leads. */
  readonly leader: string;
  /** How long an owner that follows this leader may hold keys after the leader was last heard, in milliseconds. */
  readonly holdMs: number;
  /**
   * Whether several Managers share the log (etcd, a group), so that a successor may be elected while this leader does not
   * know so yet. A log in a directory has one Manager.
   */
  readonly isLogShared: boolean;
}

export type ToManager = Report | Sync | Certificate | Probe;
/** The messages that a Manager's gate hears; the core hears no proofs. */
export type ToGate = ToManager | Prove;
export type ToOwner = Update | Refused | NotLeader | Role;
export type ToLookup = Changes | Refused | Role;
export type ToSupervisor = Certified;
export type FromManager = ToOwner | ToLookup | ToSupervisor;
