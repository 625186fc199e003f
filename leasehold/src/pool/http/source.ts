/**
 * What the HTTP API asks of the process it runs in. Everything is read at the moment of asking, and
 * nothing is changed by it, but for the one thing that an operator can have done: {@link ApiSource.stepDown}.
 */

import type { Instant } from '../../runtime/time.ts';
import type { ManagerObservation } from '../manager/observation.ts';
import type { ResolvedDurations } from '../options.ts';
import type { ManagerCounters } from './counters.ts';
import type { EventLog } from './event-log.ts';

export interface ApiSource {
  readonly version: string;
  /** The wall clock when the process started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Whether a pool comes into being when somebody joins it, or must be in {@link declaredPools}. */
  readonly createPools: 'on-first-use' | 'declared';
  readonly counters: ManagerCounters;
  readonly events: EventLog;
  now(): Instant;
  wallMs(): number;
  observe(): ManagerObservation;
  /** Pools that exist by configuration, whether or not anybody has joined them. */
  declaredPools(): readonly string[];
  /** What is in force for a pool at the moment. */
  settings(pool: string): PoolInForce;
  store(): StoreObservation;
  /** Another that leads, if the store knows it and not the log. */
  elected(): { readonly id: string; readonly term: number } | undefined;
  /** Those that share the store, as far as is known: this one first, then the others by id. */
  managers(): readonly ManagerPlace[];
  traffic(): TrafficObservation;
  process(): ProcessObservation;
  /** Why this Manager is of no use to owners and look-ups at the moment; undefined if it is. */
  whyNotReady(): string | undefined;
  /**
   * Lets another Manager lead. Resolves when one does: with whether this one did until then. Rejects with code
   * `ALONE` if there is no other that does.
   */
  stepDown(): Promise<boolean>;
}

/** A Manager, and where it says it can be reached. */
export interface ManagerPlace {
  readonly id: string;
  readonly address: string;
  /** Of its HTTP API; undefined if others cannot reach it. */
  readonly http: string | undefined;
  readonly isSelf: boolean;
}

export interface PoolInForce {
  readonly durations: ResolvedDurations;
  /** Points an owner, if the policy is consistent hashing. */
  readonly virtualNodes: number | undefined;
}

export interface StoreObservation {
  readonly kind: 'file' | 'memory' | 'etcd' | 'flease';
  /** The directory, or the prefix of all keys; of Managers that keep nothing, the group and what they elect a leader by. */
  readonly where: string | undefined;
  /** What the log takes up, snapshots included. */
  readonly bytes: number | undefined;
  /** Those that the store consists of, as they last said of themselves; of a file there are none. */
  readonly members: readonly StoreMember[];
  /** How far those that elect have come with a change of the group; undefined if nobody elects. */
  readonly group?: GroupObservation | undefined;
}

/** The group of Managers that keep nothing, as one of them finds it. */
export interface GroupObservation {
  readonly view: number;
  /** False while members of the view before are still needed. */
  readonly isSettled: boolean;
  /** Why it does not take part, in words; undefined if it does. */
  readonly silence: string | undefined;
}

export interface StoreMember {
  readonly endpoint: string;
  readonly reachable: boolean;
  /** Why it is not, or what it complains of. */
  readonly complaint: string | undefined;
  readonly version: string | undefined;
  readonly databaseBytes: number | undefined;
  readonly isLeader: boolean;
  /** Of those that elect: it is this Manager, whatever it calls itself otherwise. */
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
  /** Not sent, because the receiver was gone or its queue full. */
  readonly messagesDropped: number;
  readonly messagesMalformed: number;
}

export interface ProcessObservation {
  readonly residentBytes: number;
  readonly cpuSeconds: number;
  /** The longest time within the last minute or two that the event loop did not turn. */
  readonly eventLoopDelaySeconds: number;
}
