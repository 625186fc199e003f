/**
 * Effects of a proposer: items for members, and events: answers to requests, and changes of a held lease.
 */

import type { RefusalCause } from './attempt.ts';
import type { Request } from './resource-state.ts';
import type { HeldLease } from './held-lease.ts';
import type { Lease } from './lease.ts';
import type { Item } from './messages.ts';

export type ProposerEffect =
  /** To these members, possibly ourselves among them. */
  | { readonly do: 'send'; readonly to: readonly string[]; readonly item: Item }
  | { readonly do: 'tell'; readonly event: ProposerEvent };

export type ProposerEvent =
  /** To an `acquire` or a `try`. */
  | {
      readonly kind: 'granted';
      readonly request: number;
      readonly wanted: Request['kind'];
      readonly held: HeldLease;
    }
  /** To a `try`: another member holds the lease. */
  | { readonly kind: 'held'; readonly request: number; readonly lease: Lease }
  /** To an `ask`; undefined if no member holds the lease. */
  | { readonly kind: 'told'; readonly request: number; readonly lease: Lease | undefined }
  /** To a `try` or an `ask`: no majority. */
  | {
      readonly kind: 'failed';
      readonly request: number;
      readonly refusals: ReadonlyMap<string, RefusalCause>;
    }
  | { readonly kind: 'renewed'; readonly held: HeldLease }
  /** The lease is about to end, and could not be renewed so far. */
  | { readonly kind: 'ending'; readonly held: HeldLease }
  | { readonly kind: 'ended'; readonly held: HeldLease }
  /** After a release: the others know, or need not be told any more. */
  | { readonly kind: 'left'; readonly held: HeldLease };
