/** The options of a spread limit, checked together. */

import { Group } from '../../../membership/shell/group.ts';
import { SERVERS_MAX } from '../../../membership/wire/bounds.ts';
import { InvalidOptionError } from '../../../runtime/errors.ts';
import type { Rate } from '../../core/rate.ts';
import type { DemandKind } from '../demand.ts';
import { epochOption } from './group-totals.ts';
import { SpreadLimit } from './spread-limit.ts';

export interface SpreadOptions {
  /**
   * `'spread'` (experimental): one limit for all keys together, of which each member of a group uses the part that its traffic needs. For a few
   * large limits with traffic everywhere. @default each key has the limit, as the other options say
   */
  mode?: 'spread' | undefined;

  /** The group whose members share the limit; every member has to make the limiter. Only with `mode: 'spread'`. */
  group?: Group | undefined;

  /** The measure that a member's part follows: the tokens asked for, the keys that ask, or greedy flows. Only with `mode: 'spread'`. @default 'arrivals' */
  demand?: DemandKind | undefined;

  /** How often members even out, in milliseconds; more than a trip between two of them. Only with `mode: 'spread'`. @default 100 */
  epochMs?: number | undefined;
}

interface Given extends SpreadOptions {
  readonly name?: string | undefined;
  readonly size?: number | undefined;
}

/** Options that have no meaning for a spread limit. */
const NOT_SPREAD = ['sharing', 'onLoss', 'whenCutOff', 'waitMs', 'maxKeys', 'whenFull', 'runtime'] as const;
const ONLY_SPREAD = ['group', 'demand', 'epochMs'] as const;
const DEMANDS: readonly unknown[] = ['arrivals', 'keys', 'flows'];

/** @throws {InvalidOptionError} if an option of spread limits is given for another limit */
export function refuseSpreadOptions(options: SpreadOptions): void {
  demand('mode', options.mode, options.mode === undefined, "it must be 'spread', or left out");
  for (const option of ONLY_SPREAD)
    demand(option, 'given', options[option] === undefined, "it is for mode: 'spread'");
}

/** @throws {InvalidOptionError} naming the first rule that is broken */
export function spreadLimit(options: Given, name: string, rate: Rate): SpreadLimit {
  for (const option of NOT_SPREAD) {
    const value = (options as Readonly<Record<string, unknown>>)[option];
    demand(option, 'given', value === undefined, 'a spread limit has no such option');
  }
  demand(
    'name',
    options.name,
    options.name !== undefined,
    'a spread limit needs a name, the same in every process',
  );
  const { group } = options;
  if (!(group instanceof Group))
    throw new InvalidOptionError('group', group, "mode: 'spread' needs the group that joinGroup returned");
  const kind = options.demand ?? 'arrivals';
  demand('demand', kind, DEMANDS.includes(kind), "it must be 'arrivals', 'keys' or 'flows'");
  const size = options.size ?? group.inside.size;
  const isSize = size !== undefined && Number.isInteger(size) && size >= 1 && size <= SERVERS_MAX;
  const rule = `give size, the most members that the group ever has (1 to ${SERVERS_MAX}), to joinGroup or here`;
  if (size === undefined || !isSize) throw new InvalidOptionError('size', size, rule);
  const isLarge = rate.burst >= size;
  demand(
    'burst',
    rate.burst,
    isLarge,
    `each of ${size} members needs a token at least; for small limits, share keys instead`,
  );
  return new SpreadLimit({ name, rate, group, size, demand: kind, epochMs: epochOption(options.epochMs) });
}

function demand(option: string, value: unknown, holds: boolean, rule: string): void {
  if (!holds) throw new InvalidOptionError(option, value, rule);
}
