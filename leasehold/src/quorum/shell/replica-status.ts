/** How a replica is, for people and for programs: `status()`, `leasehold quorum status`, health and metrics. */

import type { Instant } from '../../runtime/time.ts';
import type { Placement } from '../core/configuration.ts';
import type { ResolvedQuorumDurations } from '../core/options.ts';
import { nameOf } from '../core/founding.ts';
import type { Identity } from '../disk/identity.ts';
import type { PeerLinks } from './peer-links.ts';
import { placementWords, readersStatus, type ReadersStatus } from './readers-status.ts';
import type { HostCounters, ReplicaHost } from './replica-host.ts';

export interface MemberStatus {
  readonly name: string;
  readonly storage: string;
  readonly seat: number;
  readonly address: string | undefined;
  readonly isLeader: boolean;
  readonly isSelf: boolean;
  readonly isConnected: boolean;
  readonly problem: string | undefined;
  /** How much longer this member's promise to this replica holds, in milliseconds; 0 if there is none. */
  readonly promiseLeftMs: number;
  /**
   * How many times as fast as the clock here the clock of this member runs at least, if that is beyond the bound: its promises count for
   * nothing here, because one of the two clocks is wrong.
   */
  readonly clockRate: number | undefined;
  /** Whether the member said lately that its disk is full. */
  readonly isDiskFull: boolean;
}

export interface ReplicaStatus {
  readonly name: string;
  readonly group: string;
  readonly storage: string;
  /** How often the directory was opened. */
  readonly life: number;
  readonly address: string;
  readonly state:
    | 'gathering'
    | 'checking-in'
    | 'repairing'
    | 'learner'
    | 'follower'
    | 'pre-candidate'
    | 'candidate'
    | 'leader';
  /**
   * The replicas that are waited for: while a group is being founded, those of the list that were never heard; after a start, the members
   * that have not yet confirmed that this directory has every vote.
   */
  readonly awaited: readonly string[];
  readonly leader: string | undefined;
  /** Whether a read of a key that this replica holds would be answered here. */
  readonly isLeased: boolean;
  readonly members: readonly MemberStatus[];
  /** Replicas that were heard of and are no members. */
  readonly others: readonly string[];
  /** Which replicas hold keys, in words. */
  readonly placement: string;
  readonly readers: ReadersStatus;
  readonly log: {
    readonly base: number;
    readonly committed: number;
    readonly chosen: number;
    readonly last: number;
  };
  readonly keys: number;
  readonly sessions: number;
  readonly waiting: number;
  readonly clients: number;
  readonly watches: number;
  readonly isDiskFull: boolean;
  readonly leaseMs: number;
  readonly counters: HostCounters | undefined;
}

/** @internal */
export interface StatusSources {
  readonly identity: Identity;
  readonly address: string;
  readonly host: ReplicaHost | undefined;
  readonly links: PeerLinks;
  readonly durations: ResolvedQuorumDurations;
  readonly placement: Placement;
  readonly now: Instant;
  readonly awaited: readonly string[];
  readonly known: readonly string[];
  readonly clients: number;
  readonly watches: number;
}

/** @internal */
export function statusOf(sources: StatusSources): ReplicaStatus {
  const { identity, host, links, now, durations } = sources;
  const { name, group, storage, life, origin } = identity;
  const replica = host?.replica;
  const view = replica?.view;
  const configuration = view?.log.newestConfiguration;
  const members = configuration?.members ?? (origin.kind === 'founding' ? origin.members : []);
  const promises = new Map(view?.leases.held(now).map(({ grantor, until }) => [grantor, until - now]) ?? []);
  const leader = replica?.leader;
  const placement = configuration?.placement ?? sources.placement;
  return {
    ...{ name, group, storage, life, address: sources.address },
    awaited: host === undefined ? sources.awaited : host.awaited.map(nameOf),
    state:
      replica === undefined
        ? host === undefined || host.stage === 'running'
          ? 'gathering'
          : host.stage
        : view?.isMember === true
          ? replica.role
          : 'learner',
    leader: leader === undefined ? undefined : nameOf(leader),
    isLeased: replica?.isLeased([], now) ?? false,
    members: members.map((member) => {
      const isSelf = member.storage === storage;
      return {
        ...{ name: nameOf(member.storage), storage: member.storage, seat: member.seat },
        address: isSelf ? sources.address : links.addressOf(member.storage),
        isLeader: member.storage === leader,
        isSelf,
        isConnected: isSelf || links.isConnected(member.storage),
        problem: isSelf ? undefined : links.problemOf(member.storage),
        promiseLeftMs: Math.round(promises.get(member.storage) ?? 0),
        clockRate: view?.clocks.tooFast.get(member.storage),
        isDiskFull: view?.room.isFullAt(member.storage, now) ?? false,
      };
    }),
    others: sources.known.filter((each) => !members.some((member) => member.storage === each)),
    placement: placementWords(placement, members),
    readers: readersStatus(placement, members, leader, replica?.placing),
    log: {
      ...{ base: view?.log.base ?? 0, committed: view?.log.committed ?? 0 },
      ...{ chosen: view?.log.chosen ?? 0, last: view?.log.last ?? 0 },
    },
    keys: view?.machine.keys ?? 0,
    sessions: view?.machine.sessions.open.length ?? 0,
    waiting: replica?.waiting ?? 0,
    clients: sources.clients,
    watches: sources.watches,
    isDiskFull: host?.isDiskFull ?? false,
    leaseMs: durations.leaseMs,
    counters: host?.counters,
  };
}

/** Whether the replica does what it should: a member that knows a leader, or a learner that is fed. */
export const isHealthy = ({ state, leader, isDiskFull }: ReplicaStatus): boolean =>
  !isDiskFull && leader !== undefined && !['gathering', 'checking-in', 'repairing'].includes(state);
