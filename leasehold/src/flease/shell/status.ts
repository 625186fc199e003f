/**
 * The state of a member, and how the member sees the peers. Every `why` comes with a text, so that a program that
 * shows the status needs no dictionary, not even a program of another version over HTTP.
 */

import type { PeerTrouble } from '../core/peer-table.ts';
import type { RecoveryReason } from '../core/wording.ts';
import type { View } from '../core/view.ts';
import type { Status } from '../../runtime/handle.ts';

export interface PeerStatus {
  readonly name: string;
  readonly address: string | undefined;
  readonly connected: boolean;
  /** Undefined: never. */
  readonly heardAgoMs: number | undefined;
  /** How far the peer's clock is ahead of ours, as far as that is certain. */
  readonly clockAheadMs: { readonly atLeast: number; readonly atMost: number } | undefined;
  /** Why the peer cannot be reached, has never connected to us, or acknowledges nothing, in words. */
  readonly problem: string | undefined;
  /** The fault of the peer's last packet. */
  readonly trouble: { readonly why: PeerTrouble['why']; readonly words: string } | undefined;
  /** The durations that the peer was started with, if they differ from ours; then neither member heeds the other. */
  readonly otherDurations: { readonly leaseMs: number; readonly clockSkewMs: number } | undefined;
}

/** How a member sees its cell, which is the `instance`. */
export interface FleaseStatus extends Status {
  readonly module: 'flease';
  readonly role: 'member';
  readonly name: string;
  readonly peersVersion: number;
  /** False while members of the version before are still needed for a majority. */
  readonly isSettled: boolean;
  readonly leaseMs: number;
  readonly clockSkewMs: number;
  /** Why this member will never take part again, with the code of its errors. */
  readonly closed: { readonly code: 'REMOVED' | 'CLOSED'; readonly words: string } | undefined;
  /** Why this member takes no part at present, and for how long. */
  readonly recovery:
    | { readonly why: RecoveryReason; readonly words: string; readonly forMs: number }
    | undefined;
  readonly peers: readonly PeerStatus[];
  /** How many leases are held here. */
  readonly held: number;
  /** How many requests of this process wait for an answer. */
  readonly waiting: number;
  /** Of how many resources something is remembered here for the cell. */
  readonly registers: number;
  /** How many attempts this member has made. */
  readonly attempts: number;
}

/** How the others can be reached. */
export interface Ways {
  addressOf(member: string): string | undefined;
  isConnected(member: string): boolean;
  problemOf(member: string): string | undefined;
}

/** Whether the members have changed without this one, and its vote is no longer needed. */
export const wasRemoved = (name: string, { members, before }: Pick<View, 'members' | 'before'>): boolean =>
  !members.includes(name) && before?.includes(name) !== true;
