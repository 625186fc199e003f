/**
 * A policy decides where keys should be. It is a pure function: its arguments are all it knows,
 * and the returned placement is a target. The Manager moves keys towards the target by recalls and grants, so a
 * policy can be wrong about the best place but cannot make two owners of one key.
 */

import type { Span } from '../../../runtime/keys/range.ts';
import type { Intent } from '../messages.ts';
import type { Row } from '../table.ts';

export interface PolicyMember {
  readonly incarnation: string;
  /** Stable across restarts; two members never have the same name here. */
  readonly name: string;
  /** The load that the owner last reported, or undefined if it has not been heard since the leader took over. */
  readonly load: number | undefined;
  /**
   * What the member intends, in a pool whose keys move: one that is cordoned keeps its keys and takes no more, one that drains, or is to be emptied, is to have none. @default stay
   */
  readonly intent?: Intent | undefined;
}

export interface PolicyInput {
  /** The present table. */
  readonly rows: readonly Row[];
  /** The owners that may be given keys; no two have the same name. */
  readonly members: readonly PolicyMember[];
  /** Keys may be moved from owners that stay, for the sake of an even pool. Undefined: only what must move. */
  readonly balance?: Balance | undefined;
}

/** What may be moved although it need not, now. */
export interface Balance {
  /** So much of the ring. */
  readonly budget: bigint;
  /** Whether keys of one owner can be brought to another with all their state. */
  canTake(from: string, to: string): boolean;
}

export interface Placement extends Span {
  readonly incarnation: string;
}

export interface Policy {
  readonly name: string;
  /** True when {@link place} looks at rows or load: it is then asked at every decision, not only when members change. */
  readonly adaptive: boolean;
  /** The owner that each key should have: spans in order that cover the ring, or none if there is no member. */
  place(input: PolicyInput): readonly Placement[];
}
