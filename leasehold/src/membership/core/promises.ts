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
 * So a promise is to one process, not to a name, and each is counted apart. Suppose s crashes while a client of s is cut off, and s restarts at once. The promise
 * to the later process of s ends when the later process leaves. The promise to the earlier one does not: the later process has never heard of the client, so
 * waited for nobody, and the client acts until the earlier promise runs out (decision 0099).
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
  keyOf,
  type MemberId,
  type Membership,
} from './incarnation.ts';
import type { ServerRecord } from './messages.ts';

interface Promised {
  readonly to: MemberId;
  readonly at: Instant;
}

export class Promises {
  readonly #promiseMs: number;
  /** By process. */
  readonly #given = new Map<string, Promised>();
  #rememberedSince: Instant;

  constructor(promiseMs: number, now: Instant) {
    this.#promiseMs = promiseMs;
    this.#rememberedSince = now;
  }

  /** @param heardAt when the stamp arrived that the promise answers */
  give({ name, incarnation }: MemberId, heardAt: Instant): void {
    const to = { name, incarnation };
    const process = keyOf(to);
    const known = this.#given.get(process);
    this.#given.set(process, { to, at: known === undefined ? heardAt : latest(known.at, heardAt) });
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
    for (const [process, { to, at }] of this.#given) {
      const end = later(at, this.#promiseMs);
      if (end <= now) this.#given.delete(process);
      else if (end > until && !isReleased(to, incarnationIn(set, to.name), recordOf(to.name))) until = end;
    }
    return Math.max(0, until - now);
  }
}

function isReleased(
  { incarnation }: MemberId,
  inside: Incarnation | undefined,
  record: ServerRecord | undefined,
): boolean {
  if (inside !== undefined && compareIncarnations(inside, incarnation) >= 0) return true;
  return record?.hasLeft === true && isSameIncarnation(record.incarnation, incarnation);
}
