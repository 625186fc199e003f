/**
 * The state of a member, and how the member sees the peers. Every `why` comes with a text, so that a program that
 * shows the status needs no dictionary, not even a program of another version over HTTP.
 */

import type { PeerStatus as KnownPeer, PeerTrouble } from '../peer-table.ts';
import type { Recovery, RecoveryReason } from '../member.ts';
import type { View } from '../view.ts';
import { goneWords, recoveryWords, troubleWords } from '../wording.ts';

export interface PeerStatus {
  readonly id: string;
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

export interface FleaseStatus {
  readonly id: string;
  readonly group: string;
  readonly view: number;
  /** False while members of the view before are still needed for a majority. */
  readonly isSettled: boolean;
  readonly leaseMs: number;
  readonly clockSkewMs: number;
  /**
   * Why this member will never take part again: the group has changed without this member, or this member was closed.
   */
  readonly gone: { readonly why: 'left' | 'closed'; readonly words: string } | undefined;
  /** Why this member takes no part at present, and for how long. */
  readonly recovery:
    | { readonly why: RecoveryReason; readonly words: string; readonly forMs: number }
    | undefined;
  readonly peers: readonly PeerStatus[];
  /** How many leases are held here. */
  readonly held: number;
  /** How many requests of this process wait for an answer. */
  readonly waiting: number;
  /** Of how many resources something is remembered here for the group. */
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

/** Whether the group has changed without this member, and no longer needs its vote. */
export const hasLeft = (id: string, { members, before }: Pick<View, 'members' | 'before'>): boolean =>
  !members.includes(id) && before?.includes(id) !== true;

export function goneStatus(id: string, view: View, isClosed: boolean): FleaseStatus['gone'] {
  if (!isClosed && !hasLeft(id, view)) return undefined;
  const why = isClosed ? 'closed' : 'left';
  return { why, words: goneWords(why, view.number) };
}

export const recoveryStatus = (recovery: Recovery | undefined): FleaseStatus['recovery'] =>
  recovery && { ...recovery, words: recoveryWords(recovery.why, recovery.forMs) };

export const peerStatus = ({ id, heardAgoMs, clock, trouble }: KnownPeer, ways: Ways): PeerStatus => ({
  id,
  address: ways.addressOf(id),
  connected: ways.isConnected(id),
  heardAgoMs,
  clockAheadMs: clock && { atLeast: clock.aheadAtLeastMs, atMost: clock.aheadAtMostMs },
  problem: ways.problemOf(id),
  trouble: trouble && { why: trouble.why, words: troubleWords(trouble) },
  otherDurations:
    trouble?.why === 'other-durations'
      ? { leaseMs: trouble.leaseMs, clockSkewMs: trouble.clockSkewMs }
      : undefined,
});
