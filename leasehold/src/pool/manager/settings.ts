/**
 * What a Manager was told to do, for all pools and for each. It can be told otherwise while it runs
 * ({@link Manager.configure}).
 *
 * Why changing durations under way is safe: every promise is made of the settings in force at its
 * instant, and says so. An update carries the lease it gives, and the hold is set together with it;
 * what a successor must wait for is in the log before the first lease that needs it is given, and stays
 * there until the last lease that needed it has run out.
 */

import { type ResolvedDurations, takeoverHoldMs } from '../options.ts';
import type { Policy } from '../policy/policy.ts';

export interface PoolSettings {
  readonly durations: ResolvedDurations;
  readonly policy: Policy;
}

/** Durations and policy are those of every pool that has none of its own. */
export interface ManagerSettings extends PoolSettings {
  /** This Manager, unlike any other. */
  readonly id: string;
  /** Where owners can reach it, for other Managers to tell them. */
  readonly address?: string | undefined;
  /** The pools that were declared, with what holds for each. */
  readonly pools?: ReadonlyMap<string, PoolSettings> | undefined;
  /** True if a pool that was not declared is refused; otherwise it begins with whoever first asks for it. */
  readonly declaredOnly?: boolean | undefined;
  /** Of each kind of change no more than this a pool go into one batch; the rest waits for the next. */
  readonly maxSpansPerBatch: number;
  /** What the log takes in one batch; a larger one is made smaller before it is written. */
  readonly maxBatchBytes?: number | undefined;
  /** A snapshot replaces the log's beginning after so many batches. */
  readonly compactEveryBatches: number;
}

export const settingsFor = (settings: ManagerSettings, pool: string): PoolSettings =>
  settings.pools?.get(pool) ?? settings;

/** Whether somebody may ask for this pool. */
export const isKnown = (settings: ManagerSettings, pool: string): boolean =>
  settings.declaredOnly !== true || settings.pools?.has(pool) === true;

/** How long a successor must keep what it finds, whatever pool it is in. */
export const longestTakeoverMs = (settings: ManagerSettings): number => longest(settings, takeoverHoldMs);

export const longestHoldMs = (settings: ManagerSettings): number => longest(settings, ({ holdMs }) => holdMs);

function longest(settings: ManagerSettings, of: (durations: ResolvedDurations) => number): number {
  let most = of(settings.durations);
  for (const { durations } of settings.pools?.values() ?? []) most = Math.max(most, of(durations));
  return most;
}
