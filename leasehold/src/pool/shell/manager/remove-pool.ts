/**
 * An operator removes a pool: everything that the log has of the pool.
 *
 * There is no way to force the removal while owners are in the pool. Only the table knows which keys an owner may
 * hold, so without the table another owner could be granted the same keys; and a live owner would join again, and the
 * pool be back at once. Stop the servers, or wait until the hold of a dead one is over, and then remove the pool.
 *
 * Look-ups are told that everything in the pool is lost. Where pools must be declared (`createPools: 'declared'`), and
 * this pool is declared no longer, look-ups and joining owners are then refused with `UNKNOWN_POOL`.
 */

import type { ManagerDriver } from '../../core/manager/driver.ts';
import type { Manager } from '../../core/manager/manager.ts';
import { notLeading, poolInUse } from '../errors.ts';

export interface RemovePoolOptions {
  readonly core: Pick<Manager, 'role' | 'term' | 'state' | 'removePool' | 'isRemoving'>;
  readonly driver: Pick<ManagerDriver, 'input'>;
  /** Resolves when `isSo` is true; rejects if the Manager cannot go on. */
  until(isSo: () => boolean): Promise<true>;
  leader(): string | undefined;
}

/** Resolves when the removal is in the log: with whether there was anything to remove. */
export async function removePool(pool: string, options: RemovePoolOptions): Promise<boolean> {
  const { core, driver, until } = options;
  const { term } = core;
  if (core.role !== 'leading') throw notLeading(options.leader());
  if (!core.state.pools.has(pool)) return false;
  refuseIfInUse(pool, options);
  driver.input((now) => core.removePool(pool, now));
  await until(() => core.term !== term || !core.isRemoving(pool));
  if (core.term !== term) throw notLeading(options.leader(), false);
  refuseIfInUse(pool, options);
  return true;
}

/** @throws {InUseError} */
function refuseIfInUse(pool: string, { core }: RemovePoolOptions): void {
  const owners = [...core.state.pool(pool).members.values()].map(({ name }) => name);
  if (owners.length > 0) throw poolInUse(pool, owners);
}
