/**
 * The papers' four steps around work on a key: check, work, and check that the key was held all along.
 */

import type { Key } from '../../../runtime/keys/hash.ts';
import { leaseLost, notOwner } from '../errors.ts';
import { markThrownByWork } from '../http-answer.ts';
import type { HeldKey } from './held-keys.ts';

/** Work on a key that is held. */
export type KeyWork<T> = (held: HeldKey) => Promise<T> | T;

/**
 * @param held disposed of at the end; undefined: the key is not held
 * @throws {NotOwnerError} if the work has not begun
 * @throws {LeaseLostError} if the key was lost meanwhile; the result of the work is dropped
 */
export async function guardedWork<T>(key: Key, held: HeldKey | undefined, work: KeyWork<T>): Promise<T> {
  if (held === undefined) throw notOwner(key);
  using holding = held;
  const result = await whatComesOf(work, holding);
  if (!holding.isHeld()) throw leaseLost(key, holding.number);
  return result;
}

/** An error of the work is not an error of `guard` before the work, though both may be of the same kind. */
async function whatComesOf<T>(work: KeyWork<T>, held: HeldKey): Promise<T> {
  try {
    return await work(held);
  } catch (error) {
    markThrownByWork(error);
    throw error;
  }
}
