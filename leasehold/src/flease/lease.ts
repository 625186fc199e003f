/**
 * A lease as the register has it: who may use the resource, until when, and under which number.
 *
 *     held     by its holder until `untilMs`; by nobody else until the skew after that
 *     free     given back; whoever comes next may take it at once
 *     left     given back for the sake of `heir`, who may take it at once, others as if it were held
 *
 * **The number** grows with every change of holder, and there is no disk to count on. It is the microsecond
 * at which its holder asked, or one more than the number that was found, whichever is greater; and nobody takes
 * one that is further ahead of its own clock than the skew. Why that grows: whoever takes a lease has read the
 * one before, and exceeds it; or it found nothing, because what there was has been forgotten everywhere it
 * asked. An acceptor forgets a lease no sooner than `lease + skew` after it was last asked for, and heeds only
 * attempts that began at most half a lease ago by its clock. So the new one began later than the old one by
 * more than half a lease and the skew, which is more than a number can be ahead. A counter that members
 * remember would do as well until all of them had been restarted once, one after the other; this one does not
 * care.
 */

export interface Lease {
  /** The member, and which of its lives: a member that restarts does not hold what it held. */
  readonly holder: string;
  readonly life: number;
  /** Grows with every change of holder: the application's fencing token. */
  readonly number: number;
  /**
   * By the group's clock. One lease after whoever wrote it had asked, and less if it is left for the first of those who
   * wait. An `ask` that writes back what it found leaves it as it was.
   */
  readonly untilMs: number;
  readonly state: 'held' | 'free' | 'left';
  /** For whom it was left. */
  readonly heir: string | undefined;
}

export const NUMBERS_PER_MS = 1_000;

/** The number for whoever asked at `askedMs` and found `before`; undefined if it has to wait for its clock. */
export function nextNumber(askedMs: number, before: Lease | undefined, skewMs: number): number | undefined {
  const number = Math.max(Math.floor(askedMs * NUMBERS_PER_MS), (before?.number ?? 0) + 1);
  return number <= (askedMs + skewMs) * NUMBERS_PER_MS ? number : undefined;
}

/**
 * After which instant of the group's clock `member` may take what it has read; minus infinity if it may at once. Nobody
 * but its holder knows for certain that a lease is over before the skew has passed as well.
 */
export function takeableAtMs(lease: Lease | undefined, member: string, skewMs: number): number {
  if (lease === undefined || lease.state === 'free') return Number.NEGATIVE_INFINITY;
  if (lease.state === 'left' && lease.heir === member) return Number.NEGATIVE_INFINITY;
  return lease.untilMs + skewMs;
}
