/** The status of one server: view and standing, how the others are reached, and the graph that the records describe. */

import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import type { Durations } from '../core/durations.ts';
import type { Standing } from '../core/effects.ts';
import type { Member } from '../core/member.ts';
import type { GroupView } from './group.ts';
import type { GroupRegistry, RegistryConnection } from './registry.ts';

/** `changing`: the next view is not agreed on yet. `panicking`: for so long that the last view counts no more. */
export type GroupState = 'changing' | 'in-view' | 'panicking' | 'left';

export interface GroupPeer {
  readonly name: string;
  readonly address: string;
  readonly isMember: boolean;
  readonly isConnected: boolean;
  readonly reach: 'direct' | 'overlay' | undefined;
  /** Why the peer cannot be reached, or is not heard from. */
  readonly problem: string | undefined;
}

/** One server of the graph, as described in the server's own record. */
export interface GroupNode {
  readonly name: string;
  /** The servers to which there is a link that works both ways. */
  readonly links: readonly string[];
  /** The members out of reach, also over other servers. */
  readonly cannotReach: readonly string[];
  readonly hasLeft: boolean;
}

export interface GroupCounters {
  readonly changes: number;
  readonly views: number;
  readonly panics: number;
  readonly messagesSent: number;
  readonly messagesFailed: number;
  readonly messagesReceived: number;
}

export interface GroupStatus {
  readonly name: string;
  readonly group: string;
  readonly size: number | undefined;
  readonly leaseMs: number;
  readonly state: GroupState;
  /** How long the server has been in this state. */
  readonly stateForMs: number;
  readonly standing: Standing;
  readonly view: GroupView | undefined;
  /** Messages that wait to be acknowledged. */
  readonly waiting: number;
  /** Clients that are attached to this server. */
  readonly attachedClients: number;
  /** The registry in etcd, if views come from one. */
  readonly registry: GroupRegistry | undefined;
  readonly peers: readonly GroupPeer[];
  readonly graph: readonly GroupNode[];
  readonly counters: GroupCounters;
}

/** @internal */
interface Facts
  extends Pick<GroupStatus, 'name' | 'group' | 'size' | 'state' | 'stateForMs' | 'standing' | 'view'> {
  readonly waiting: number;
  readonly counters: GroupCounters;
  readonly durations: Durations;
  /** The part of a mesh that is read here. The type itself would bring Node's types into the published ones. */
  readonly mesh: {
    readonly peers: ReadonlyMap<string, string>;
    isConnected(name: string): boolean;
    problemOf(name: string): string | undefined;
  };
  readonly member: Pick<Member, 'reach' | 'records' | 'clockRateOf' | 'clientCount' | 'registry'>;
  readonly registry: Pick<RegistryConnection, 'members' | 'prefix' | 'problem'> | undefined;
}

/** @internal */
export function statusOf({ durations, mesh, member, registry, counters, ...facts }: Facts): GroupStatus {
  const peers = [...mesh.peers].filter(([name]) => name !== facts.name);
  return {
    ...facts,
    leaseMs: durations.leaseMs,
    attachedClients: member.clientCount,
    registry: registry && registryStatus(facts.name, registry, member, durations.registrationMs),
    peers: peers.map(([name, address]) => ({
      ...{ name, address, isMember: facts.view?.members.includes(name) === true },
      ...{ isConnected: mesh.isConnected(name), reach: member.reach(name) },
      problem: mesh.problemOf(name) ?? clockProblem(name, member.clockRateOf(name)),
    })),
    graph: [...member.records.values()].map(({ record }) => ({
      name: record.name,
      links: record.links.map(({ name }) => name),
      cannotReach: record.cannotReach.map(({ name }) => name),
      hasLeft: record.hasLeft,
    })),
    counters: { ...counters },
  };
}

/** @internal */
export const clockWords = (peer: string, rate: number): string =>
  `the clock of ${peer} runs ${rate > 1 ? 'at least' : 'at most'} ${rate.toFixed(2)} times as fast as the clock here, and the bound is ${CLOCK_RATE_BOUND}: one of the two clocks is wrong, and the two servers are kept out of one view`;

function clockProblem(name: string, rate: number | undefined): string | undefined {
  return rate === undefined ? undefined : clockWords(name, rate);
}

function registryStatus(
  self: string,
  { members, prefix, problem }: Pick<RegistryConnection, 'members' | 'prefix' | 'problem'>,
  member: Facts['member'],
  ttlMs: number,
): GroupRegistry {
  const isRegistered = member.registry?.isRegistered === true;
  const registered = (member.registry?.registry?.registrations ?? []).map(({ name }) => name);
  const missing = registered.filter((name) => name !== self && member.reach(name) === undefined);
  const waits =
    missing.length > 0
      ? `not registered: waiting for ${missing.join(', ')}, registered and out of reach`
      : 'not registered yet';
  return {
    members,
    prefix,
    ttlMs,
    isRegistered,
    registered,
    problem: problem ?? (isRegistered ? undefined : waits),
  };
}
