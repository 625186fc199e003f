/**
 * The lease on one delivered view: which members have lately confirmed the view, and from when on the server may act.
 *
 * A member confirms the view with a heartbeat that names the view and echoes a stamp of this server. The confirmation counts for
 * `leaseMs` from when the stamp *was sent*, which is before the member gave its promise. The view is *confirmed* while that time
 * has not passed for any other member. A check reads the clock; no timer proves anything.
 */

import { isLeased } from '../../runtime/lease-time.ts';
import { earliest, instant, type Instant, later } from '../../runtime/time.ts';
import type { MemberView } from './view.ts';

export class ViewLease {
  readonly view: MemberView;
  readonly deliveredAt: Instant;
  /** When every promise that a member gave to a server outside has run out. */
  readonly actsAt: Instant;
  readonly #leaseMs: number;
  /** For each other member, the newest stamp of this server echoed in a confirmation. */
  readonly #echoed = new Map<string, Instant>();
  /** The oldest of these stamps; undefined if it is to be found again. Applications ask before every use, so the answer must be cheap. */
  #oldest: Instant | undefined;

  constructor(view: MemberView, self: string, times: { now: Instant; actsAt: Instant; leaseMs: number }) {
    this.view = view;
    this.deliveredAt = times.now;
    this.actsAt = times.actsAt;
    this.#leaseMs = times.leaseMs;
    for (const { name } of view.members) {
      if (name !== self) this.#echoed.set(name, instant(Number.NEGATIVE_INFINITY));
    }
  }

  confirm(name: string, stamp: Instant): void {
    const known = this.#echoed.get(name);
    if (known === undefined || stamp <= known) return;
    this.#echoed.set(name, stamp);
    if (known === this.#oldest) this.#oldest = undefined;
  }

  isConfirmed(now: Instant): boolean {
    if (this.#echoed.size === 0) return true;
    this.#oldest ??= [...this.#echoed.values()].reduce(earliest);
    return isLeased(this.#oldest, this.#leaseMs, now);
  }

  /** Until when the view is confirmed; at most a lease from now on, if there is no other member. */
  confirmedUntil(now: Instant): Instant {
    let until = later(now, this.#leaseMs);
    for (const stamp of this.#echoed.values()) until = earliest(until, later(stamp, this.#leaseMs));
    return until;
  }

  isHoldOver(now: Instant): boolean {
    return now >= this.actsAt;
  }

  /** The members that have not confirmed the view for so long. */
  *unconfirmedFor(ms: number, now: Instant): Generator<string> {
    for (const [name, stamp] of this.#echoed) if (now - Math.max(stamp, this.deliveredAt) > ms) yield name;
  }
}
