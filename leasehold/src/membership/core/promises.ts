/**
 * The promises that this server gave, and for how long they bind.
 *
 * A heartbeat that names view V and echoes a stamp of its receiver promises: for `promiseMs` after your stamp arrived here, I act in no other
 * view that leaves you out. The promise is given by sending, whether or not the heartbeat arrives. The receiver counts its lease
 * from when the stamp was sent, so a later beginning would gain nothing (decision 0053). When this server proposes a set without some receiver, the
 * proposal carries the rest of the longest such promise as its *hold*, and no member of the resulting view acts before the
 * hold is over.
 *
 * A promise ends early in two ways: the receiver, or a later process of its name, is in the new set, or the receiver has left the group. A
 * receiver that is in the new set confirms that set only when the clients of that receiver have stopped in V, and a later process holds for a whole promise. A
 * receiver that leaves first waits for those clients. A record of a greater incarnation alone ends nothing: the process that heard the promise may be gone while
 * clients of that process act on (decision 0057), and after a restart with a clock that went back, the greater incarnation is the *earlier* process.
 *
 * A process that has just started does not know the promises of the process before. So the new process holds for a whole promise from the start,
 * whatever the set contains: no list of names proves that a server outside does not exist (decision 0055). A suspended process does not
 * know how long ago a promise was given, so that process counts as just started, which outlasts every promise given before.
 */

import { latest, later, type Instant } from '../../runtime/time.ts';
import {
  compareIncarnations,
  type Incarnation,
  incarnationIn,
  isSameIncarnation,
  type MemberId,
  type Membership,
} from './incarnation.ts';
import type { ServerRecord } from './messages.ts';

interface Promised {
  readonly incarnation: Incarnation;
  readonly at: Instant;
}

export class Promises {
  readonly #promiseMs: number;
  readonly #given = new Map<string, Promised>();
  #rememberedSince: Instant;

  constructor(promiseMs: number, now: Instant) {
    this.#promiseMs = promiseMs;
    this.#rememberedSince = now;
  }

  /** @param heardAt when the stamp arrived that the promise answers */
  give({ name, incarnation }: MemberId, heardAt: Instant): void {
    const known = this.#given.get(name);
    // A promise to the process before goes on: its clients may still act.
    this.#given.set(name, { incarnation, at: known === undefined ? heardAt : latest(known.at, heardAt) });
  }

  /** When every promise has run out, those of an earlier process under this name included. */
  get endAt(): Instant {
    let endAt = later(this.#rememberedSince, this.#promiseMs);
    for (const { at } of this.#given.values()) endAt = latest(endAt, later(at, this.#promiseMs));
    return endAt;
  }

  suspended(now: Instant): void {
    this.#rememberedSince = now;
  }

  /** For how long a server outside this set may act on a promise of this server. */
  holdMs(set: Membership, recordOf: (name: string) => ServerRecord | undefined, now: Instant): number {
    let until = later(this.#rememberedSince, this.#promiseMs);
    for (const [name, promised] of this.#given) {
      const end = later(promised.at, this.#promiseMs);
      if (end <= now) this.#given.delete(name);
      else if (end > until && !isReleased(promised, incarnationIn(set, name), recordOf(name))) until = end;
    }
    return Math.max(0, until - now);
  }
}

function isReleased(
  { incarnation }: Promised,
  inside: Incarnation | undefined,
  record: ServerRecord | undefined,
): boolean {
  if (inside !== undefined && compareIncarnations(inside, incarnation) >= 0) return true;
  return record?.hasLeft === true && isSameIncarnation(record.incarnation, incarnation);
}
