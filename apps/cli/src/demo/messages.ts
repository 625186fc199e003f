/** What the processes of the demo tell the one that started them, a line of JSON each. */

export const POOL = 'presence';

/** Who is present, as an owner keeps it. */
export interface Presence {
  readonly user: string;
  readonly status: string;
  /** Grows with every change of the status. */
  readonly version: number;
  /** When the owner heard of it, by the clock on the wall. */
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
  /** Answered 421: another has the key. */
  readonly misdirected: number;
  readonly users: number;
}

export interface FrontEndCounts {
  readonly kind: 'front-end';
  readonly connected: number;
  readonly published: number;
  /** Users who are connected here and were among lost keys; each time counted. */
  readonly lost: number;
  readonly republished: number;
  /** Sent again, because an owner had gone or was no longer the owner. */
  readonly retried: number;
}

export interface LoadCounts {
  readonly kind: 'load';
  readonly reads: number;
  readonly writes: number;
  /** Reads that found a user missing or stale who should have been there. */
  readonly wrong: number;
  /** Reads and writes that were not answered in time. */
  readonly unanswered: number;
  /** Users whose last read was wrong. */
  readonly wrongNow: number;
  /** Those of them who have been for longer than a moment. */
  readonly wrongForLong: number;
  /** From the first wrong read of a user to the next right one, the longest so far. */
  readonly slowestRecoveryMs: number;
}

export type Report = Ready | OwnerCounts | FrontEndCounts | LoadCounts;

export const REPORT_EVERY_MS = 500;
