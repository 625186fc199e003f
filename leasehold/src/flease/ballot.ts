/**
 * Ballots: which of two attempts on the same resource is the later one?
 *
 * A ballot is when its attempt began, by its member's clock; a round; and who made it. It is compared by the
 * interval in which it began, then by round, then by member, life and attempt:
 *
 *     interval 41          interval 42                    a member that was outbid takes a higher round;
 *     round 1 < 2 < 7   <  round 1 < 2 < 3   <  …         in the next interval all begin at 1 again
 *
 * Comparing the instants themselves would give every contest to the fastest clock (section I of the paper).
 * Comparing rounds alone would be unsafe: a member that restarts, or forgets, no longer knows what it has
 * promised, and only time says that what it hears next is later. Whoever begins at least one interval after
 * another has the higher ballot, whatever their rounds: `register.ts` rests on that.
 *
 * No two attempts have the same ballot. Two members differ in name, two lives of one member in the number that
 * each drew at random when it began, and one life counts its attempts.
 */

export interface Ballot {
  /** When the attempt began, by the group's clock as its member reads it. */
  readonly askedMs: number;
  readonly round: number;
  readonly member: string;
  readonly life: number;
  /** Counted in each life, over all resources. */
  readonly attempt: number;
}

/** The round that somebody who begins at `askedMs` has to exceed; 0 if there is none in its interval. */
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
  return a.life - b.life || a.attempt - b.attempt;
}
