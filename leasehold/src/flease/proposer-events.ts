/** What comes of what was asked of a proposer: answers to requests, and what becomes of a lease that is held. */

import type { Reluctance } from './attempt.ts';
import type { Request } from './claim.ts';
import type { Tenure } from './tenure.ts';
import type { Lease } from './lease.ts';

export type ProposerEvent =
  /** To an `acquire` or a `try`. */
  | {
      readonly kind: 'granted';
      readonly request: number;
      readonly wanted: Request['kind'];
      readonly tenure: Tenure;
    }
  /** To a `try`: somebody else has it. */
  | { readonly kind: 'held'; readonly request: number; readonly lease: Lease }
  /** To an `ask`; undefined if nobody has it. */
  | { readonly kind: 'told'; readonly request: number; readonly lease: Lease | undefined }
  /** To a `try` or an `ask`: no majority. */
  | { readonly kind: 'failed'; readonly request: number; readonly reluctant: ReadonlyMap<string, Reluctance> }
  | { readonly kind: 'renewed'; readonly tenure: Tenure }
  /** It is about to end, and could not be renewed so far. */
  | { readonly kind: 'ending'; readonly tenure: Tenure }
  | { readonly kind: 'ended'; readonly tenure: Tenure }
  /** After it was let go of: the others know, or need not be told any more. */
  | { readonly kind: 'left'; readonly tenure: Tenure };
