/**
 * A log that keeps nothing, for Managers without a disk or an etcd: PRS's soft state (its section 4.4).
 *
 * A group elects one of its members; that member leads, with its state in memory alone. When the leader is gone, so
 * is its state. A fenced log has to promise three things, all of them cheap if there is nothing to keep:
 *
 *  - *Fenced.* Only the leader has its memory, so no other process can write into it; and a leader answers only under its
 *    leader lease, which is the lease of the group.
 *  - *Read after the election.* Every term begins a history of its own, and nothing of an earlier one takes effect in
 *    it. The state is lost, and callers are told so: to a look-up another history is a loss of all keys.
 *  - *Known or deposed.* A batch is in memory at once, or its leader is no longer the leader.
 *
 * The next leader must not grant keys that the last one has leased. It finds a floor above its position, which is how
 * a log reports missing entries; and a leader that finds such a floor waits until every possible lease has expired,
 * before it answers any owner.
 *
 *     leader 1   ├── gives leases ──┤ dead
 *     group                         ├ its lease, and the skew ┤ elects
 *     leader 2                                                ├── waits a takeover ──┤ gives leases, all of them new
 *
 * **Numbers.** The term is the group's lease number, which grows; so does the floor, which is the same. It counts
 * microseconds. A leader would have to write a million batches a second to reach the floor of its successor.
 *
 * **Time.** A leader lease is counted on the monotonic clock, the group's on wall clocks: see `candidate.ts`.
 *
 * **Nothing kept, nothing to read.** Other logs record how long a successor has to wait. Here all members of the
 * group have agreed on one number, `takeoverMs`: every leader waits that long, no leader makes a promise that lasts
 * longer, and every packet names the number, so that members with different numbers never elect together. So a leader
 * may be followed by one with any other settings, and lost memory does not matter. Decision 0022 goes through the
 * cases.
 */

import type { DeposedReason, FencedLog, Following, LeaderEvents, Leadership } from '../../log/log.ts';
import type { Instant } from '../../runtime/time.ts';

/** The part of a group that elects. */
export interface Electorate {
  /** Stands for election until elected, once. Disposing withdraws, or releases the leadership. */
  stand(events: ElectedEvents): Disposable;
  /** Calls back soon, but not at once. */
  soon(callback: () => void): void;
}

export interface ElectedEvents {
  /** Comes once, first. `number` grows from leader to leader. */
  won(number: number, until: Instant): void;
  renewed(until: Instant): void;
  /** Comes once, last, unless disposed of. */
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

  /** There is nothing to follow, and only the leader could vouch for it. */
  follow(): Following {
    return { askHead: () => {}, [Symbol.dispose]: () => {} };
  }
}

class SoftCampaign implements Disposable {
  readonly #electorate: Electorate;
  readonly #events: LeaderEvents;
  readonly #candidacy: Disposable;
  #state: 'standing' | 'leading' | 'over' = 'standing';

  constructor(electorate: Electorate, events: LeaderEvents) {
    this.#electorate = electorate;
    this.#events = events;
    this.#candidacy = electorate.stand({
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
    this.#candidacy[Symbol.dispose]();
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
    this.#candidacy[Symbol.dispose]();
    this.#end('resigned');
  }

  #end(reason: DeposedReason): void {
    if (this.#state !== 'leading') return;
    this.#state = 'over';
    this.#events.deposed(reason);
  }
}
