/**
 * The stage of a scenario: a pool in which nothing happens by chance. Every message takes 2 ms, all
 * clocks run at one rate, and owners and look-ups are there and content before the scenario begins.
 */

import { keyHash } from '../../../runtime/keys/hash.ts';
import type { Hash } from '../../../runtime/keys/position.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import { BrokenPromise } from '../../../sim/world.ts';
import { resolveDurations } from '../../core/options.ts';
import { consistentHashing } from '../../core/policy/consistent-hashing.ts';
import type { LookupNode, ManagerNode, OwnerNode } from '../nodes.ts';
import { PoolWorld, type PoolWorldOptions } from '../pool-world.ts';

export interface QuietPoolOptions extends Partial<PoolWorldOptions> {
  /** `owner-1`, `owner-2`, … */
  readonly owners?: number | undefined;
  /** `lookup-1`, `lookup-2`, … */
  readonly lookups?: number | undefined;
}

export function quietPool(
  options: QuietPoolOptions = {},
  Kind: new (options: PoolWorldOptions) => PoolWorld = PoolWorld,
): PoolWorld {
  const { owners = 0, lookups = 0, ...more } = options;
  const pool = emptyPool(more, Kind);
  pool.start();
  for (let index = 1; index <= owners; index += 1) pool.addOwner(`owner-${index}`);
  for (let index = 1; index <= lookups; index += 1) pool.addLookup(`lookup-${index}`);
  if (owners > 0) settle(pool);
  else pool.until('a Manager leads', () => pool.leader !== undefined, pool.durations.leaderChangeMs);
  return pool;
}

/** The same before anybody has come. */
export function emptyPool(
  options: Partial<PoolWorldOptions> = {},
  Kind: new (options: PoolWorldOptions) => PoolWorld = PoolWorld,
): PoolWorld {
  const { durations = resolveDurations(), ...more } = options;
  return new Kind({
    seed: 1,
    trace: true,
    durations,
    policy: consistentHashing({ virtualNodes: 4 }),
    managers: 3,
    leaderKeyMs: durations.leaderLeaseMs * 1.1,
    links: { delayMs: [2, 2] },
    logLinks: { delayMs: [2, 2] },
    ...more,
  });
}

/** Waits until all keys are where the policy wants them and every look-up agrees. */
export function settle(pool: PoolWorld): void {
  const endMs = pool.world.trueMs + pool.settleMs;
  while (!isSettled(pool) && pool.world.trueMs < endMs) pool.run(50);
  pool.until('all is settled', () => isSettled(pool), 0);
}

export function isSettled(pool: PoolWorld): boolean {
  if (pool.checker.truth.pools.size === 0) return false;
  try {
    pool.checker.settled();
    return true;
  } catch (error) {
    if (error instanceof BrokenPromise && error.promise === 'settles') return false;
    throw error;
  }
}

export function leaderOf(pool: PoolWorld): ManagerNode {
  const { leader } = pool;
  if (leader === undefined) throw new Error('nobody leads');
  return leader;
}

/** So many keys, all over the ring. */
export const sampleKeys = (count: number): readonly Hash[] =>
  Array.from({ length: count }, (_, index) => keyHash(`key ${index}`));

/** A key that this owner may act for now. */
export function keyOf(node: OwnerNode): Hash {
  const key = sampleKeys(1_000).find((position) => node.check(position) !== undefined);
  if (key === undefined) throw new Error(`${node.name} has none of the sampled keys`);
  return key;
}

/** The number under which this owner may act for a key, which it may. */
export function numberOf(node: OwnerNode, key: Hash): number {
  const number = node.check(key);
  if (number === undefined) throw new Error(`${node.name} does not have ${key}`);
  return number;
}

/** Who has a key, and under which number, as the log has it. */
export function truthOf(
  pool: PoolWorld,
  key: Hash,
): { readonly owner: string | undefined; readonly number: number } {
  const [segment] = pool.checker.truth.pool('pool').overlapping({ start: key, end: key + 1n });
  if (segment === undefined) throw new Error(`nothing is known of ${key}`);
  return segment;
}

/** All that this owner holds. */
export const holdingsOf = (node: OwnerNode): RangeSet => RangeSet.of(node.core?.held ?? []);

/** Who may act for a key now. */
export const actors = (pool: PoolWorld, key: Hash): OwnerNode[] =>
  pool.owners.filter((node) => node.check(key) !== undefined);

/** The owner other than this one that may act for a key, once there is one. */
export function nextActor(pool: PoolWorld, key: Hash, not: OwnerNode, withinMs: number): OwnerNode {
  const others = () => pool.owners.filter((node) => node !== not && node.check(key) !== undefined);
  pool.until(`somebody other than ${not.name} has the key`, () => others().length > 0, withinMs);
  return others()[0] as OwnerNode;
}

/** Nothing passes between this node and any Manager, either way. */
export function cutOff(pool: PoolWorld, node: OwnerNode | LookupNode): void {
  for (const manager of pool.managers) pool.network.cutBoth(node.name, manager.name);
}

export function reconnect(pool: PoolWorld, node: OwnerNode | LookupNode): void {
  for (const manager of pool.managers) pool.network.heal(node.name, manager.name);
}

/** Runs this once, right after the first event after which the condition holds. */
export function when(pool: PoolWorld, isSo: () => boolean, act: () => void): void {
  let done = false;
  pool.world.afterEach(() => {
    if (done || !isSo()) return;
    done = true;
    act();
  });
}

/** What a scenario that means to break a promise gets instead. */
export function brokenBy(act: () => void): BrokenPromise | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof BrokenPromise) return error;
    throw error;
  }
}
