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
 *  - An *attempt* to take or renew a lease counts for half a lease from its beginning; later its questions are
 *    refused. Ballots restart in *intervals* of the same length. Both halves together make one lease, and that is what
 *    lets an acceptor forget: see `register.ts`.
 *  - The clock of an acceptor may be ahead by the skew, so an attempt can count on half a lease less the skew.
 *    Hence a lease must be longer than twice the skew, or no attempt would ever succeed.
 *  - All of this adds the durations of one member to those of another. So members that differ in these two numbers ignore
 *    each other: every packet names them, and a packet with other numbers is not answered (`peer-table.ts`).
 *  - `takeover` is a third number of that kind, for a holder that makes promises under its lease which outlast the lease,
 *    like a Manager that grants leases on keys. A member does not know those promises; it only ensures that all
 *    members agree how long a new holder waits for those of the holder before (`soft-log.ts`). To lose such a lease is
 *    expensive, and a process that makes many promises has long turns of its event loop. An attempt takes two rounds of
 *    questions, and each round at least one turn. So such a holder renews earlier, and waits longer for answers:
 *
 *        asked ├─ 0.2 lease ─┤ renew, 1st attempt ├── 0.3 lease ──┤ 2nd ├── 0.3 lease ──┤ 2 × skew ┤ end
 *
 *    With 0.4 and 0.1 instead, two turns of 100 ms fail every attempt at a lease of 2 s, until the lease ends.
 *
 * The paper's interval is `lease − skew`, and the paper has no end of an attempt; any interval up to that would do
 * for its own argument.
 */

import { invalidOption } from '../../runtime/errors.ts';
import * as is from '../../runtime/option-kinds.ts';
import { fillIn, type OptionTable, optional, or } from '../../runtime/option-table.ts';

export interface FleaseDurations {
  /**
   * How long a lease lasts from the instant it was asked for, in milliseconds: t_max of the paper. Leases renew
   * themselves. After a holder's death, other members wait until this long after its last asking, and the skew, by
   * their own clocks. Their clocks may be behind the holder's by the skew, so in true time the wait is up to twice
   * the skew longer.
   *
   * @default 10_000
   */
  leaseMs?: number | undefined;

  /**
   * How far apart the wall clocks of any two members may be, in milliseconds, and 2 ms more, because clocks are read
   * in whole milliseconds: ε of the paper. This is the one promise that you have to keep: each wall clock is within
   * half of this, less 1 ms, of true time, at every instant, also while it is set or slewed. Clocks that are wrong
   * alike and corrected together are not enough, because members do not notice at the same instant. Machines that
   * keep time by NTP stay within a tenth of the default.
   *
   * @default leaseMs / 10, at most 500
   */
  clockSkewMs?: number | undefined;

  /**
   * How long to wait for a majority to answer before asking anew, in milliseconds.
   *
   * @default leaseMs / 10, at most 1_000
   */
  answerTimeoutMs?: number | undefined;

  /**
   * How long before the end of a lease that was not renewed its signal is aborted, in milliseconds. The signal may be
   * late by a two-thousandth of a lease, and at most by 10.
   *
   * @default leaseMs / 10
   */
  noticeMs?: number | undefined;
}

export interface ResolvedFleaseDurations {
  readonly leaseMs: number;
  readonly clockSkewMs: number;
  readonly answerTimeoutMs: number;
  readonly noticeMs: number;
  /** How long an attempt counts, from its beginning; and how long an interval of ballots is. */
  readonly attemptMs: number;
  /** When a holder begins to renew, from when it asked. */
  readonly renewAfterMs: number;
  /** How long a member that has lost its memory recovers. */
  readonly recoveryMs: number;
  /** How long a new holder waits for promises of earlier holders; 0 if holders promise nothing. */
  readonly takeoverMs: number;
}

/** No duration of a group is longer: a day. */
export const DURATION_MS_MAX: number = 24 * 3_600_000;
/** Clocks are read in whole milliseconds: two that show the same may seem to differ by this much. */
const CLOCK_SKEW_MS_MIN = 2;
const CLOCK_SKEW_MS_DEFAULT_MAX = 500;
const ANSWER_MS_DEFAULT_MAX = 1_000;

/** @internal */
export const FLEASE_DURATIONS: OptionTable<FleaseDurations, 'leaseMs'> = {
  leaseMs: or(10_000, is.from(20, DURATION_MS_MAX)),
  clockSkewMs: optional(is.from(CLOCK_SKEW_MS_MIN), '`leaseMs` / 10, at most 500'),
  answerTimeoutMs: optional(is.duration, '`leaseMs` / 10, at most 1,000'),
  noticeMs: optional(is.from(0), '`leaseMs` / 10'),
};

/** @throws {InvalidArgumentError} naming the first broken rule */
export function resolveFleaseDurations(
  durations: FleaseDurations = {},
  takeoverMs = 0,
): ResolvedFleaseDurations {
  const isTakeoverInRange = takeoverMs >= 0 && takeoverMs <= DURATION_MS_MAX;
  demand('takeoverMs', takeoverMs, isTakeoverInRange, 'it must be from 0 to a day');
  const { leaseMs, ...given } = fillIn('', durations, FLEASE_DURATIONS);
  const attemptMs = leaseMs / 2;
  const clockSkewMs = given.clockSkewMs ?? Math.min(leaseMs / 10, CLOCK_SKEW_MS_DEFAULT_MAX);
  demand(
    'clockSkewMs',
    clockSkewMs,
    clockSkewMs < attemptMs,
    `it must be less than half of leaseMs, which is ${leaseMs}: with clocks so far apart nobody would get a lease in time`,
  );
  const isCostlyToLose = takeoverMs > 0;
  const answerDefaultMs = isCostlyToLose
    ? Math.max(leaseMs / 10, leaseMs * 0.4 - clockSkewMs)
    : Math.min(leaseMs / 10, ANSWER_MS_DEFAULT_MAX);
  const answerTimeoutMs = given.answerTimeoutMs ?? answerDefaultMs;
  const answerMaxMs = attemptMs - clockSkewMs;
  const answerRule = `it must be at most leaseMs / 2 - clockSkewMs, which is ${answerMaxMs}`;
  demand('answerTimeoutMs', answerTimeoutMs, answerTimeoutMs <= answerMaxMs, answerRule);
  const noticeMs = given.noticeMs ?? leaseMs / 10;
  const renewAfterMs = leaseMs * (isCostlyToLose ? 0.2 : 0.4);
  const noticeMaxMs = leaseMs - renewAfterMs - answerTimeoutMs;
  const noticeRule = `it must be at most ${noticeMaxMs}, so that a renewal can be answered before`;
  demand('noticeMs', noticeMs, noticeMs <= noticeMaxMs, noticeRule);
  return {
    leaseMs,
    clockSkewMs,
    answerTimeoutMs,
    noticeMs,
    attemptMs,
    renewAfterMs,
    recoveryMs: leaseMs + 2 * clockSkewMs,
    takeoverMs,
  };
}

function demand(option: string, value: number, holds: boolean, rule: string): void {
  if (!holds) throw invalidOption(option, value, rule);
}
