/** The options of a spread limit, checked together. */

import type { GroupMember } from '../../../membership/shell/group-member.ts';
import { SERVERS_MAX } from '../../../membership/wire/bounds.ts';
import { invalidOption } from '../../../runtime/errors.ts';
import * as is from '../../../runtime/option-kinds.ts';
import { type OptionTable, or, required, resolveOptions } from '../../../runtime/option-table.ts';
import type { Rate } from '../../core/local/rate.ts';
import type { DemandKind } from '../../core/spread/demand.ts';
import { EVERY_MS_ROW } from './group-totals.ts';
import { SpreadLimit } from './spread-limit.ts';

/** The option `spread` of `ratelimit`, with more than the group. */
export interface SpreadOptions {
  /** The group whose members share the limit; every member has to make the limiter. */
  group: GroupMember;

  /** The measure that a member's part follows: the tokens asked for, the keys that ask, or greedy flows. @default 'arrivals' */
  demand?: DemandKind | undefined;

  /** How often members even out, in milliseconds; more than a trip between two of them. @default 100 */
  everyMs?: number | undefined;
}

/** @internal */
export const SPREAD_OPTIONS: OptionTable<SpreadOptions, 'demand' | 'everyMs'> = {
  group: required(is.anything()),
  demand: or('arrivals', is.oneOf('arrivals', 'keys', 'flows')),
  everyMs: EVERY_MS_ROW,
};

/** @throws {InvalidArgumentError} naming the first rule that is broken */
export function spreadLimit(
  given: GroupMember | SpreadOptions,
  mostServers: number | undefined,
  name: string,
  rate: Rate,
): SpreadLimit {
  const options = isGroup(given) ? { group: given } : given;
  const { group, demand, everyMs } = resolveOptions('spread.', options, SPREAD_OPTIONS);
  if (!isGroup(group)) throw invalidOption('spread', group, 'it must be the group that joinGroup returned');
  const maxServers = mostServers ?? group.inside.maxServers;
  if (maxServers === undefined || maxServers > SERVERS_MAX) {
    const rule = `give the most servers that the group ever has (1 to ${SERVERS_MAX}), to joinGroup or here`;
    throw invalidOption('maxServers', maxServers, rule);
  }
  if (rate.burst < maxServers) {
    const rule = `each of ${maxServers} members needs a token at least; for small limits, share keys instead`;
    throw invalidOption('burst', rate.burst, rule);
  }
  return new SpreadLimit({ name, rate, group, maxServers, demand, epochMs: everyMs });
}

/** Known by a part that no other object has: the class itself would load the whole of membership for a limit of one process. */
const isGroup = (value: unknown): value is GroupMember =>
  typeof value === 'object' && value !== null && 'inside' in value;
