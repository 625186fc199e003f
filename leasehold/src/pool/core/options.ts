/**
 * The durations of a pool, and the rules between them.
 *
 * They are one decision, not ten, so they are resolved together and refused together:
 *
 *     owner    ├── renewEvery ──┼── renewEvery ──┤ …
 *              ├───────────────── lease ─────────────────┤
 *     Manager    ├────────────────── hold ───────────────────────┤
 *     leader   ├── leader lease ──┤   nobody leads   ├── the next leader …
 *              ├────────── leader change ────────────┤
 *
 *  - `hold` is `lease`, and the longest suspension that goes unnoticed, measured on a clock that may run
 *    faster: that ratio is the clock-rate bound.
 *  - `lease` outlasts a renewal that was just missed, a leader change, and two tries to find the
 *    new leader, so that a healthy owner never lapses because a Manager died.
 *  - A look-up counts itself cut off (`staleAfter`) only after several syncs have failed.
 *
 * The papers' figures are {@link PAPER_DURATIONS}. Our lease is shorter, because a crash without a supervisor
 * costs its keys one hold: 10.98 s instead of 65. Why not shorter still: a leader on etcd
 * needs up to 5 s to be replaced (a key lives at least 2 s, which the leader lease uses up exactly, and up
 * to half a second longer, then an election and a read), a missed renewal costs 1.5 s, finding the new
 * leader 1 s; that is 7.5 s, and 9 leaves room for one lost message. The hold follows from the lease by
 * `CLOCK_RATE_BOUND` (`lease-time.ts` has the lemma), which covers every time daemon with its default settings. The papers' ratio of 65 to 60
 * allows for 7.4 %, and one chrony may slew by 8.3 %.
 */

import { invalidOption } from '../../runtime/errors.ts';
import * as is from '../../runtime/option-kinds.ts';
import { fillIn, type OptionTable, optional, or } from '../../runtime/option-table.ts';
import { holdMsOf, rateBoundOf } from '../../runtime/lease-time.ts';
import type { LookupPace, OwnerPace } from './messages.ts';

/** The durations of a pool. The Manager has them; owners and look-ups learn them with the first answer. */
export interface PoolDurations {
  /**
   * How long an owner may use its keys after the instant it asked, in milliseconds. Shorter
   * frees a crashed owner's keys sooner; longer survives longer pauses.
   *
   * @default 9_000
   */
  leaseMs?: number | undefined;

  /**
   * How long the Manager keeps a lease for an owner it no longer hears, in milliseconds, from the
   * last report it answered. Safety needs
   *
   *     holdMs >= (leaseMs + suspensionToleranceMs) * rate
   *
   * where `rate` is how much faster any clock may run than another.
   *
   * @default (leaseMs + suspensionToleranceMs) * 1.2, rounded up
   */
  holdMs?: number | undefined;

  /** How often an owner reports and renews, in milliseconds. @default leaseMs / 6 */
  renewEveryMs?: number | undefined;

  /** How long to wait for an answer before asking again, asking everyone, in milliseconds. @default renewEveryMs / 3 */
  retryMs?: number | undefined;

  /**
   * How long a leader may act without hearing from the log, in milliseconds. Longer rides out a
   * slower log; every takeover waits it out.
   *
   * @default leaseMs * 2 / 9
   */
  leaderLeaseMs?: number | undefined;

  /**
   * The longest time without a leader that owners are to survive, in milliseconds. The log's engine
   * decides how short it can be; with etcd 5 s.
   *
   * @default leaseMs * 5 / 9
   */
  leaderChangeMs?: number | undefined;

  /** How long the application may take to give keys back before they are let go of regardless, in milliseconds. @default leaseMs / 3 */
  revokeTimeoutMs?: number | undefined;

  /** How often a look-up syncs although nothing was pushed to it, in milliseconds. @default 10_000 */
  syncEveryMs?: number | undefined;

