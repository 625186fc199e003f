/**
 * The durations of a group, and the rules between them.
 *
 * Everything follows from two numbers: how long a lease lasts, and how far apart two clocks may be.
 *
 *     holder    asked ├──────────────────── lease ────────────────────┤ not held from here on
 *                     ├── an attempt ──┤ renew
 *     others                                                          ├─ skew ─┤ may take it
 *     an acceptor that restarts, or forgets    ├───────────── lease + 2 × skew ─────────────┤ answers again
 *
 *  - An *attempt* to get or renew a lease counts for half a lease from the instant it began; later its words
 *    are refused. Ballots begin anew in *intervals* of the same length. Both halves together make one lease,
 *    and that is what lets an acceptor forget: see `register.ts`.
 *  - The clock of an acceptor may be ahead by the skew, so an attempt can be sure of half a lease less the
 *    skew. Hence a lease must be longer than twice the skew, or nobody would ever get one.
 *  - All of it adds the durations of one member to those of another. So members that differ in these two numbers do not
 *    heed each other: every packet names them, and one with others is passed over unanswered (`acquaintances.ts`).
 *
 * The paper's interval is `lease − skew` and it knows no end of an attempt; any interval up to that would do
 * for its own argument.
 */

import { InvalidOptionError } from '../runtime/errors.ts';

export interface FleaseDurations {
  /**
   * How long a lease lasts from the instant it was asked for, in milliseconds: t_max of the paper. It renews
   * itself; a holder that died keeps others waiting until this long after it last asked, and the skew, by the clock of
   * the one who waits. That may be behind the holder's by the skew, so in true time it is up to twice the skew.
   *
   * @default 10_000
   */
  leaseMs?: number | undefined;

  /**
   * How far apart the wall clocks of any two members may be, in milliseconds, and 2 ms more, since they are read in
   * whole ones: ε of the paper. The one promise that rests on you: each wall clock is within half of it, less 1 ms, of
   * true time, at every instant, also while it is set or slewed. That all are wrong alike, and are put right together, is not
   * enough, for they do not notice together. Machines that keep time by NTP stay within a tenth of the default.
   *
   * @default leaseMs / 10, at most 500
   */
  clockSkewMs?: number | undefined;

  /**
   * How long to wait for a majority to answer before asking anew, in milliseconds.
   *
   * @default leaseMs / 10, at most 1_000
   */
  answerMs?: number | undefined;

  /**
   * How long before its end a lease's signal is aborted if it was not renewed, in milliseconds. It may be late by a
   * two-thousandth of a lease, and at most by 10.
   *
   * @default leaseMs / 10
   */
  noticeMs?: number | undefined;
}

export interface ResolvedFleaseDurations {
  readonly leaseMs: number;
  readonly clockSkewMs: number;
  readonly answerMs: number;
  readonly noticeMs: number;
  /** How long an attempt counts, from its beginning; and how long an interval of ballots is. */
  readonly attemptMs: number;
  /** When a holder begins to renew, from when it asked. */
  readonly renewAfterMs: number;
  /** How long whoever has lost its memory keeps silent. */
  readonly recoveryMs: number;
}

const DEFAULT_LEASE_MS = 10_000;
const DEFAULT_CLOCK_SKEW_MS = 500;

/** Clocks are read in whole milliseconds: two that show the same may seem to differ by this much. */
const CLOCK_SKEW_MS_MIN = 2;
const LEASE_MS_MIN = 20;
const LEASE_MS_MAX = 24 * 3_600_000;

/** @throws {InvalidOptionError} naming the first rule that is broken */
export function resolveFleaseDurations(durations: FleaseDurations = {}): ResolvedFleaseDurations {
  const leaseMs = durations.leaseMs ?? DEFAULT_LEASE_MS;
  const isLeaseInRange = leaseMs >= LEASE_MS_MIN && leaseMs <= LEASE_MS_MAX;
  demand('leaseMs', leaseMs, isLeaseInRange, 'it must be from 20 ms to a day');

  const clockSkewMs = durations.clockSkewMs ?? Math.min(DEFAULT_CLOCK_SKEW_MS, leaseMs / 10);
  const canBeRead = clockSkewMs >= CLOCK_SKEW_MS_MIN;
  demand(
    'clockSkewMs',
    clockSkewMs,
    canBeRead,
    'it must be at least 2: clocks are read in whole milliseconds',
  );
  const attemptMs = leaseMs / 2;
  const leavesTime = clockSkewMs < attemptMs;
  demand(
    'clockSkewMs',
    clockSkewMs,
    leavesTime,
    `it must be less than half of leaseMs, which is ${leaseMs}: with clocks so far apart nobody would get a lease in time`,
  );

  const answerMs = durations.answerMs ?? Math.min(leaseMs / 10, 1_000);
  const answerMaxMs = attemptMs - clockSkewMs;
  const isAnswerInTime = answerMs > 0 && answerMs <= answerMaxMs;
  demand(
    'answerMs',
    answerMs,
    isAnswerInTime,
    `it must be positive and at most leaseMs / 2 - clockSkewMs, which is ${answerMaxMs}`,
  );

  const noticeMs = durations.noticeMs ?? leaseMs / 10;
  const renewAfterMs = leaseMs * 0.4;
  const noticeMaxMs = leaseMs - renewAfterMs - answerMs;
  const isNoticeAfterRenewal = noticeMs >= 0 && noticeMs <= noticeMaxMs;
  demand(
    'noticeMs',
    noticeMs,
    isNoticeAfterRenewal,
    `it must not be negative, and at most ${noticeMaxMs}, so that a renewal can be answered before`,
  );

  return {
    leaseMs,
    clockSkewMs,
    answerMs,
    noticeMs,
    attemptMs,
    renewAfterMs,
    recoveryMs: leaseMs + 2 * clockSkewMs,
  };
}

function demand(option: string, value: number, holds: boolean, rule: string): void {
  // Not everybody has a compiler to say it.
  if (typeof value !== 'number')
    throw new InvalidOptionError(option, value, 'it must be a number of milliseconds');
  if (!holds || !Number.isFinite(value)) throw new InvalidOptionError(option, value, rule);
}
