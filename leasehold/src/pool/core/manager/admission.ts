/**
 * How often a pool admits owners. To admit later is always safe; this is about cost.
 *
 * Every owner that joins takes keys from the others, so a batch with joins makes each member give some back, confirm, and
 * hear of the keys that are left: several messages a member, however many owners join in that batch. If a thousand owners start at
 * once and each is admitted when it comes, all of them together do that work again and again. So a pool rests after a
 * batch with joins for as long as its members need to digest the batch. If further candidates come meanwhile, the rest goes
 * on until no candidate has come for a while: then all of them are admitted together:
 *
 *     candidates   ·  ·  · ··· ·· · ···· ··· · ·· ···· ··
 *     joins        1  1  8                                   990
 *     members      1  2  10                                  1000
 *                        ├── rest ──┼── while others come ──┤
 *
 * A pool of a few owners does not rest. A candidate that comes to a pool at rest waits for {@link Rest.longestMs} at most,
 * which is far below a lease: the confirmation of the candidate still counts.
 */

import { earliest, type Instant, later, latest } from '../../../runtime/time.ts';
import type { ResolvedDurations } from '../options.ts';

/** The time that a member and the Manager together were seen to need for the messages that follow a batch with joins. */
const REST_MS_PER_MEMBER = 2;
const MEMBERS_WITHOUT_REST = 10;
/** Owners that start together come at shorter intervals than this, on a busy machine too. */
const QUIET_MS = 200;
const LONGEST_REST_MS = 3_000;

interface Rest {
  readonly until: Instant;
  /** However many candidates come. */
  readonly atMostUntil: Instant;
}

export class Admissions {
  readonly #resting = new Map<string, Rest>();

  /** Until when this pool admits nobody; undefined if it may admit now. */
  restsUntil(pool: string, now: Instant): Instant | undefined {
    const until = this.#resting.get(pool)?.until;
    return until !== undefined && now < until ? until : undefined;
  }

  /** Owners were admitted, and now there are so many members. Returns until when the pool rests. */
  admitted(
    pool: string,
    members: number,
    { leaseMs, renewEveryMs }: Pick<ResolvedDurations, 'leaseMs' | 'renewEveryMs'>,
    now: Instant,
  ): Instant | undefined {
    if (members < MEMBERS_WITHOUT_REST) return undefined;
    const until = later(now, Math.min(members * REST_MS_PER_MEMBER, renewEveryMs));
    const atMostUntil = latest(until, later(now, Math.min(LONGEST_REST_MS, leaseMs / 3)));
    this.#resting.set(pool, { until, atMostUntil });
    return until;
  }

  /** A candidate has come: others may follow. */
  candidateCame(pool: string, now: Instant): void {
    const rest = this.#resting.get(pool);
    if (rest === undefined || rest.until <= now) return;
    const until = earliest(latest(rest.until, later(now, QUIET_MS)), rest.atMostUntil);
    this.#resting.set(pool, { ...rest, until });
  }

  /** Pools after their rest: owners may wait there. */
  rested(now: Instant): string[] {
    const over = [...this.#resting].filter(([, { until }]) => until <= now).map(([pool]) => pool);
    for (const pool of over) this.#resting.delete(pool);
    return over;
  }

  /** When the next rest ends. */
  get nextAt(): Instant | undefined {
    let next: Instant | undefined;
    for (const { until } of this.#resting.values()) next = next === undefined ? until : earliest(next, until);
    return next;
  }
}
