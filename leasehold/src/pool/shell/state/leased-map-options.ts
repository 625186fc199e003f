/** What a leased map can be told: how long entries last, how much may be in memory, and in which form values move to another owner. */

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
import type { ItemCodec } from './movable.ts';

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
  /** The form of the values, in a map with a name. Keys move only to an owner whose map has this version, or `reads` it. @default 1 */
  version?: number | undefined;
  /** Older versions, values of which this process understands: they arrive as they left, and the codec, or what uses them, tells them apart. @default none */
  reads?: readonly number[] | undefined;
  /** Values as bytes, for a move. @default structured clone; a value that would not arrive as it left (a class instance, a function) is refused, and its keys stay */
  codec?: ItemCodec<T> | undefined;
}

type Defaulted = 'whenFull' | 'version';

export type LeasedMapSettings<T> = ResolvedOptions<LeasedMapOptions<T>, Defaulted>;

type Sizer = (value: never, key: Key) => number;

/** The rows say nothing of the values: `sizeOf` and `codec` are of any values here, and of the map's in {@link resolveLeasedMap}. */
export const LEASED_MAP_OPTIONS: OptionTable<
  Omit<LeasedMapOptions<never>, 'sizeOf' | 'codec'> & {
    sizeOf?: Sizer | undefined;
    codec?: ItemCodec<unknown> | undefined;
  },
  Defaulted
> = {
  ttlMs: optional(is.duration, 'never'),
  maxEntries: optional(is.whole(1), 'any number'),
  maxBytes: optional(is.whole(1), 'any size'),
  sizeOf: optional(is.callback()),
  whenFull: or('refuse', is.oneOf('refuse', 'evict')),
  version: or(1, is.whole(1)),
  reads: optional(is.wholes(1)),
  codec: optional(is.functions<ItemCodec<unknown>>('encode', 'decode'), 'structured clone'),
};

/** What only a map that moves has a use for. */
const OF_MOVES = ['version', 'reads', 'codec'] as const;

/** @throws {InvalidArgumentError} */
export function resolveLeasedMap<T>(
  name: string | undefined,
  options: LeasedMapOptions<T>,
): LeasedMapSettings<T> {
  if (name !== undefined) is.name(LONGEST_NAME).check('leasedMap name', name);
  const settings = resolveOptions(
    'leasedMap.',
    options,
    LEASED_MAP_OPTIONS as OptionTable<LeasedMapOptions<T>, Defaulted>,
  );
  const unused = name === undefined ? OF_MOVES.find((option) => options[option] !== undefined) : undefined;
  if (unused !== undefined)
    throw invalidOption(
      `leasedMap.${unused}`,
      options[unused],
      'it is of use only in a map with a name, which moves',
    );
  const { maxBytes, sizeOf } = settings;
  if (maxBytes !== undefined && sizeOf === undefined)
    throw invalidOption('leasedMap.maxBytes', maxBytes, 'it needs sizeOf, which says how large a value is');
  if (sizeOf !== undefined && maxBytes === undefined)
    throw invalidOption('leasedMap.sizeOf', 'a function', 'it is of use only with maxBytes');
  return settings;
}
