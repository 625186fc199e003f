/**
 * The values that the HTTP API reads from the Manager's process. Everything is read at the moment of asking, and
 * reading changes nothing. An operator's three requests do change something: {@link ApiSource.stepDown}, {@link
 * ApiSource.removePool} and {@link ApiSource.order}.
 */

import type { ProcessUsage } from '../../../node/http/process-usage.ts';
import type { Stall } from '../../../node/service/progress.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { ManagerObservation } from '../../core/manager/observation.ts';
import type { ResolvedDurations } from '../../core/options.ts';
import type { Order } from '../manager/order-owner.ts';
import type { ManagerCounters } from './counters.ts';
import type { ManagerEventLog } from './event-log.ts';

export interface ApiSource {
  readonly version: string;
  /** The wall clock when the process started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Whether a pool is created when the first owner joins, or must be in {@link declaredPools}. */
  readonly createPools: 'on-first-use' | 'declared';
  readonly counters: ManagerCounters;
  readonly events: ManagerEventLog;
  now(): Instant;
  wallMs(): number;
  observe(): ManagerObservation;
  /** Pools that exist by configuration, whether or not anybody has joined them. */
  declaredPools(): readonly string[];
  /** The settings in force for a pool at the moment. */
  settings(pool: string): PoolInForce;
  store(): StoreObservation;
  /** Another leading Manager, if the store knows that leader and the log does not. */
  elected(): { readonly id: string; readonly term: number } | undefined;
  /** Those that share the store, as far as is known: this one first, then the others by id. */
  managers(): readonly ManagerPlace[];
  traffic(): TrafficObservation;
  process(): ProcessUsage;
  /** Why this Manager is of no use to owners and look-ups at the moment; undefined if ready. */
  whyNotReady(): string | undefined;
  /** The names of the progress checks, and those that found work standing still. */
  readonly checks: readonly string[];
  stalls(): readonly Stall[];
  /**
   * Lets another Manager lead. Resolves when one does: with whether this one did until then. Rejects with code
   * `ALONE` if there is no other that does.
   */
  stepDown(): Promise<boolean>;
  /**
   * Removes a pool. Resolves with whether the log had anything of the pool. Rejects with code `POOL_IN_USE` if owners
   * are in the pool, and `NOT_LEADING` if this Manager does not lead.
   */
  removePool(pool: string): Promise<boolean>;
  /**
   * Orders what becomes of the keys of an owner. Resolves with its incarnation when that is in the log. Rejects with code
   * `UNKNOWN_OWNER`, with `CANNOT_MOVE` if its keys do not move with their state, and `NOT_LEADING` if this Manager does not lead.
   */
  order(pool: string, order: Order): Promise<string>;
}

/** A Manager, and the address that the Manager advertises. */
export interface ManagerPlace {
  readonly id: string;
  readonly address: string;
  /** Of the HTTP API; undefined if others cannot reach the API. */
  readonly http: string | undefined;
  readonly isSelf: boolean;
}

export interface PoolInForce {
  readonly durations: ResolvedDurations;
  /** Points an owner, if the policy is consistent hashing. */
  readonly virtualNodes: number | undefined;
}

export interface StoreObservation {
  readonly kind: 'file' | 'memory' | 'etcd' | 'flease' | 'quorum';
  /**
   * The directory, or the prefix of all keys; of Managers that keep nothing, the group and the resource of the
   * election; of a quorum group, the group, the replica and its directory.
   */
  readonly where: string | undefined;
  /** The size of the log, snapshots included. */
  readonly bytes: number | undefined;
  /** Those that the store consists of, as they last said of themselves; of a file there are none. */
  readonly members: readonly StoreMember[];
  /** How far those that elect have come with a change of the group; undefined if nobody elects. */
  readonly group?: GroupObservation | undefined;
  /** Undefined if the log is not in a quorum group. */
  readonly replica?: ReplicaObservation | undefined;
}

/** The replica of a quorum group in this Manager's process. */
export interface ReplicaObservation {
  readonly state: string;
  /** Whether this replica answers reads from its own memory at present: without that it cannot lead. */
  readonly readsLocally: boolean;
  readonly isDiskFull: boolean;
  /** Every slot of the group's log up to this one is known here to be committed. */
  readonly committed: number;
}

/** The group of Managers that keep nothing, as one of them finds the group. */
export interface GroupObservation {
  readonly view: number;
  /** False while members of the view before are still needed. */
  readonly isSettled: boolean;
  /** Why this member does not take part, in words; undefined if ready. */
  readonly recovery: string | undefined;
}

export interface StoreMember {
  readonly endpoint: string;
  readonly reachable: boolean;
  /** Why the peer is not connected, or the fault that the peer reports. */
  readonly complaint: string | undefined;
  readonly version: string | undefined;
  readonly databaseBytes: number | undefined;
  readonly isLeader: boolean;
  /** Of the electing members: the one that is this Manager, whatever the Manager's other names. */
  readonly isSelf?: boolean | undefined;
}

/** Of the port that owners and look-ups connect to, since the process started. */
export interface TrafficObservation {
  readonly connections: number;
  readonly connectionsAccepted: number;
  /** Beyond a limit, of another protocol, or without a proper handshake. */
  readonly connectionsRefused: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Not sent, because the receiver was gone or the queue was full. */
  readonly messagesDropped: number;
  readonly messagesMalformed: number;
  readonly messagesNotAllowed: number;
  /** How often each limit has held back a peer, by the limit's name. */
  readonly limited: Readonly<Record<string, number>>;
}
