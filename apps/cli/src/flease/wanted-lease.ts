/**
 * A lease that a command wants, until the lease is acquired, the time is over, or the command is no longer wanted:
 *
 *     member   ├── recovers ──────┤ ready
 *     asks                        ├── --wait ────────┤ given up: 75
 *     says     ├── the holder, or missing members ───┤
 *
 * The recovery at the start does not count, because recovery takes the same time however free the lease is. The lines
 * in between are for a person; only peers with other durations end the waiting, because no waiting would help.
 */

import {
  type Flease,
  type FleaseLease,
  LeaseHeldError,
  type Logger,
  NoMajorityError,
} from 'leasehold/flease';
import { isLikely, OtherDurationsError, tellOfOtherDurations } from './other-durations.ts';
import type { CommandSignals } from './signals.ts';
import { tellWhoIsWaitedFor } from './waiting.ts';

export interface WantedLease {
  readonly group: Flease;
  readonly resource: string;
  readonly members: readonly string[];
  /** How long a member that starts recovers. */
  readonly recoveryMs: number;
  /** Counted from when the member is ready; 0: ask once; undefined: no limit. */
  readonly waitMs: number | undefined;
  readonly signals: CommandSignals;
  readonly logger: Logger;
}

/** How late a member may become ready before the request is sent all the same. */
const LATE_MS = 1_000;
/** How long a single request is repeated while the holder is unknown. */
const ASKED_ONCE_MS = 1_000;

/**
 * Undefined if somebody wanted the waiting to end.
 *
 * @throws {OtherDurationsError} if the others can never agree
 * @throws {LeaseHeldError} @throws {NoMajorityError} if the lease was not acquired in time
 */
export async function acquired(wanted: WantedLease): Promise<FleaseLease | undefined> {
  const { group, recoveryMs } = wanted;
  const unwanted = wanted.signals.waiting;
  const vain = new AbortController();
  await using _ = telling(wanted, (error) => vain.abort(error));
  const stop = AbortSignal.any([unwanted, vain.signal]);
  try {
    await takesPart(group, recoveryMs + LATE_MS, stop);
    const lease = await asked(wanted, stop);
    if (!unwanted.aborted) return lease;
    await lease.release();
    return undefined;
  } catch (error) {
    if (unwanted.aborted) return undefined;
    const status = group.status();
    throw error instanceof NoMajorityError && isLikely(status) ? new OtherDurationsError(status) : error;
  }
}

/** Prints the lines, until disposed of, or until the lease is no longer wanted. */
function telling(
  { group, resource, members, waitMs, signals, logger }: WantedLease,
  inVain: (error: OtherDurationsError) => void,
): AsyncDisposable {
  const over = new AbortController();
  const signal = AbortSignal.any([signals.waiting, over.signal]);
  const told = Promise.all([
    waitMs === 0 ? undefined : tellWhoIsWaitedFor(group, resource, logger, signal),
    tellOfOtherDurations(group, members, signal, inVain),
  ]);
  return {
    [Symbol.asyncDispose]: async () => {
      over.abort();
      await told;
    },
  };
}

/**
 * Resolves when the member is ready; or when the member should be and is not, for example because of a wrong clock:
 * the request then fails with the reason.
 */
async function takesPart(group: Flease, withinMs: number, signal: AbortSignal): Promise<void> {
  const late = AbortSignal.timeout(withinMs);
  try {
    await group.ready(AbortSignal.any([signal, late]));
  } catch (error) {
    if (!late.aborted || signal.aborted) throw error;
  }
}

const asked = ({ group, resource, waitMs }: WantedLease, signal: AbortSignal): Promise<FleaseLease> =>
  waitMs === 0 ? askedOnce(group, resource, signal) : group.acquire(resource, { signal, waitMs });

/**
 * Gives up as soon as another holder is known. Where that is not known, because others ask at the same time or have
 * only just been started, a moment makes the difference between one of them and nobody.
 *
 * @throws {LeaseHeldError}
 */
async function askedOnce(group: Flease, resource: string, signal: AbortSignal): Promise<FleaseLease> {
  try {
    const lease = await group.tryAcquire(resource);
    if (lease !== undefined) return lease;
    const held = await group.holder(resource);
    if (held !== undefined) throw new LeaseHeldError(resource, held.holder, held.validUntil, 0);
  } catch (error) {
    if (!(error instanceof NoMajorityError)) throw error;
  }
  return group.acquire(resource, { signal, waitMs: ASKED_ONCE_MS });
}
