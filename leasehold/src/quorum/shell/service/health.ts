/**
 * Whether a replica is of use: while it is a member that knows a leader, the disk has room, its reads are not disabled by a clock, and
 * writes that wait make progress. The same checks give `ready()`, `status()`, `/readyz` and `/v1/problems`.
 */

import { advancing, type ProgressCheck, type Stall } from '../../../node/service/progress.ts';
import { CLOCK_RATE_BOUND } from '../../../runtime/clock-rates.ts';
import type { Problem } from '../../../runtime/handle.ts';
import type { ReplicaFacts } from '../replica-status.ts';

/** A committed slot must follow within this time while calls wait. */
const STALLED_AFTER_MS = 10_000;

/** As much of a replica as is judged. */
export interface JudgedReplica {
  facts(): ReplicaFacts;
  /** The files of the directory are noted as its own (`disk/place.ts`). */
  readonly areFilesNoted: boolean;
}

export const replicaChecks = (replica: JudgedReplica): readonly ProgressCheck[] => [
  { name: 'cell', afterMs: 0, standsStill: () => whyNotInCell(replica) },
  { name: 'disk', afterMs: 0, standsStill: () => whyNotByDisk(replica.facts()) },
  { name: 'clock', afterMs: 0, standsStill: () => whyNotByClock(replica.facts()) },
  advancing({
    ...{ name: 'commits', afterMs: STALLED_AFTER_MS, why: 'calls wait, and nothing is committed' },
    isDue: () => replica.facts().waiting > 0,
    mark: () => replica.facts().log.committed,
  }),
];

/** What `ready()` waits for, in words. */
export function whyNotReady(replica: JudgedReplica): string | undefined {
  const facts = replica.facts();
  return whyNotInCell(replica) ?? whyNotByDisk(facts) ?? whyNotByClock(facts);
}

const COMMAND = 'leasehold quorum status';

const CURES: Readonly<Record<string, string>> = {
  cell: 'start all replicas of a new cell; later a majority must run and reach each other',
  disk: 'make room on the disk of this replica: it goes on by itself',
  clock: 'compare the clocks of the machines, and mend the one that runs at a wrong rate',
  commits: 'a majority of the replicas must run, reach each other and have room on their disks',
};

export const problemsOf = (stalls: readonly Stall[]): readonly Problem[] =>
  stalls.map(({ check, why, forMs }) => ({
    ...{ id: check, level: 'failing', what: why, sinceMs: forMs, command: COMMAND },
    cure: CURES[check] ?? 'see the log of this replica',
  }));

function whyNotInCell(replica: JudgedReplica): string | undefined {
  const { role, leader, awaited, repair } = replica.facts();
  if (role === 'gathering')
    return `the cell is not founded: ${awaited.join(', ') || 'other replicas'} have not been heard`;
  if (role === 'checking-in')
    return `waiting until other replicas confirm that the directory has every vote: ${awaited.join(', ')}`;
  if (role === 'repairing')
    return `the disk has lost slots, which are being fetched from ${repair?.from ?? 'other replicas'}: ${repair?.fetchedSlots ?? 0} of ${repair?.slots ?? 0} are here`;
  if (role === 'learner')
    return 'no member: add the replica (leasehold quorum add <name>), or end the process if the replica was removed';
  if (leader === undefined) return 'no leader is known: a majority of the replicas must run';
  return replica.areFilesNoted ? undefined : 'waiting until it is noted where the files of the directory are';
}

const whyNotByDisk = ({ isDiskFull }: ReplicaFacts): string | undefined =>
  isDiskFull ? 'the disk is full' : undefined;

/** One fast clock among the others is the trouble of that member. Without a majority in step with this one, the clock here is suspect. */
function whyNotByClock({ members }: ReplicaFacts): string | undefined {
  const tooFast = members.filter(({ clockRate }) => clockRate !== undefined);
  if (tooFast.length === 0 || 2 * (members.length - tooFast.length) > members.length) return undefined;
  const names = tooFast.map(({ name }) => name).join(', ');
  return `nothing is read locally: the clocks of ${names} run more than ${CLOCK_RATE_BOUND} times as fast as the clock here, which may be the wrong one`;
}
