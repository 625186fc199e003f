/** The messages of the demo's processes to their parent, a line of JSON each. */

export const POOL = 'presence';

/** The presence of a user, as an owner keeps it. */
export interface Presence {
  readonly user: string;
  readonly status: string;
  /** Grows with every change of the status. */
  readonly version: number;
  /** When the owner received the status, by the clock on the wall. */
  readonly sinceMs: number;
}

export interface Ready {
  readonly kind: 'ready';
  readonly pid: number;
  readonly url: string;
}

export interface OwnerCounts {
  readonly kind: 'owner';
  readonly requests: number;
  /** Answered with a refusal: another owner has the key, or the key was lost meanwhile. */
  readonly misdirected: number;
  readonly users: number;
}

export interface FrontEndCounts {
  readonly kind: 'front-end';
  readonly connected: number;
  readonly published: number;
  /** Users that are connected here and were among lost keys; each time counted. */
  readonly lost: number;
  readonly republished: number;
  /** Sent again, because an owner had gone or was no longer the owner. */
  readonly retried: number;
}

export interface LoadCounts {
  readonly kind: 'load';
  readonly reads: number;
  readonly writes: number;
  /** Reads that found a present user missing or stale. */
  readonly wrong: number;
  /** Reads and writes that were not answered in time. */
  readonly unanswered: number;
  /** Users with a wrong last read. */
  readonly wrongNow: number;
  /** The part of these users that have been wrong for longer than a moment. */
  readonly wrongForLong: number;
  /** From the first wrong read of a user to the next right one, the longest so far. */
  readonly slowestRecoveryMs: number;
}

export type Report = Ready | OwnerCounts | FrontEndCounts | LoadCounts;

export const REPORT_EVERY_MS = 500;
