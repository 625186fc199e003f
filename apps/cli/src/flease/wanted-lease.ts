/**
 * A lease that a command wants, until the lease is acquired, the time is over, or the command is no longer wanted:
 *
 *     member   ├── recovers ──────┤ ready
 *     asks                        ├── --timeout ────────┤ given up: 75
 *     says     ├── the holder, or missing members ───┤
 *
 * The recovery at the start does not count, because recovery takes the same time however free the lease is. The lines
 * in between are for a person; only peers with other durations end the waiting, because no waiting would help.
 */

import type { FleaseMember, Lease, Logger, RefusedError } from 'leasehold/flease';
import { isNoMajority, leaseHeld } from 'leasehold/internal';
import { isLikely, otherDurations, tellOfOtherDurations } from './other-durations.ts';
import type { CommandSignals } from './signals.ts';
import { tellWhoIsWaitedFor } from './waiting.ts';

export interface WantedLease {
  readonly member: FleaseMember;
  readonly resource: string;
  readonly members: readonly string[];
  /** How long a member that starts recovers. */
  readonly recoveryMs: number;
  /** Counted from when the member is ready; 0: ask once; undefined: no limit. */
  readonly timeoutMs: number | undefined;
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
 * @throws {RefusedError} `CONFIG_MISMATCH` if the others can never agree
 * @throws {InUseError} `LEASE_HELD`, @throws {UnavailableError} `NO_MAJORITY` if the lease was not acquired in time
 */
export async function acquired(wanted: WantedLease): Promise<Lease | undefined> {
  const { member, recoveryMs } = wanted;
  const unwanted = wanted.signals.waiting;
  const vain = new AbortController();
  await using _ = telling(wanted, (error) => vain.abort(error));
  const stop = AbortSignal.any([unwanted, vain.signal]);
  try {
    await takesPart(member, recoveryMs + LATE_MS, stop);
    const lease = await asked(wanted, stop);
    if (!unwanted.aborted) return lease;
    await lease.release();
    return undefined;
  } catch (error) {
    if (unwanted.aborted) return undefined;
    const status = member.status();
    throw isNoMajority(error) && isLikely(status) ? otherDurations(status) : error;
  }
}

/** Prints the lines, until disposed of, or until the lease is no longer wanted. */
function telling(
  { member, resource, members, timeoutMs, signals, logger }: WantedLease,
  inVain: (error: RefusedError) => void,
): AsyncDisposable {
  const over = new AbortController();
  const signal = AbortSignal.any([signals.waiting, over.signal]);
  const told = Promise.all([
    timeoutMs === 0 ? undefined : tellWhoIsWaitedFor(member, resource, logger, signal),
    tellOfOtherDurations(member, members, signal, inVain),
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
async function takesPart(member: FleaseMember, withinMs: number, signal: AbortSignal): Promise<void> {
  const late = AbortSignal.timeout(withinMs);
  try {
    await member.ready({ signal: AbortSignal.any([signal, late]) });
  } catch (error) {
    if (!late.aborted || signal.aborted) throw error;
  }
}

const asked = ({ member, resource, timeoutMs }: WantedLease, signal: AbortSignal): Promise<Lease> =>
  timeoutMs === 0 ? askedOnce(member, resource, signal) : member.acquire(resource, { signal, timeoutMs });

/**
 * Gives up as soon as another holder is known. Where that is not known, because others ask at the same time or have
 * only just been started, a moment makes the difference between one of them and nobody.
 *
 * @throws {InUseError} `LEASE_HELD`
 */
async function askedOnce(member: FleaseMember, resource: string, signal: AbortSignal): Promise<Lease> {
  try {
    const lease = await member.acquireIfFree(resource);
    if (lease !== undefined) return lease;
    const held = await member.holder(resource);
    if (held !== undefined) throw leaseHeld(resource, held.holder, held.validUntil, 0);
  } catch (error) {
    if (!isNoMajority(error)) throw error;
  }
  return member.acquire(resource, { signal, timeoutMs: ASKED_ONCE_MS });
}
