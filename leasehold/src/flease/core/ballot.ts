/**
 * Ballots: which of two attempts on the same resource is the later one?
 *
 * A ballot has the instant at which the attempt began, by its member's clock; a round; and the identity of the
 * proposer. Ballots are compared by the interval in which the attempt began, then by round, then by member,
 * incarnation and attempt:
 *
 *     interval 41          interval 42                    a member that was outbid takes a higher round;
 *     round 1 < 2 < 7   <  round 1 < 2 < 3   <  …         in the next interval all begin at 1 again
 *
 * Comparing the instants themselves would give every contest to the fastest clock (section I of the paper). Comparing
 * rounds alone would be unsafe: a member that restarts, or forgets, no longer knows its promises, and only time
 * proves that the next message is later. An attempt that begins at least one interval after another has the higher
 * ballot, regardless of rounds: `register.ts` rests on that.
 *
 * No two attempts have the same ballot. Two members differ in name, two incarnations of one member in a random number
 * drawn at the start, and one incarnation counts its attempts.
 */

export interface Ballot {
  /** When the attempt began, by the group's clock as its member reads it. */
  readonly askedMs: number;
  readonly round: number;
  readonly member: string;
  readonly incarnation: number;
  /** Counted in each incarnation, over all resources. */
  readonly attempt: number;
}

/** The round that an attempt begun at `askedMs` has to exceed; 0 if there is none in that interval. */
export function roundToExceed(ballot: Ballot | undefined, askedMs: number, intervalMs: number): number {
  if (ballot === undefined) return 0;
  return Math.floor(ballot.askedMs / intervalMs) === Math.floor(askedMs / intervalMs) ? ballot.round : 0;
}

/** Positive if `a` is the higher one. */
export function compareBallots(a: Ballot, b: Ballot, intervalMs: number): number {
  const byInterval = Math.floor(a.askedMs / intervalMs) - Math.floor(b.askedMs / intervalMs);
  if (byInterval !== 0) return byInterval;
  if (a.round !== b.round) return a.round - b.round;
  if (a.member !== b.member) return a.member < b.member ? -1 : 1;
  return a.incarnation - b.incarnation || a.attempt - b.attempt;
}