  /**
   * How long a look-up may go without a fresh answer before it reports everything as lost, in
   * milliseconds. It is most of the bound within which every look-up hears of every loss.
   *
   * @default syncEveryMs * 3
   */
  staleAfterMs?: number | undefined;

  /**
   * The longest suspension of a machine that the margin of the hold covers, in milliseconds.
   *
   * @default leaseMs / 60, or (holdMs - leaseMs) / 10 if holdMs is given
   */
  suspensionToleranceMs?: number | undefined;
}

export type ResolvedDurations = {
  readonly [Name in keyof PoolDurations]-?: NonNullable<PoolDurations[Name]>;
};

/** The values of the two papers, where they give one: 60, 65, 15 and 30 s. */
export const PAPER_DURATIONS: PoolDurations = {
  leaseMs: 60_000,
  holdMs: 65_000,
  renewEveryMs: 15_000,
  syncEveryMs: 30_000,
};

/** @internal */
export const POOL_DURATIONS: OptionTable<PoolDurations, 'leaseMs' | 'syncEveryMs'> = {
  leaseMs: or(9_000, is.duration),
  holdMs: optional(is.duration, '(`leaseMs` + `suspensionToleranceMs`) × 1.2'),
  renewEveryMs: optional(is.duration, '`leaseMs` / 6'),
  retryMs: optional(is.duration, '`renewEveryMs` / 3'),
  leaderLeaseMs: optional(is.duration, '`leaseMs` × 2/9'),
  leaderChangeMs: optional(is.duration, '`leaseMs` × 5/9'),
  revokeTimeoutMs: optional(is.duration, '`leaseMs` / 3'),
  syncEveryMs: or(10_000, is.duration),
  staleAfterMs: optional(is.duration, '`syncEveryMs` × 3'),
  suspensionToleranceMs: optional(
    is.duration,
    '`leaseMs` / 60, or (`holdMs` − `leaseMs`) / 10 if `holdMs` is given',
  ),
};

/** Fills in the defaults and checks the rules. An `undefined` option counts as left out. */
export function resolveDurations(given: PoolDurations = {}): ResolvedDurations {
  const options = fillIn('', given, POOL_DURATIONS);
  const { leaseMs, syncEveryMs } = options;
  const suspensionToleranceMs =
    options.suspensionToleranceMs ??
    (options.holdMs === undefined ? leaseMs / 60 : (options.holdMs - leaseMs) / 10);
  const holdMs = options.holdMs ?? holdMsOf({ leaseMs, suspensionToleranceMs });
  const renewEveryMs = options.renewEveryMs ?? leaseMs / 6;
  const durations: ResolvedDurations = {
    leaseMs,
    holdMs,
    renewEveryMs,
    retryMs: options.retryMs ?? renewEveryMs / 3,
    leaderLeaseMs: options.leaderLeaseMs ?? (leaseMs * 2) / 9,
    leaderChangeMs: options.leaderChangeMs ?? (leaseMs * 5) / 9,
    revokeTimeoutMs: options.revokeTimeoutMs ?? leaseMs / 3,
    syncEveryMs,
    staleAfterMs: options.staleAfterMs ?? syncEveryMs * 3,
    suspensionToleranceMs,
  };
  for (const { option, holds, rule } of rulesFor(durations)) {
    if (!holds) throw invalidOption(option, durations[option], rule);
  }
  return durations;
}

interface Rule {
  readonly option: keyof ResolvedDurations;
  readonly holds: boolean;
  readonly rule: string;
}

