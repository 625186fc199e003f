/**
 * When a server proposes.
 *
 * When many servers start at once, every record that arrives describes another set, and each proposal goes to everybody: with 50 servers, one proposal of each
 * is 2,450 records. So a server that proposes again and again waits longer each time, and a set that only grows is not urgent:
 *
 *  - *A server is gone, or a list of clients has changed*: the first proposal after a quiet time waits for nothing, and each further one waits twice as long as the one before, from
 *    a tenth of a heartbeat up to a whole one. The others cannot act until they have agreed.
 *  - *Servers are only added*: the proposal waits until no link has changed for half a heartbeat, but no longer than two heartbeats. A server that joins gets its links one by one, and
 *    has to wait for much longer before it acts (decision 0055).
 */

import { earliest, type Instant, instant, later, latest } from '../../runtime/time.ts';
import { isSameIncarnation, type Membership, type SetMember } from './incarnation.ts';

const NEVER: Instant = instant(Number.NEGATIVE_INFINITY);

export class Pace {
  readonly #heartbeatMs: number;
  #proposedAt: Instant = NEVER;
  #waitMs = 0;
  #workedOutAt: Instant = NEVER;
  /** Since when servers are waiting to be added. */
  #growsSince: Instant | undefined;

  constructor(heartbeatMs: number) {
    this.#heartbeatMs = heartbeatMs;
  }

  /** When the next proposal may be made, if that is urgent. */
  get mayProposeAt(): Instant {
    return latest(later(this.#proposedAt, this.#waitMs), later(this.#workedOutAt, this.#heartbeatMs / 50));
  }

  /** The set to propose was worked out. When a server crashes, each other one publishes a record, and a set need not be worked out for each of them. */
  workedOut(now: Instant): void {
    this.#workedOutAt = now;
  }

  /**
   * When this set may be proposed after that one.
   *
   * @param edgesChangedAt when a link last changed, as far as this server knows
   */
  mayPropose(next: Membership, last: Membership | undefined, edgesChangedAt: Instant, now: Instant): Instant {
    const urgentAt = later(this.#proposedAt, this.#waitMs);
    if (last === undefined || !onlyAdds(next, last)) return urgentAt;
    this.#growsSince ??= now;
    const quietAt = later(edgesChangedAt, this.#heartbeatMs / 2);
    return latest(urgentAt, earliest(quietAt, later(this.#growsSince, 2 * this.#heartbeatMs)));
  }

  /** What follows from the records is proposed already, so there is no instant to wait for. */
  settled(): undefined {
    this.#growsSince = undefined;
    return undefined;
  }

  proposed(now: Instant): void {
    const wasQuiet = now - this.#proposedAt >= 2 * this.#heartbeatMs;
    this.#waitMs = wasQuiet ? this.#heartbeatMs / 10 : Math.min(2 * this.#waitMs, this.#heartbeatMs);
    this.#proposedAt = now;
    this.#growsSince = undefined;
  }

  /** The next proposal waits for nothing. */
  hurry(): void {
    this.#proposedAt = NEVER;
    this.#workedOutAt = NEVER;
  }
}

const onlyAdds = (next: Membership, last: Membership): boolean =>
  next.members.length > last.members.length && last.members.every((member) => isIn(next, member));

const isIn = ({ members }: Membership, { name, incarnation, listVersion }: SetMember): boolean =>
  members.some(
    (each) =>
      each.name === name &&
      each.listVersion === listVersion &&
      isSameIncarnation(each.incarnation, incarnation),
  );
