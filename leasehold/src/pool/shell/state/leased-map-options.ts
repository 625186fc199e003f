/** What a leased map can be told: how long entries last, and how much may be in memory. */

import type { Key } from '../../../runtime/keys/hash.ts';
import * as is from '../../../runtime/option-kinds.ts';
import { invalidOption } from '../../../runtime/errors.ts';
import {
  type OptionTable,
  optional,
  or,
  type ResolvedOptions,
  resolveOptions,
} from '../../../runtime/option-table.ts';
import { LONGEST_NAME } from '../../wire/rules.ts';

export interface LeasedMapOptions<T> {
  /** An entry ends this long after it was last set or touched, in milliseconds. @default never */
  ttlMs?: number | undefined;
  /** How many entries there may be in this process. @default any number */
  maxEntries?: number | undefined;
  /** How large all values together may be in this process, by `sizeOf`, which must be given too. @default any size */
  maxBytes?: number | undefined;
  /** The size of a value, for `maxBytes`. Asked once, when the value is set. */
  sizeOf?: ((value: T, key: Key) => number) | undefined;
  /** What `set` does in a full map: throws FULL, or drops the entry that was set or touched longest ago. @default 'refuse' */
  whenFull?: 'refuse' | 'evict' | undefined;
}

export type LeasedMapSettings<T> = ResolvedOptions<LeasedMapOptions<T>, 'whenFull'>;

type Sizer = (value: never, key: Key) => number;

/** The rows say nothing of the values: `sizeOf` is any function here, and one of the map's values in {@link resolveLeasedMap}. */
export const LEASED_MAP_OPTIONS: OptionTable<
  Omit<LeasedMapOptions<never>, 'sizeOf'> & { sizeOf?: Sizer | undefined },
  'whenFull'
> = {
  ttlMs: optional(is.duration, 'never'),
  maxEntries: optional(is.whole(1), 'any number'),
  maxBytes: optional(is.whole(1), 'any size'),
  sizeOf: optional(is.callback()),
  whenFull: or('refuse', is.oneOf('refuse', 'evict')),
};

/** @throws {InvalidArgumentError} */
export function resolveLeasedMap<T>(
  name: string | undefined,
  options: LeasedMapOptions<T>,
): LeasedMapSettings<T> {
  if (name !== undefined) is.name(LONGEST_NAME).check('leasedMap name', name);
  const settings = resolveOptions(
    'leasedMap.',
    options,
    LEASED_MAP_OPTIONS as OptionTable<LeasedMapOptions<T>, 'whenFull'>,
  );
  const { maxBytes, sizeOf } = settings;
  if (maxBytes !== undefined && sizeOf === undefined)
    throw invalidOption('leasedMap.maxBytes', maxBytes, 'it needs sizeOf, which says how large a value is');
  if (sizeOf !== undefined && maxBytes === undefined)
    throw invalidOption('leasedMap.sizeOf', 'a function', 'it is of use only with maxBytes');
  return settings;
}
