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
  const result = await whatComesOf(() => work(holding));
  if (!holding.isHeld()) throw leaseLost(key, holding.number);
  return result;
}

/** Work that is also done if the key is not held. */
export type WeakKeyWork<T> = (held: HeldKey | undefined) => Promise<T> | T;

/**
 * Weak consistency: nothing is checked at the end, and the result is handed back in any case.
 *
 * @param held disposed of at the end; undefined: the key is not held, and the work is done all the same
 */
export async function weakWork<T>(held: HeldKey | undefined, work: WeakKeyWork<T>): Promise<T> {
  using _ = held;
  return await whatComesOf(() => work(held));
}

/** An error of the work is not an error of `guard` before the work, though both may be of the same kind. */
async function whatComesOf<T>(work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    markThrownByWork(error);
    throw error;
  }
}
