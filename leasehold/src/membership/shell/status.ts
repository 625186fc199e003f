/** The status of one server: view and standing, how the others are reached, and the graph that the records describe. */

import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import type { Problem, Status } from '../../runtime/handle.ts';
import type { Instant } from '../../runtime/time.ts';
import type { Durations } from '../core/durations.ts';
import type { Standing } from '../core/effects.ts';
import type { Member } from '../core/member.ts';
import type { GroupRegistry, RegistryConnection } from './registry.ts';
import type { View } from './view.ts';

/** `changing`: the next view is not agreed on yet. `no-view`: for so long that the last view counts no more. */
export type GroupState = 'changing' | 'in-view' | 'no-view' | 'left';

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
  /** Times without a view. */
  readonly noViews: number;
  readonly messagesSent: number;
  readonly messagesFailed: number;
  readonly messagesReceived: number;
}

/** What a server of a group says of itself. */
export interface GroupMemberStatus extends Status {
  readonly module: 'membership';
  readonly role: 'member';
  readonly name: string;
  readonly maxServers: number | undefined;
  readonly leaseMs: number;
  readonly state: GroupState;
  /** How long the server has been in this state. */
  readonly stateForMs: number;
  readonly standing: Standing;
  readonly view: View | undefined;
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

/** An address that a client was given. */
export interface GroupServer {
  readonly address: string;
  /** The server that is connected there. */
  readonly name: string | undefined;
  /** Why there is no connection, or none that may be used. */
  readonly problem: string | undefined;
}

/** What a client of a group says of itself. */
export interface GroupClientStatus extends Status {
  readonly module: 'membership';
  readonly role: 'client';
  readonly name: string;
  readonly leaseMs: number;
  readonly state: GroupState;
  /** How long the client has been in this state. */
  readonly stateForMs: number;
  readonly standing: 'acts' | 'none';
  readonly view: View | undefined;
  /** The server to which the client is attached. */
  readonly server: string | undefined;
  readonly servers: readonly GroupServer[];
  /** Messages that wait to be acknowledged. */
  readonly waiting: number;
  readonly counters: { readonly views: number; readonly changes: number; readonly noViews: number };
}

/** @internal */
interface Facts
  extends Pick<
    GroupMemberStatus,
    'name' | 'instance' | 'maxServers' | 'state' | 'stateForMs' | 'standing' | 'view' | 'waiting' | 'counters'
  > {
  readonly durations: Durations;
  /** The part of a mesh that is read here. The type itself would bring Node's types into the published ones. */
  readonly mesh: {
    readonly peers: ReadonlyMap<string, string>;
    isConnected(name: string): boolean;
    problemOf(name: string): string | undefined;
  };
  readonly member: Pick<Member, 'reach' | 'records' | 'clockRateOf' | 'clientCount' | 'registry'>;
  readonly registry: Pick<RegistryConnection, 'members' | 'prefix' | 'problem'> | undefined;
  /** Since when a peer has had a problem, in milliseconds. */
  troubledMs(peer: string): number;
}

/** @internal */
export function statusOf(facts: Facts): GroupMemberStatus {
  const { durations, mesh, member, troubledMs, counters, name, ...shown } = facts;
  const registry = facts.registry && registryStatus(name, facts.registry, member, durations.registrationMs);
  const peers = [...mesh.peers]
    .filter(([peer]) => peer !== name)
    .map(([peer, address]) => ({
      ...{ name: peer, address, isMember: facts.view?.members.includes(peer) === true },
      ...{ isConnected: mesh.isConnected(peer), reach: member.reach(peer) },
      problem: mesh.problemOf(peer) ?? clockProblem(peer, member.clockRateOf(peer)),
    }));
  const waitsFor = waitsForOf({ ...facts, registry });
  return {
    ...{ ...shown, module: 'membership', role: 'member', name },
    ...{ isReady: waitsFor === undefined, waitsFor },
    problems: [
      ...(waitsFor === undefined ? [] : [notActing(waitsFor, facts)]),
      ...peers.flatMap((peer) =>
        peer.problem === undefined ? [] : [unreachable(peer, troubledMs(peer.name))],
      ),
    ],
    leaseMs: durations.leaseMs,
    attachedClients: member.clientCount,
    ...{ registry, peers },
    graph: [...member.records.values()].map(({ record }) => ({
      name: record.name,
      links: record.links.map((link) => link.name),
      cannotReach: record.cannotReach.map((each) => each.name),
      hasLeft: record.hasLeft,
    })),
    counters: { ...counters },
  };
}

type ClientFacts = Omit<GroupClientStatus, 'module' | 'role' | 'isReady' | 'waitsFor' | 'problems'> & {
  /** Since when there has been no connection to an address, in milliseconds. */
  troubledMs(address: string): number;
};

/** @internal */
export function clientStatusOf({ troubledMs, ...shown }: ClientFacts): GroupClientStatus {
  const waitsFor = waitsForOf(shown);
  const troubled = shown.servers.filter(({ problem }) => problem !== undefined);
  return {
    ...{ ...shown, module: 'membership', role: 'client' },
    ...{ isReady: waitsFor === undefined, waitsFor },
    problems: [
      ...(waitsFor === undefined ? [] : [notActing(waitsFor, shown)]),
      ...troubled.map((server) =>
        unreachable({ ...server, name: server.name ?? 'a server' }, troubledMs(server.address)),
      ),
    ],
  };
}

/** Why a process of a group may not act at this instant; undefined if it may, or may continue. */
export function waitsForOf({
  state,
  standing,
  registry,
}: Pick<GroupMemberStatus, 'state' | 'standing'> & {
  readonly registry?: Pick<GroupRegistry, 'problem'> | undefined;
}): string | undefined {
  if (state === 'left') return 'nothing: this process has left the group';
  if (standing !== 'none') return undefined;
  if (registry?.problem !== undefined) return registry.problem;
  if (state === 'in-view')
    return 'the earlier leases of other servers: this process is in a view, and does not act yet';
  return state === 'no-view'
    ? 'a view: none could be agreed on'
    : 'the next view, which is not agreed on yet';
}

const notActing = (what: string, { state, stateForMs }: Pick<Facts, 'state' | 'stateForMs'>): Problem => ({
  ...{
    id: 'view',
    level: 'failing',
    what: `this process does not act: it waits for ${what}`,
    sinceMs: stateForMs,
  },
  cure:
    state === 'left'
      ? 'join the group again'
      : 'this process goes on by itself once the servers of the group reach each other; see the problems of peers',
  command: 'leasehold membership status',
});

const unreachable = (
  { name, address, problem }: Pick<GroupPeer, 'name' | 'address'> & { readonly problem: string | undefined },
  sinceMs: number,
): Problem => ({
  ...{ id: `peer ${address}`, level: 'warning', what: `${name} at ${address}: ${problem}`, sinceMs },
  cure: `start ${name}, or mend the network or the address; the view goes on without it`,
  command: 'leasehold membership status',
});

/** Since when each peer has had a problem. */
export class Troubles {
  readonly #since = new Map<string, Instant>();

  note(peer: string, hasProblem: boolean, now: Instant): void {
    if (!hasProblem) this.#since.delete(peer);
    else if (!this.#since.has(peer)) this.#since.set(peer, now);
  }

  forMs(peer: string, now: Instant): number {
    return Math.round(now - (this.#since.get(peer) ?? now));
  }
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
