/**
 * A lease as stored in the register: which member may use the resource, until when, and under which number.
 *
 *     held     by its holder until `untilMs`; by nobody else until the skew after that
 *     free     released; any member may take it at once
 *     left     released for `successor`, which may take it at once; for others as if it were held
 *
 * **The number** grows with every change of holder, although there is no disk to count on. The number is the
 * microsecond at which the holder asked, or one more than the number that was found, whichever is greater; and no
 * member takes a number further ahead of its own clock than the skew. Why the number grows: a member that takes a
 * lease has read the lease before and exceeds that number; or the member found nothing, because every acceptor asked
 * had forgotten the lease before. An acceptor forgets a lease no sooner than `lease + skew` after the last asking,
 * and acts only on attempts that began at most half a lease ago by its clock. So the new attempt began later than the
 * old one by more than half a lease and the skew, which is more than a number can be ahead. A counter that members
 * remember would do as well only until every member had been restarted once, one after the other. This number
 * survives that.
 */

export interface Lease {
  /** The member and its incarnation: a restarted member does not hold the leases of its earlier incarnation. */
  readonly holder: string;
  readonly incarnation: number;
  /** Grows with every change of holder: the application's fencing token. */
  readonly number: number;
  /**
   * By the group's clock. One lease after the writer had asked, or less if the lease is left for the first waiting
   * member. An `ask` that writes back a lease leaves the end unchanged.
   */
  readonly untilMs: number;
  readonly state: 'held' | 'free' | 'left';
  /** The member for which the lease was left. */
  readonly successor: string | undefined;
}

export const NUMBERS_PER_MS = 1_000;

/**
 * The number for an attempt asked at `askedMs` that found `before`; undefined if the member has to wait for its
 * clock.
 */
export function nextNumber(askedMs: number, before: Lease | undefined, skewMs: number): number | undefined {
  const number = Math.max(Math.floor(askedMs * NUMBERS_PER_MS), (before?.number ?? 0) + 1);
  return number <= (askedMs + skewMs) * NUMBERS_PER_MS ? number : undefined;
}

/**
 * The instant of the group's clock after which `member` may take the lease it has read; minus infinity for at once.
 * Before the skew has passed as well, only the holder knows for certain that a lease is over.
 */
export function takeableAtMs(lease: Lease | undefined, member: string, skewMs: number): number {
  if (lease === undefined || lease.state === 'free') return Number.NEGATIVE_INFINITY;
  if (lease.state === 'left' && lease.successor === member) return Number.NEGATIVE_INFINITY;
  return lease.untilMs + skewMs;
}
