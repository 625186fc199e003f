/**
 * A replica whose disk lost slots that are known to be chosen, until it has them again.
 *
 * It neither votes nor promises nor reads meanwhile: it would have to say what it no longer knows. Chosen values are the same
 * everywhere, so any member that knows them can send them, and the ballots under which they were accepted no longer
 * matter. When everything is there, {@link Repair.repaired} is what a replica starts from.
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { Effect } from './context.ts';
import type { Entry } from './log.ts';
import type { Message } from './messages.ts';
import type { Recovered } from './recovery.ts';

/** After so many rounds in which the lost slots were said to be compacted away there is no hope. */
const ASKED_MAX = 8;

export class Repair {
  readonly #recovered: Recovered;
  readonly #missing: { readonly first: number; readonly last: number };
  readonly #contacts: readonly string[];
  readonly #retryMs: number;
  #askAt: Instant;
  #asked = 0;
  #hasTooOld = false;
  #repaired: Recovered | undefined;

  constructor(recovered: Recovered, contacts: readonly string[], retryMs: number, now: Instant) {
    this.#recovered = recovered;
    this.#missing = recovered.missing ?? { first: 1, last: 0 };
    this.#contacts = contacts;
    this.#retryMs = retryMs;
    this.#askAt = now;
  }

  /** As the disk says. */
  get recovered(): Recovered {
    return this.#recovered;
  }

  get repaired(): Recovered | undefined {
    return this.#repaired;
  }

  /** The lost slots are in no log any more, and the state of the others is too large to be sent at once. */
  get isHopeless(): boolean {
    return this.#repaired === undefined && this.#hasTooOld && this.#asked > ASKED_MAX;
  }

  get wakeAt(): Instant | undefined {
    return this.#repaired === undefined ? this.#askAt : undefined;
  }

  wake(now: Instant): Effect[] {
    if (this.#repaired !== undefined || now < this.#askAt) return [];
    this.#askAt = later(now, this.#retryMs);
    this.#asked += 1;
    const message = { kind: 'fetch', ...this.#missing } as const;
    return this.#contacts.map((to) => ({ do: 'send', to, message }));
  }

  receive(message: Message): void {
    if (message.kind !== 'fetched' || this.#repaired !== undefined) return;
    const { operations, first: begins, snapshot = this.#recovered.snapshot } = message;
    const { first, last } = this.#missing;
    if (begins > first && message.snapshot === undefined) this.#hasTooOld = true;
    const ends = begins + operations.length - 1;
    const isEnough = (begins <= first || message.snapshot !== undefined) && ends >= last;
    if (!isEnough) return;
    const ownBase = this.#recovered.snapshot?.slot ?? 0;
    const base = snapshot?.slot ?? 0;
    const end = Math.max(ends, ownBase + this.#recovered.entries.length);
    const entries = Array.from({ length: Math.max(0, end - base) }, (_, place): Entry | undefined => {
      const operation = operations[base + 1 + place - begins];
      return operation === undefined
        ? this.#recovered.entries[base - ownBase + place]
        : { ballot: 0, operation };
    });
    const chosen = Math.max(this.#recovered.chosen, base);
    const committed = Math.max(this.#recovered.committed, base);
    this.#repaired = {
      ...this.#recovered,
      snapshot,
      entries,
      chosen,
      committed,
      missing: undefined,
      isRepaired: true,
    };
  }

  suspended(): Effect[] {
    return [];
  }
}
