/**
 * An operator's configuration of pools, and the resolved values. Everything is checked before anything is changed: a
 * configuration with a mistake is refused whole, and the one before stays in force.
 */

import { brokenRule, invalidOption } from '../../../runtime/errors.ts';
import { LONGEST_NAME } from '../../wire/rules.ts';
import { type ManagerSettings, type PoolSettings, QUIET_AFTER_MS } from '../../core/manager/settings.ts';
import { POOL_DURATIONS, type PoolDurations, resolveDurations } from '../../core/options.ts';
import { consistentHashing, VIRTUAL_NODES_MAX } from '../../core/policy/consistent-hashing.ts';
import * as is from '../../../runtime/option-kinds.ts';
import { type OptionTable, optional, or, resolveOptions } from '../../../runtime/option-table.ts';
import { nameOption } from '../../../runtime/text-option.ts';

/** Of one pool. An omitted value is as for all pools, or the default. */
export interface PoolConfiguration extends PoolDurations {
  /** Points on the ring for each owner. More spread load more evenly and make a larger table. @default 64 */
  virtualNodes?: number | undefined;

  /**
   * How long nobody has come or gone when a pool whose owners move keys begins to do so, and when keys are evened out, in milliseconds. Until then a pool that starts up
   * is placed anew with each owner that comes. @default 60_000
   */
  quietAfterMs?: number | undefined;
}

/** The options of a Manager that can change while it runs, as a configuration file has them. */
export interface ManagerConfiguration {
  /** For every pool that says nothing else. */
  defaults?: PoolConfiguration | undefined;

  /** Pools with something of their own to say; an empty object declares one without. */
  pools?: Readonly<Record<string, PoolConfiguration>> | undefined;

  /** Whether a pool begins with the first request, or must be among `pools`. @default 'on-first-use' */
  createPools?: 'on-first-use' | 'declared' | undefined;
}

/** @internal */
export const POOL_OPTIONS: OptionTable<
  PoolConfiguration,
  'virtualNodes' | 'quietAfterMs' | 'leaseMs' | 'syncEveryMs'
> = {
  virtualNodes: or(64, is.whole(1, VIRTUAL_NODES_MAX)),
  quietAfterMs: or(QUIET_AFTER_MS, is.from(0)),
  ...POOL_DURATIONS,
};

/** @internal */
export const CONFIGURATION_OPTIONS: OptionTable<ManagerConfiguration, 'createPools'> = {
  defaults: optional(is.record('an object'), 'the defaults below'),
  pools: optional(is.record('an object: settings by the name of a pool')),
  createPools: or('on-first-use', is.oneOf('on-first-use', 'declared')),
};

/** The values in force for pools, beyond the core's needs. */
export interface ResolvedConfiguration {
  readonly createPools: 'on-first-use' | 'declared';
  readonly defaults: ResolvedPool;
  readonly pools: ReadonlyMap<string, ResolvedPool>;
}

export interface ResolvedPool extends PoolSettings {
  readonly virtualNodes: number;
}

/** @throws {InvalidArgumentError} */
export function resolveConfiguration(configuration: ManagerConfiguration): ResolvedConfiguration {
  const resolved = resolveOptions('', configuration, CONFIGURATION_OPTIONS);
  const { createPools, defaults = {}, pools = {} } = resolved;
  resolveOptions('defaults.', defaults, POOL_OPTIONS);
  return {
    createPools,
    defaults: inPlace('defaults', () => resolvePool(defaults)),
    pools: new Map(
      Object.entries(pools).map(([name, own]) => {
        nameOption('the name of a pool', name, LONGEST_NAME);
        const place = `pools.${name}`;
        resolveOptions(`${place}.`, own, POOL_OPTIONS);
        return [name, inPlace(place, () => resolvePool({ ...defaults, ...own }))] as const;
      }),
    ),
  };
}

/** The facts about the surroundings that the core needs. */
export interface CoreDependencies {
  readonly maxBatchBytes: number;
  readonly address: string;
  readonly firstStart?: boolean | undefined;
  /** As in {@link ManagerSettings}. */
  readonly groupTakeoverMs?: number | undefined;
}

/**
 * Above the spans of a thousand owners, which may start at once: each batch goes through all rows and tells all
 * owners.
 */
const MAX_SPANS_PER_BATCH = 100_000;
const COMPACT_EVERY_BATCHES = 1_000;

export const settingsOf = (
  id: string,
  { createPools, defaults, pools }: ResolvedConfiguration,
  { maxBatchBytes, address, firstStart, groupTakeoverMs }: CoreDependencies,
): ManagerSettings => ({
  ...defaults,
  id,
  address,
  firstStart,
  pools,
  declaredOnly: createPools === 'declared',
  maxSpansPerBatch: MAX_SPANS_PER_BATCH,
  maxBatchBytes,
  groupTakeoverMs,
  compactEveryBatches: COMPACT_EVERY_BATCHES,
});

function resolvePool(pool: PoolConfiguration): ResolvedPool {
  const { virtualNodes = 64, quietAfterMs, ...durations } = pool;
  return {
    virtualNodes,
    quietAfterMs,
    durations: resolveDurations(durations),
    policy: consistentHashing({ virtualNodes }),
  };
}

/** Says in which part of the configuration an option is wrong. */
function inPlace<T>(place: string, resolve: () => T): T {
  try {
    return resolve();
  } catch (error) {
    const broken = brokenRule(error);
    if (broken === undefined) throw error;
    throw invalidOption(`${place}.${broken.option}`, broken.value, broken.rule);
  }
}

/** The shortest that is asked for anywhere: a successor waits for a whole leader lease of any pool. */
export const shortestLeaderLeaseMs = (configuration: ResolvedConfiguration): number =>
  Math.min(...inForce(configuration).map(({ durations }) => durations.leaderLeaseMs));

/** The shortest time without a leader that the owners of any pool are to survive. */
export const shortestLeaderChangeMs = (configuration: ResolvedConfiguration): number =>
  Math.min(...inForce(configuration).map(({ durations }) => durations.leaderChangeMs));

/** The shortest suspension that must be noticed for the sake of any pool. */
export const shortestToleranceMs = (configuration: ResolvedConfiguration): number =>
  Math.min(...inForce(configuration).map(({ durations }) => durations.suspensionToleranceMs));

const inForce = ({ defaults, pools }: ResolvedConfiguration): readonly ResolvedPool[] => [
  defaults,
  ...pools.values(),
];
