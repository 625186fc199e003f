/**
 * The state of a member, and how the member sees the peers. Every `why` comes with a text, so that a program that
 * shows the status needs no dictionary, not even a program of another version over HTTP.
 */

import type { PeerStatus as KnownPeer, PeerTrouble } from '../core/peer-table.ts';
import type { Recovery } from '../core/member.ts';
import type { RecoveryReason } from '../core/wording.ts';
import type { View } from '../core/view.ts';
import type { Problem, Status } from '../../runtime/handle.ts';
import { goneWords, recoveryWords, troubleWords } from '../core/wording.ts';
import { whyNoMajority } from './progress.ts';
import type { ProblemFacts } from './problems.ts';

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

interface StatusFacts {
  readonly name: string;
  readonly cell: string;
  readonly view: View;
  readonly isClosed: boolean;
  readonly durations: Pick<FleaseStatus, 'leaseMs' | 'clockSkewMs'>;
  readonly recovery: Recovery | undefined;
  readonly peers: readonly PeerStatus[];
  readonly counts: Pick<FleaseStatus, 'held' | 'waiting' | 'registers' | 'attempts'>;
  problems(facts: ProblemFacts): readonly Problem[];
}

export function fleaseStatus(facts: StatusFacts): FleaseStatus {
  const { name, cell, view, durations, peers, counts } = facts;
  const { held, waiting, registers, attempts } = counts;
  const closed = closedStatus(facts);
  const recovery = recoveryStatus(facts.recovery);
  const { leaseMs } = durations;
  const noMajority = whyNoMajority({ name, leaseMs, peers, closed, recovery, held, waiting }, view);
  const waitsFor = closed === undefined ? (recovery?.words ?? noMajority) : undefined;
  return {
    module: 'flease',
    role: 'member',
    instance: cell,
    name,
    isReady: closed === undefined && waitsFor === undefined,
    waitsFor,
    problems: facts.problems({ name, closed, recovery, peers, noMajority }),
    peersVersion: view.number,
    isSettled: view.before === undefined,
    leaseMs: durations.leaseMs,
    clockSkewMs: durations.clockSkewMs,
    closed,
    recovery,
    peers,
    held,
    waiting,
    registers,
    attempts,
  };
}

function closedStatus({ name, view, isClosed }: StatusFacts): FleaseStatus['closed'] {
  if (!isClosed && !wasRemoved(name, view)) return undefined;
  return isClosed
    ? { code: 'CLOSED', words: goneWords('closed', view.number) }
    : { code: 'REMOVED', words: goneWords('left', view.number) };
}

const recoveryStatus = (recovery: Recovery | undefined): FleaseStatus['recovery'] =>
  recovery && { ...recovery, words: recoveryWords(recovery.why, recovery.forMs) };

export const peerStatus = ({ id, heardAgoMs, clock, trouble }: KnownPeer, ways: Ways): PeerStatus => ({
  name: id,
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
