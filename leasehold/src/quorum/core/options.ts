/**
 * The durations of a replica, and the rules between them.
 *
 *     ask   ├─ renewEveryMs ─┤─ renewEveryMs ─┤─ renewEveryMs ─┤           a lease must survive lost questions
 *           ├────────────────── leaseMs ──────────────────┤
 *     leader ├ heartbeatEveryMs ┤ …                              several heartbeats fit into an election time
 *            ├──────────── electionMs ────────────┤
 */

import { invalidOption } from '../../runtime/errors.ts';
import * as is from '../../runtime/option-kinds.ts';
import { fillIn, type OptionTable, optional, or } from '../../runtime/option-table.ts';

/** The durations of a cell. They must be the same at all replicas. */
export interface QuorumDurations {
  /**
   * How long a promise of a member lets this replica read locally, in milliseconds, counted from the asking. A dead
   * holder delays writes to its keys for 1.2 times as long, and 120 ms.
   *
   * @default 2_000
   */
  leaseMs?: number | undefined;

  /** How often promises are asked for. @default leaseMs / 4 */
  renewEveryMs?: number | undefined;

  /**
   * How long a member hears nothing of a leader before it wants to become one; drawn anew between this and twice this.
   *
   * @default 1_000
   */
  electionMs?: number | undefined;

  /** How often a leader is heard of. @default electionMs / 5 */
  heartbeatEveryMs?: number | undefined;

  /** How long a holder may lag behind what its grantors have accepted before they refuse to renew. @default leaseMs / 2 */
  graceMs?: number | undefined;

  /** How long a read waits for a pending write, or for the leader, before it goes another way. @default electionMs / 2 */
  holdMs?: number | undefined;

  /**
   * How often replicas report what is read and written, and the leader moves readers, if the placement is automatic. Shorter follows
   * the load sooner, and costs a report of up to 150 kB a replica each time.
   *
   * @default 10_000
   */
  reportEveryMs?: number | undefined;

  /** How long a session lives without a request. @default 60_000 */
  sessionMs?: number | undefined;
}

export type ResolvedQuorumDurations = { readonly [name in keyof QuorumDurations]-?: number };

/** No duration of a cell is longer: a day. */
const DURATION_MS_MAX = 24 * 3_600_000;
/** Said once in the documents, for all of them. */
const span = { ...is.from(1, DURATION_MS_MAX), rule: '' };

/** @internal */
export const QUORUM_DURATIONS: OptionTable<
  QuorumDurations,
  'leaseMs' | 'electionMs' | 'sessionMs' | 'reportEveryMs'
> = {
  leaseMs: or(2_000, span),
  renewEveryMs: optional(span, '`leaseMs` / 4'),
  electionMs: or(1_000, span),
  heartbeatEveryMs: optional(span, '`electionMs` / 5'),
  graceMs: optional(span, '`leaseMs` / 2'),
  holdMs: optional(span, '`electionMs` / 2'),
  sessionMs: or(60_000, span),
  reportEveryMs: or(10_000, span),
};

/** @throws {InvalidArgumentError} naming the first rule that is broken */
export function resolveQuorumDurations(durations: QuorumDurations = {}): ResolvedQuorumDurations {
  const { leaseMs, electionMs, sessionMs, reportEveryMs, ...given } = fillIn('', durations, QUORUM_DURATIONS);
  const { renewEveryMs = leaseMs / 4, graceMs = leaseMs / 2 } = given;
  const { heartbeatEveryMs = electionMs / 5, holdMs = electionMs / 2 } = given;
  demand(
    'renewEveryMs',
    renewEveryMs,
    renewEveryMs * 2 <= leaseMs,
    `it must be at most half of leaseMs, which is ${leaseMs}`,
  );
  const electionRule = `it must be at most a third of electionMs, which is ${electionMs}`;
  demand('heartbeatEveryMs', heartbeatEveryMs, heartbeatEveryMs * 3 <= electionMs, electionRule);
  return { leaseMs, renewEveryMs, electionMs, heartbeatEveryMs, graceMs, holdMs, sessionMs, reportEveryMs };
}

function demand(option: string, value: number, holds: boolean, rule: string): void {
  if (!holds) throw invalidOption(option, value, rule);
}

/** How much a replica takes on at a time. */
export interface QuorumLimits {
  /** Slots that are proposed and not chosen. */
  readonly slotsInFlight: number;
  /** Requests that wait at the leader. */
  readonly requestsWaiting: number;
  /** Requests in one slot. */
  readonly requestsPerSlot: number;
  /** The size of the requests in one slot, unless a single request is larger. */
  readonly bytesPerSlot: number;
  /** Entries in one message to a peer. */
  readonly entriesPerMessage: number;
  /** The size of the entries in one message, unless a single entry is larger. */
  readonly bytesPerMessage: number;
  /** The size of one part of a snapshot on its way to a peer, unless a single value is larger. */
  readonly bytesPerPart: number;
  /** A snapshot is taken after so many committed slots. */
  readonly slotsPerSnapshot: number;
  /** A snapshot is also taken after so many bytes. */
  readonly bytesPerSnapshot: number;
  /** Slots that are kept behind the snapshot, for peers that lag. */
  readonly slotsKept: number;
  /** The size of the slots that are kept behind the snapshot, at most. */
  readonly bytesKept: number;
  /** The size of the results that one session keeps for copies of its requests. The same at every replica. */
  readonly resultBytesPerSession: number;
  /** The size of the results that all sessions keep. The same at every replica. */
  readonly resultBytes: number;
  /** A learner may become a member when it lags by no more than this. */
  readonly slotsBehind: number;
}

export const DEFAULT_LIMITS: QuorumLimits = {
  slotsInFlight: 64,
  requestsWaiting: 10_000,
  requestsPerSlot: 1_024,
  bytesPerSlot: 1024 * 1024,
  entriesPerMessage: 64,
  bytesPerMessage: 4 * 1024 * 1024,
  bytesPerPart: 1024 * 1024,
  slotsPerSnapshot: 10_000,
  bytesPerSnapshot: 64 * 1024 * 1024,
  slotsKept: 2_000,
  bytesKept: 64 * 1024 * 1024,
  resultBytesPerSession: 4 * 1024 * 1024,
  resultBytes: 64 * 1024 * 1024,
  slotsBehind: 64,
};