function rulesFor(d: ResolvedDurations): readonly Rule[] {
  const marginMs = d.holdMs - d.leaseMs;
  const leaseAtLeastMs = d.renewEveryMs + d.leaderChangeMs + 2 * d.retryMs;
  const staleAtLeastMs = d.syncEveryMs + 2 * d.retryMs;
  return [
    {
      option: 'holdMs',
      holds: d.holdMs > d.leaseMs,
      rule: `it must be longer than leaseMs = ${d.leaseMs}, or the next owner could begin before the last one has stopped`,
    },
    {
      option: 'suspensionToleranceMs',
      holds: d.suspensionToleranceMs < marginMs,
      rule: `it must be below holdMs - leaseMs = ${marginMs}, or nothing is left for clocks of different rates`,
    },
    {
      option: 'retryMs',
      holds: d.retryMs <= d.renewEveryMs,
      rule: `it must be at most renewEveryMs = ${d.renewEveryMs}`,
    },
    {
      option: 'leaseMs',
      holds: d.leaseMs >= leaseAtLeastMs,
      rule: `a lease must outlast a renewal, a leader change and two retries: renewEveryMs + leaderChangeMs + 2 * retryMs = ${leaseAtLeastMs}`,
    },
    {
      option: 'leaderLeaseMs',
      holds: d.leaderLeaseMs <= d.leaderChangeMs,
      rule: `a leader that died is waited out within leaderChangeMs = ${d.leaderChangeMs}`,
    },
    {
      option: 'revokeTimeoutMs',
      holds: d.revokeTimeoutMs < d.leaseMs,
      rule: `it must be below leaseMs = ${d.leaseMs}, for a lease can end while it is being given back`,
    },
    {
      option: 'staleAfterMs',
      holds: d.staleAfterMs >= staleAtLeastMs,
      rule: `a look-up must not call itself cut off between two syncs: syncEveryMs + 2 * retryMs = ${staleAtLeastMs}`,
    },
  ];
}

/** The durations that an owner is told. */
export const ownerPace = (d: ResolvedDurations): OwnerPace => ({
  renewEveryMs: d.renewEveryMs,
  retryMs: d.retryMs,
  revokeTimeoutMs: d.revokeTimeoutMs,
  suspensionToleranceMs: d.suspensionToleranceMs,
});

/** The durations that a look-up is told. */
export const lookupPace = (d: ResolvedDurations): LookupPace => ({
  syncEveryMs: d.syncEveryMs,
  staleAfterMs: d.staleAfterMs,
  retryMs: d.retryMs,
});

/**
 * How much faster one clock may run than another before two owners could overlap. A lease can last
 * longer than it seems by a suspension too short to be noticed; the hold has to cover that too.
 */
export const clockRateBound = (d: ResolvedDurations): number => rateBoundOf(d.holdMs, d);

/**
 * How long a new leader keeps every lease it finds: the leader before it may have gone on renewing
 * for a whole leader lease, and each of those renewals for a whole lease, by clocks that may be
 * slower than ours and on machines that may have been suspended unnoticed.
 */
export const takeoverHoldMs = (d: ResolvedDurations): number =>
  d.holdMs + (d.leaderLeaseMs + d.suspensionToleranceMs) * clockRateBound(d);

/** Within this an owner that lives has reported to a new leader that it can reach, if a message or two of it arrive. */
export const reportWithinMs = (d: ResolvedDurations): number => d.renewEveryMs + 2 * d.retryMs;

/** A client that lost its connection tries again within this. */
const RECONNECT_WITHIN_MS = 2_000;

/**
 * Within this an owner that lives, and reaches a Manager that was just started, has told which position the owner has seen;
 * or, with short leases, the owner holds nothing any more.
 */
export const witnessWithinMs = (d: ResolvedDurations): number =>
  Math.min(takeoverHoldMs(d), reportWithinMs(d) + RECONNECT_WITHIN_MS);

/**
 * Within this time of a committed loss, by the slowest clock allowed, every look-up that runs has
 * reported it. The leader lease is in it because a leader that the log has already dropped can
 * call its answers fresh for that long.
 */
export const lossBoundMs = (d: ResolvedDurations): number =>
  (d.staleAfterMs + d.leaderLeaseMs + 2 * d.suspensionToleranceMs) * clockRateBound(d);
