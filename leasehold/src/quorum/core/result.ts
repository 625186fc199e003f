/** What came of a request, as every replica computes it when it applies the request's slot. */

import type { Revision, Value } from './operation.ts';

/** What a key was found to have; a deleted key, and one that never was, has no value. */
export interface Found {
  readonly key: string;
  readonly value: Value | undefined;
  /** The write that this is of; 0 if there was none. */
  readonly revision: Revision;
}

/** As `done` or `unmet`, but without what was found: that has so many bytes, and is too large to be sent, or was not kept. */
export interface Omitted {
  readonly kind: 'omitted';
  readonly of: 'done' | 'unmet';
  readonly revision: Revision;
  readonly bytes: number;
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
  | Omitted
  /** A copy of a request that was applied before, and what came of that one. */
  | { readonly kind: 'duplicate'; readonly of: Result };

/** The size of a value besides the key and the bytes. */
const FOUND_BYTES = 64;

/** The rough size of what was found. Limits are counted in these bytes. */
export function foundBytes(found: readonly Found[]): number {
  let bytes = 0;
  for (const { key, value } of found) bytes += FOUND_BYTES + key.length + (value?.length ?? 0);
  return bytes;
}

export const resultBytes = (result: Result): number => ('found' in result ? foundBytes(result.found) : 0);

/** The result without what was found. */
export function omitted(result: Result): Result {
  if (result.kind !== 'done' && result.kind !== 'unmet') return result;
  return { kind: 'omitted', of: result.kind, revision: result.revision, bytes: foundBytes(result.found) };
}
