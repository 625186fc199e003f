/**
 * A log that keeps nothing, for Managers that want to need nothing: PRS's soft state (its section 4.4).
 *
 * A group elects one of its members; that one leads, in memory alone. When it is gone, so is all that it knew. A fenced
 * log has to promise three things, and all of them are cheap if there is nothing to keep:
 *
 *  - *Fenced.* Nobody but the leader has its memory, so nobody else's words can get into it; and what a leader says it
 *    says under its leader lease, which is the lease of the group.
 *  - *Read after the election.* Every term begins a history of its own, and nothing of an earlier one takes effect in
 *    it. That is what losing everything means, and callers are told so: to a look-up another history is a loss of all
 *    keys.
 *  - *Known or deposed.* A batch is in memory at once, or its leader is none any more.
 *
 * What must not happen is that the next leader gives away what the last one has leased. It finds a floor above its
 * position, which is how a log says that something is missing; and a leader that finds that waits until every lease
 * that there may be has run out, before it answers anybody.
 *
 *     leader 1   ├── gives leases ──┤ dead
 *     group                         ├ its lease, and the skew ┤ elects
 *     leader 2                                                ├── waits a takeover ──┤ gives leases, all of them new
 *
 * **Numbers.** The term is the group's lease number, which grows; so does the floor, which is the same. It counts
 * microseconds. A leader would have to write a million batches a second to come to the floor of its successor.
 *
 * **Time.** A leader lease is counted on the monotonic clock, the group's on wall clocks: see `candidate.ts`.
 *
 * **What is not kept cannot be told.** How long a successor has to wait stands in other logs; here it goes by its own
 * settings. So they must be the same everywhere, or longer with whoever may lead next.
 */

import type { DeposedReason, FencedLog, Following, LeaderEvents, Leadership } from '../log/log.ts';
import type { Instant } from '../runtime/time.ts';

/** A group, as far as it elects. */
export interface Electorate {
  /** Stands until elected, once. Disposing withdraws, or gives it back. */
  stand(events: ElectedEvents): Disposable;
  /** Calls back soon, but not at once. */
  soon(callback: () => void): void;
}

export interface ElectedEvents {
  /** Comes once, first. `number` grows from leader to leader. */
  won(number: number, until: Instant): void;
  renewed(until: Instant): void;
  /** Comes once, last, unless it was disposed of. */
  lost(): void;
}

/** Nothing is written anywhere: a batch may be as large as a string. */
const MAX_BATCH_BYTES = 2 ** 28;

export class SoftLog implements FencedLog {
  readonly maxBatchBytes: number = MAX_BATCH_BYTES;
  readonly canBeFollowed = false;
  readonly #electorate: Electorate;

  constructor(electorate: Electorate) {
    this.#electorate = electorate;
  }

  campaign(_candidate: string, events: LeaderEvents): Disposable {
    return new SoftCampaign(this.#electorate, events);
  }

  /** There is nothing to follow, and nobody who could vouch for it but the leader. */
  follow(): Following {
    return { askHead: () => {}, [Symbol.dispose]: () => {} };
  }
}

class SoftCampaign implements Disposable {
  readonly #electorate: Electorate;
  readonly #events: LeaderEvents;
  readonly #standing: Disposable;
  #state: 'standing' | 'leading' | 'over' = 'standing';

  constructor(electorate: Electorate, events: LeaderEvents) {
    this.#electorate = electorate;
    this.#events = events;
    this.#standing = electorate.stand({
      won: (number, until) => this.#won(number, until),
      renewed: (until) => {
        if (this.#state === 'leading') events.extended(until);
      },
      lost: () => this.#end('lease-ended'),
    });
  }

  [Symbol.dispose](): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#standing[Symbol.dispose]();
  }

  #won(number: number, until: Instant): void {
    if (this.#state !== 'standing') return;
    this.#state = 'leading';
    const leadership: Leadership = {
      term: number,
      start: { history: `soft-${number}`, snapshot: undefined, batches: [], floor: number },
      append: (_batch, done) => {
        this.#electorate.soon(() => {
          if (this.#state === 'leading') done('appended');
        });
      },
      compact: () => {},
      resign: () => {
        this.#electorate.soon(() => this.#resign());
      },
    };
    this.#events.elected(leadership, until);
  }

  #resign(): void {
    if (this.#state !== 'leading') return;
    this.#standing[Symbol.dispose]();
    this.#end('resigned');
  }

  #end(reason: DeposedReason): void {
    if (this.#state !== 'leading') return;
    this.#state = 'over';
    this.#events.deposed(reason);
  }
}
