/**
 * How a member is, and how it finds the others. Every `why` comes with its words, so that nobody who shows it needs a
 * dictionary; also not one of another version, over HTTP.
 */

import type { PeerStatus as KnownPeer, PeerTrouble } from '../acquaintances.ts';
import type { Silence, SilenceReason } from '../member.ts';
import { silenceWords, troubleWords } from '../wording.ts';

export interface PeerStatus {
  readonly id: string;
  readonly address: string | undefined;
  readonly connected: boolean;
  /** Undefined: never. */
  readonly heardAgoMs: number | undefined;
  /** How far its clock is ahead of ours, as far as that is certain. */
  readonly clockAheadMs: { readonly atLeast: number; readonly atMost: number } | undefined;
  /** Why it cannot be reached, or has never connected to us, in words. */
  readonly problem: string | undefined;
  /** What is wrong with what it said last. */
  readonly trouble: { readonly why: PeerTrouble['why']; readonly words: string } | undefined;
  /** What it was started with, if that is not what this member was; then neither heeds the other. */
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
  /** Why this member takes no part at present, and for how long. */
  readonly silence:
    | { readonly why: SilenceReason; readonly words: string; readonly forMs: number }
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

export const silenceStatus = (silence: Silence | undefined): FleaseStatus['silence'] =>
  silence && { ...silence, words: silenceWords(silence.why, silence.forMs) };

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
