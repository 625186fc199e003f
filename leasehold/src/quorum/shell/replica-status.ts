/** How a replica is, for people and for programs: `status()`, `leasehold quorum status`, health and metrics. */

import type { Status } from '../../runtime/handle.ts';
import type { Instant } from '../../runtime/time.ts';
import type { ReaderMap } from '../core/configuration.ts';
import type { ResolvedQuorumDurations } from '../core/options.ts';
import { nameOf } from '../core/founding.ts';
import type { RepairProgress } from '../core/repair.ts';
import type { Identity } from './disk/identity.ts';
import type { PeerLinks } from './peer-links.ts';
import { placementWords, readersStatus, type ReadersStatus } from './readers-status.ts';
import type { HostCounters, ReplicaHost } from './replica-host.ts';

/** A member of the cell, as this replica sees it. */
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

/** A replica whose disk lost slots that are chosen fetches them, from one other replica at a time. */
export interface RepairStatus {
  /** How many slots the disk lost. */
  readonly slots: number;
  /** How many of them are here again. A state that is fetched in their place counts when the whole of it is here. */
  readonly fetchedSlots: number;
  readonly fetchedBytes: number;
  /** The name of the replica that is asked; undefined if none was heard yet. */
  readonly from: string | undefined;
}

/** What a replica is in its cell: before it takes part, how far it is; then a member's role. */
export type ReplicaRole =
  | 'gathering'
  | 'checking-in'
  | 'repairing'
  | 'learner'
  | 'follower'
  | 'pre-candidate'
  | 'candidate'
  | 'leader';

/** How a replica sees its cell, which is the `instance`. */
export interface ReplicaStatus extends Status {
  readonly module: 'quorum';
  readonly role: ReplicaRole;
  readonly name: string;
  readonly storage: string;
  /** How often the directory was opened. */
  readonly life: number;
  readonly address: string;
  /**
   * The replicas that are waited for: while a cell is being founded, those of the list that were never heard; after a start, the members
   * that have not yet confirmed that this directory has every vote.
   */
  readonly awaited: readonly string[];
  /** What a repair of the journal has fetched so far; undefined unless `role` is `'repairing'`. */
  readonly repair: RepairStatus | undefined;
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
  readonly placement: ReaderMap;
  readonly now: Instant;
  readonly awaited: readonly string[];
  readonly known: readonly string[];
  readonly clients: number;
  readonly watches: number;
}

/** What a replica knows, without a judgement whether it is of use. @internal */
export type ReplicaFacts = Omit<ReplicaStatus, 'isReady' | 'waitsFor' | 'problems'>;

/** @internal */
export function factsOf(sources: StatusSources): ReplicaFacts {
  const { identity, host, links, now, durations } = sources;
  const { name, cell, storage, life, origin } = identity;
  const replica = host?.replica;
  const view = replica?.view;
  const configuration = view?.log.newestConfiguration;
  const members = configuration?.members ?? (origin.kind === 'founding' ? origin.members : []);
  const promises = new Map(view?.leases.held(now).map(({ grantor, until }) => [grantor, until - now]) ?? []);
  const leader = replica?.leader;
  const placement = configuration?.placement ?? sources.placement;
  return {
    ...{ module: 'quorum', role: roleOf(host), instance: cell, name },
    ...{ storage, life, address: sources.address },
    awaited: host === undefined ? sources.awaited : host.awaited.map(nameOf),
    repair: repairStatus(host?.repair),
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

/** @internal */
export function roleOf(host: ReplicaHost | undefined): ReplicaRole {
  const replica = host?.replica;
  if (replica !== undefined) return replica.view.isMember ? replica.role : 'learner';
  const stage = host?.stage;
  if (stage === undefined || stage === 'running') return 'gathering';
  return stage === 'keeping' ? 'repairing' : stage;
}

function repairStatus(progress: RepairProgress | undefined): RepairStatus | undefined {
  if (progress === undefined) return undefined;
  const { slots, fetched, bytes, from } = progress;
  const name = from === undefined ? undefined : nameOf(from);
  return { slots, fetchedSlots: fetched, fetchedBytes: bytes, from: name };
}
