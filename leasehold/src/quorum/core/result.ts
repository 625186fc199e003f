/** What came of a request, as every replica computes it when it applies the request's slot. */

import type { Revision, Value } from './operation.ts';

/** What a key was found to have; a deleted key, and one that never was, has no value. */
export interface Found {
  readonly key: string;
  readonly value: Value | undefined;
  /** The write that this is of; 0 if there was none. */
  readonly revision: Revision;
}

export type Result =
  /** All conditions held, and the actions were carried out; `found` has what the gets saw. */
  | { readonly kind: 'done'; readonly revision: Revision; readonly found: readonly Found[] }
  /** A condition did not hold, and nothing was written; `found` has the keys of all conditions. */
  | { readonly kind: 'unmet'; readonly revision: Revision; readonly found: readonly Found[] }
  | { readonly kind: 'opened'; readonly session: Revision }
  | { readonly kind: 'expired' }
  /** The session has expired or never was. Whether earlier requests of it were applied is unknown. */
  | { readonly kind: 'no-session' }
  | { readonly kind: 'refused'; readonly why: 'answered-before' | 'beyond-window' }
  /** A copy of a request that was applied before, and what came of that one. */
  | { readonly kind: 'duplicate'; readonly of: Result };
