/** State that moves, as a stream and a stage see it: by its name, in one form, with a codec. And what is said of an item that cannot travel. */

import { printable, printableJson } from '../../../runtime/printable.ts';
import type { MovableName } from '../../core/moves/seam.ts';
import type { ItemCodec, Movable } from '../state/movable.ts';

export interface CarriedState extends MovableName {
  readonly state: Movable<unknown>;
  readonly codec: ItemCodec<unknown>;
}

/** A move cannot go on, for a reason in the application: a sentence with the name of the state, the key, and the cure. */
export class Uncarriable extends Error {
  override readonly name = 'Uncarriable';
}

const LONGEST_KEY_SHOWN = 64;

/** The key of an item, if it has the shape of an entry: `[key, …]` or `{ key }`. */
export function nameItem(item: unknown): string {
  const key: unknown = Array.isArray(item)
    ? item[0]
    : typeof item === 'object' && item !== null && 'key' in item
      ? item.key
      : undefined;
  if (typeof key !== 'string' && typeof key !== 'bigint' && typeof key !== 'number') return 'an item';
  const text = typeof key === 'string' ? printableJson(key.slice(0, LONGEST_KEY_SHOWN)) : String(key);
  return `the item of key ${text}`;
}

/** What was thrown, in one line. */
export const reason = (thrown: unknown): string =>
  printable(thrown instanceof Error ? thrown.message : String(thrown)).slice(0, 500);
