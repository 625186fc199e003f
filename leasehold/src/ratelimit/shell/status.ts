/** What a process that shares limits says of itself: plain data. */

import type { Status } from '../../runtime/handle.ts';
import type { WhenLost } from '../core/shared/messages.ts';
import type { CutOffPolicy } from '../core/shared/when-cut-off.ts';

/** Another process made a limiter of the same name with another limit. */
export interface LimitDifference {
  readonly limiter: string;
  readonly process: string;
  readonly theirs: string;
  readonly ours: string;
}

/** One limit of this process, and its decisions so far. */
export interface LimiterStatus {
  readonly name: string;
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;
  readonly whenLost: WhenLost;
  readonly whenCutOff: CutOffPolicy['kind'];
  readonly keys: number;
  /** How many requests were decided, by result and place: `allowed by owner`. */
  readonly decisions: Readonly<Record<string, number>>;
  /** How often owners of keys were asked for tokens, or told of used ones. */
  readonly asks: number;
}

/** What a process that shares limits says of itself. `instance`: the pool or the group whose processes share them. */
export interface SharedLimitsStatus extends Status {
  readonly module: 'ratelimit';
  readonly role: 'member';
  readonly name: string;
  /** Where other processes ask this one for tokens: `host:port`, or the name in the group. */
  readonly address: string;
  readonly limiters: readonly LimiterStatus[];
  /** Limiters of other processes that have a name of this process and another limit, and that asked in the last ten minutes. */
  readonly differences: readonly LimitDifference[];
}

/** How a process stands in a spread limit. */
export interface SpreadStatus {
  readonly name: string;
  /** Tokens a second that this process may use at present, of {@link limitPerSecond}. */
  readonly levelPerSecond: number;
  readonly limitPerSecond: number;
  readonly burst: number;
  readonly maxServers: number;
  readonly credits: number;
  readonly demand: number;
  /** Whether this process uses its credits; otherwise at most 1 / maxServers of the limit. */
  readonly takesPart: boolean;
  /** Members of the view that have not said where they come from: they may lack the limiter. */
  readonly waitsFor: readonly string[];
  /** Members that are reached through other members only. */
  readonly blacklist: readonly string[];
  readonly counters: {
    readonly allowed: number;
    readonly denied: number;
    readonly creditsGiven: number;
    readonly creditsReceived: number;
    /** Views into which credits were taken along, and views in which they began anew. */
    readonly viewsKept: number;
    readonly viewsRestarted: number;
  };
}
