/**
 * What the HTTP API asks of the process it runs in. Everything is read at the moment of asking and
 * nothing is changed by it.
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
  traffic(): TrafficObservation;
  process(): ProcessObservation;
  /** Why this Manager is of no use to owners and look-ups at the moment; undefined if it is. */
  whyNotReady(): string | undefined;
}

export interface PoolInForce {
  readonly durations: ResolvedDurations;
  /** Points an owner, if the policy is consistent hashing. */
  readonly virtualNodes: number | undefined;
}

export interface StoreObservation {
  /** `file`, `memory`, … */
  readonly kind: string;
  readonly directory: string | undefined;
  /** What the log takes up, snapshots included. */
  readonly bytes: number | undefined;
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
