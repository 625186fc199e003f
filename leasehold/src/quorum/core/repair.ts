/**
 * A replica whose disk lost slots that are known to be chosen, until it has them again.
 *
 * It neither votes nor promises nor reads meanwhile: it would have to say what it no longer knows. Chosen values are the same
 * everywhere, so any replica that knows them can send them, and the ballots under which they were accepted no longer
 * matter. When everything is there, {@link Repair.repaired} is what a replica starts from. The slots may come one by one, from several replicas.
 *
 * **Replicas that repair themselves help each other.** Each of three may have lost another slot, and nobody else is there to ask. So a slot
 * is sent if it is certain which value was chosen there, and only then:
 *
 *     slots      1 … │ missing: first … last │ …            chosen │ …
 *     sent       yes │ no                    │ yes                 │ no
 *
 *  - Beyond the chosen mark another ballot may have replaced the entry.
 *  - Within the missing slots an entry may be there that is older than the one in a damaged frame, so nothing is sent of them.
 *  - Before them, the chosen mark of a valid frame covered the slot when the damaged frame was written, and chosen values do not change.
 *    Behind them, everything was written after the damage.
 *
 * An answer is no vote and no promise. Whoever hears it learns only what is chosen already, as from a replica that runs.
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { Effect } from './context.ts';
import type { Entry } from './log.ts';
import type { Fetch, Fetched, Message } from './messages.ts';
import type { Operation } from './operation.ts';
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
  /** What has come of the missing slots, and of later ones. */
  readonly #fetched = new Map<number, Operation>();
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

  /** The slots that nobody has sent yet: the first and the last of them. */
  get missing(): { readonly first: number; readonly last: number } {
    const { first, last } = this.#missing;
    const lacking = range(first, last).filter((slot) => !this.#fetched.has(slot));
    return { first: lacking[0] ?? first, last: lacking.at(-1) ?? last };
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
    const message = { kind: 'fetch', ...this.missing } as const;
    return this.#contacts.map((to) => ({ do: 'send', to, message }));
  }

  receive(from: string, message: Message): Effect[] {
    if (message.kind === 'fetched') this.#take(message);
    const answer = message.kind === 'fetch' ? this.#answer(message) : undefined;
    return answer === undefined ? [] : [{ do: 'send', to: from, message: answer }];
  }

  /** As many slots as are certain, from the first that was asked for. The other replica asks somebody else for the next one. */
  #answer({ first, last }: Fetch): Fetched | undefined {
    const { snapshot, entries, chosen } = this.#recovered;
    const base = snapshot?.slot ?? 0;
    const isLost = (slot: number): boolean => slot >= this.#missing.first && slot <= this.#missing.last;
    const operations: Operation[] = [];
    for (let slot = first; slot <= Math.min(last, chosen) && !isLost(slot); slot += 1) {
      const entry = slot > base ? entries[slot - base - 1] : undefined;
      if (entry === undefined) break;
      operations.push(entry.operation);
    }
    return operations.length === 0 ? undefined : { kind: 'fetched', first, operations, snapshot: undefined };
  }

  #take({ operations, first: begins, snapshot: sent }: Fetched): void {
    if (this.#repaired !== undefined || (sent !== undefined && sent.slot < this.#missing.first)) return;
    const { first, last } = this.#missing;
    if (begins > this.missing.first && sent === undefined) this.#hasTooOld = true;
    operations.forEach((operation, place) => this.#fetched.set(begins + place, operation));
    const isThere = (slot: number): boolean => slot <= (sent?.slot ?? 0) || this.#fetched.has(slot);
    if (!range(first, last).every(isThere)) return;
    const snapshot = sent ?? this.#recovered.snapshot;
    const ownBase = this.#recovered.snapshot?.slot ?? 0;
    const base = snapshot?.slot ?? 0;
    const end = Math.max(last, ownBase + this.#recovered.entries.length);
    const entries = range(base + 1, end).map((slot): Entry | undefined => {
      const operation = this.#fetched.get(slot);
      return operation === undefined ? this.#recovered.entries[slot - ownBase - 1] : { ballot: 0, operation };
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

const range = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => first + place);
