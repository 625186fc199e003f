/** Shares limits with other processes, whichever way the owners of keys are found: `joinLimits`. */

import { type JoinLimitsInGroupOptions, joinLimitsInGroup } from './limits-in-group.ts';
import { type JoinLimitsOnPoolOptions, joinLimitsOnPool } from './limits-on-pool.ts';
import type { SharedLimits } from './shared-limits.ts';

/** What `joinLimits` takes: a group that this process has joined, or a name for a pool of Managers. */
export type JoinLimitsOptions = JoinLimitsInGroupOptions | JoinLimitsOnPoolOptions;

/**
 * On a pool, resolves when this process is a member of the pool and knows the owners of all keys; in a group at once. Owners of keys in a group are
 * the servers that share limits, and the view changes when a server begins to share: so call this right after `joinGroup`.
 *
 * @throws {InvalidArgumentError} before anything has started
 * @throws {InUseError} `PORT_IN_USE` if another process listens there
 * @throws {UnavailableError} if no Manager answers in time
 * @throws {RefusedError} if the Manager refuses this process
 */
export async function joinLimits(options: JoinLimitsOptions): Promise<SharedLimits> {
  const isInGroup = typeof options === 'object' && options !== null && 'group' in options;
  return isInGroup ? joinLimitsInGroup(options) : joinLimitsOnPool(options as JoinLimitsOnPoolOptions);
}
