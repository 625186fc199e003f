/**
 * What callers and owners of objects say to each other. A link carries frames of one caller to one owner in order, until it breaks; a frame is
 * either delivered as it was sent, or never.
 *
 * A call has the same counter in each of its frames: an owner that ran the call already answers with the kept result (`kept-results.ts`).
 */

import type { Hash } from '../../runtime/keys/position.ts';

/** The object that a frame is about. */
export interface ObjectName {
  readonly kind: string;
  readonly key: string;
}

export interface CallFrame extends ObjectName {
  readonly do: 'call';
  /** Of the caller; grows from call to call. */
  readonly counter: number;
  readonly position: Hash;
  /** The call or read of the kind. */
  readonly name: string;
  /** Plain data: the list of arguments. */
  readonly args: Uint8Array;
  /** Under which the caller found the owner: the call runs only if the key has been held continuously since. */
  readonly number: number;
  /** Under which the call was first sent, of those frames that may have run it. */
  readonly first: number;
  /** An earlier frame may have run it. */
  readonly isRepeated: boolean;
  /** The caller knows that the key lost its state after `first`. */
  readonly hasLost: boolean;
  /** The application says that to run it twice is the same as once. */
  readonly isIdempotent: boolean;
  /** The positions whose turns wait for this call. */
  readonly through: readonly Hash[];
  readonly leftMs: number;
}

export interface CancelFrame extends ObjectName {
  readonly do: 'cancel';
  readonly counter: number;
  readonly position: Hash;
  readonly why: 'over' | 'cancelled';
}

/** The caller has these results. */
export interface ConfirmFrame {
  readonly do: 'confirm';
  readonly results: readonly (ObjectName & { readonly counter: number; readonly position: Hash })[];
}

export type ToOwner = CallFrame | CancelFrame | ConfirmFrame;

/** The result of a run: a value, or the error that the handler threw. Plain data either way. */
export interface Answer {
  readonly isError: boolean;
  readonly bytes: Uint8Array;
}

/** Why a frame did not run its call. After `not-held` the caller looks for the owner again; the others settle the call. */
export type Refusal =
  | 'not-held'
  | 'over'
  | 'cancelled'
  | 'cycle'
  | 'too-far'
  | 'no-such-call'
  | 'full'
  | 'closed';

export type ToCaller =
  | { readonly do: 'reply'; readonly counter: number; readonly answer: Answer }
  /** This frame surely ran nothing. */
  | { readonly do: 'refused'; readonly counter: number; readonly why: Refusal }
  /** This frame may have run the call; a repetition may learn the result. */
  | { readonly do: 'uncertain'; readonly counter: number }
  /** Whether an earlier frame ran the call cannot be known any more. */
  | { readonly do: 'unknown'; readonly counter: number; readonly why: 'forgotten' | 'lost' };

/** A call through more objects than this has lost its way. */
export const THROUGH_MAX = 16;
