/** The status of a member (`status.ts`), from what its core and its links know. */

import type { Recovery } from '../core/member.ts';
import type { PeerStatus as KnownPeer } from '../core/peer-table.ts';
import type { View } from '../core/view.ts';
import { goneWords, recoveryWords, troubleWords } from '../core/wording.ts';
import type { Problem } from '../../runtime/handle.ts';
import type { ProblemFacts } from './problems.ts';
import { whyNoMajority } from './progress.ts';
import { type FleaseStatus, type PeerStatus, wasRemoved, type Ways } from './status.ts';

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
