/**
 * The settings of a Manager, for all pools and for each. They can change while it runs
 * ({@link Manager.configure}).
 *
 * Why changing durations under way is safe: every promise is made of the settings in force at its
 * instant, and says so. An update carries the lease it gives, and the hold is set together with it;
 * what a successor must wait for is in the log before the first lease that needs it is given, and stays
 * there until the last lease that needed it has run out.
 *
 * A log that keeps nothing cannot say how long a successor must wait. Managers on such a log agree on one number instead
 * ({@link ManagerSettings.groupTakeoverMs}): every leader waits that long before it grants anything, and no Manager takes
 * settings that would need longer ({@link checkTakeover}). Then settings may differ and change as they like below it.
 */

import { invalidOption } from '../../../runtime/errors.ts';
import type { Instant } from '../../../runtime/time.ts';
import { type ResolvedDurations, reportWithinMs, takeoverHoldMs, witnessWithinMs } from '../options.ts';
import type { CandidateLimits } from './candidates.ts';
import type { Policy } from '../policy/policy.ts';

/** How long nobody has come or gone, unless the settings of the pool say otherwise. */
export const QUIET_AFTER_MS = 60_000;

export interface PoolSettings {
  readonly durations: ResolvedDurations;
  readonly policy: Policy;
  /** Where keys belong in a pool whose keys move with their state. @default sticky */
  readonly movesPolicy?: Policy | undefined;
  /** How long nobody has come or gone when a pool begins to move keys, and when keys are evened out, in milliseconds. @default QUIET_AFTER_MS */
  readonly quietAfterMs?: number | undefined;
}

/** How much strangers can make a Manager remember. */
export interface ManagerLimits extends CandidateLimits {
  /** Death certificates for processes that are not members, in sum and from one connection. */
  readonly certificates: number;
  readonly certificatesPerConnection: number;
  /** Pools that come into being with the first owner, in sum and from one address; declared ones are not limited. */
  readonly pools: number;
  readonly poolsPerAddress: number;
}

export const MANAGER_LIMITS: ManagerLimits = {
  ...{ candidates: 10_000, candidatesPerAddress: 2_000, candidatesPerConnection: 4 },
  ...{ certificates: 10_000, certificatesPerConnection: 16, pools: 1_000, poolsPerAddress: 100 },
};

/** Durations and policy are those of every pool that has none of its own. */
export interface ManagerSettings extends PoolSettings {
  /** This Manager, unlike any other. */
  readonly id: string;
  /** Random, drawn when the process starts: two Managers may have been given one id. @default the id */
  readonly process?: string | undefined;
  /** Whether other Managers can lead on the same log. @default false */
  readonly isLogShared?: boolean | undefined;
  /** Where owners can reach it, for other Managers to tell them. */
  readonly address?: string | undefined;
  /**
   * When this process opened its log. A log that was found may be older than the one clients have seen: a backup that was put
   * back. A log that was begun may not be the first. Undefined if the log can be neither.
   */
  readonly openedAt?: Instant | undefined;
  /** The operator says that no owner can hold a lease from an earlier log, should this process begin one. */
  readonly firstStart?: boolean | undefined;
  /** The system has just chosen the port, so no client of an earlier Manager knows the address. */
  readonly isAddressNew?: boolean | undefined;
  /** The declared pools, with the settings of each. */
  readonly pools?: ReadonlyMap<string, PoolSettings> | undefined;
  /** True if a pool that was not declared is refused; otherwise it begins with the first request for it. */
  readonly declaredOnly?: boolean | undefined;
  /** Of each kind of change no more than this a pool go into one batch; the rest waits for the next. */
  readonly maxSpansPerBatch: number;
  /** The most bytes that the log takes in one batch; a larger one is made smaller before it is written. */
  readonly maxBatchBytes?: number | undefined;
  /**
   * The shortest wait of every new leader, on a log that keeps nothing, in milliseconds; the same for all Managers of the
   * group, for as long as one runs. Undefined for a log that says itself how long to wait.
   */
  readonly groupTakeoverMs?: number | undefined;
  /** A snapshot replaces the log's beginning after so many batches. */
  readonly compactEveryBatches: number;
  /** @default MANAGER_LIMITS */
  readonly limits?: ManagerLimits | undefined;
  /** Where a connection comes from, without its port. @default each from elsewhere */
  readonly originOf?: ((connection: string) => string) | undefined;
}

export const limitsOf = ({ limits }: ManagerSettings): ManagerLimits => limits ?? MANAGER_LIMITS;

export const settingsFor = (settings: ManagerSettings, pool: string): PoolSettings =>
  settings.pools?.get(pool) ?? settings;

/** Whether somebody may ask for this pool. */
export const isKnown = (settings: ManagerSettings, pool: string): boolean =>
  settings.declaredOnly !== true || settings.pools?.has(pool) === true;

/** How long a successor must keep the leases it finds, in any pool. */
export const longestTakeoverMs = (settings: ManagerSettings): number =>
  Math.max(settings.groupTakeoverMs ?? 0, longest(settings, takeoverHoldMs));

/**
 * Refuses settings with leases that may outlast the wait of a successor that knows nothing of them.
 *
 * @throws {InvalidArgumentError} naming the pool
 */
export function checkTakeover({ groupTakeoverMs, durations, pools }: TakeoverSettings): void {
  if (groupTakeoverMs === undefined) return;
  const places = [
    ['defaults', durations] as const,
    ...[...(pools ?? [])].map(([pool, its]) => [`pools.${pool}`, its.durations] as const),
  ];
  for (const [place, its] of places) {
    const neededMs = takeoverHoldMs(its);
    if (neededMs <= groupTakeoverMs) continue;
    throw invalidOption(
      `${place}.leaseMs`,
      its.leaseMs,
      `with such leases the next leader would have to wait ${Math.ceil(neededMs)} ms, and all Managers of this group have agreed to wait store.flease.takeoverMs = ${groupTakeoverMs}: shorten the lease or the hold, or stop all Managers and start them with a longer takeoverMs (--takeover)`,
    );
  }
}

type TakeoverSettings = Pick<ManagerSettings, 'groupTakeoverMs' | 'durations' | 'pools'>;

export const longestHoldMs = (settings: ManagerSettings): number => longest(settings, ({ holdMs }) => holdMs);

/** Within this every owner that lives, and reaches a leader, has reported to it: `reportWithinMs`. */
export const longestReportWithinMs = (settings: ManagerSettings): number => longest(settings, reportWithinMs);

/** Within this every client that lives, and reaches the Manager, has told the position it has seen: `witnessWithinMs`. */
export const longestWitnessWithinMs = (settings: ManagerSettings): number =>
  longest(settings, witnessWithinMs);

function longest(settings: ManagerSettings, of: (durations: ResolvedDurations) => number): number {
  let most = of(settings.durations);
  for (const { durations } of settings.pools?.values() ?? []) most = Math.max(most, of(durations));
  return most;
}
