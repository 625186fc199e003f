/**
 * The look-ups that are told of commits by this Manager, leader or standby, and the messages to them.
 *
 * A push is the same for all look-ups: "a look-up at position `from` is at `to` with these rows". A look-up that missed the push
 * before is not at `from`, sees the gap, and syncs. So a Manager keeps nothing of a look-up but its address.
 */

import { type Instant, later } from '../../../runtime/time.ts';
import type { Changes, FromManager, Sync } from '../messages.ts';
import type { ManagerState } from '../state.ts';
import type { LookupObservation } from './observation.ts';
import type { Stamps } from './stamps.ts';

/** A look-up that has not synced for so many sync intervals is forgotten. */
const FORGOTTEN_AFTER_SYNCS = 4;

export interface Push {
  readonly do: 'send';
  readonly to: string;
  readonly message: FromManager;
}

/** With so many subscriptions, counted for each pool, no further look-up is subscribed. */
const MOST_LISTENERS = 200_000;

export class Subscribers {
  readonly #syncEveryMs: (pool: string) => number;
  readonly #pools = new Map<string, Map<string, Instant>>();
  #size = 0;

  constructor(syncEveryMs: (pool: string) => number) {
    this.#syncEveryMs = syncEveryMs;
  }

  hear(from: string, { pool }: Sync, now: Instant): void {
    let addresses = this.#pools.get(pool);
    if (addresses?.delete(from)) this.#size -= 1;
    if (this.#size >= MOST_LISTENERS) return; // The look-up is answered, but hears of changes only when it syncs.
    if (addresses === undefined) this.#pools.set(pool, (addresses = new Map()));
    addresses.set(from, now);
    this.#size += 1;
    for (const [oldest, heardAt] of addresses) {
      if (later(heardAt, this.keepMs(pool)) >= now) break;
      addresses.delete(oldest);
      this.#size -= 1;
    }
  }

  /** Forgets look-ups that have not synced for long, also in pools without other messages. */
  forget(now: Instant): void {
    for (const [pool, addresses] of this.#pools) {
      for (const [oldest, heardAt] of addresses) {
        if (later(heardAt, this.keepMs(pool)) >= now) break;
        addresses.delete(oldest);
        this.#size -= 1;
      }
      if (addresses.size === 0) this.#pools.delete(pool);
    }
  }

  /** The pushes for the changes of the last commit. */
  push(stamps: Stamps, before: ManagerState, after: ManagerState, now: Instant): Push[] {
    const pushes: Push[] = [];
    for (const [pool, addresses] of this.#pools) {
      const table = after.pool(pool);
      if (table === before.pool(pool)) continue;
      const from = before.pool(pool).changedAt;
      const message = changes(pool, stamps, after, from, undefined);
      const keepMs = this.keepMs(pool);
      for (const [to, heardAt] of addresses) {
        if (later(heardAt, keepMs) < now) {
          addresses.delete(to);
          this.#size -= 1;
        } else pushes.push({ do: 'send', to, message });
      }
    }
    return pushes;
  }

  /** All subscribed look-ups. */
  *listeners(): Generator<LookupObservation> {
    for (const [pool, addresses] of this.#pools) {
      for (const [address, lastHeardAt] of addresses) yield { pool, address, lastHeardAt };
    }
  }

  /** How long a look-up stays subscribed after its last sync. */
  keepMs(pool: string): number {
    return FORGOTTEN_AFTER_SYNCS * this.#syncEveryMs(pool);
  }
}

/** The answer to a sync; undefined if the look-up has seen more than this Manager. */
export function answerTo(sync: Sync, stamps: Stamps, term: number, state: ManagerState): Changes | undefined {
  const { seen, sequence, pool, lookup } = sync;
  const from = seen?.history === stamps.history ? seen.position : 0;
  if (from > state.position) return undefined;
  return changes(pool, stamps, state, from, { lookup, sequence }, term);
}

function changes(
  pool: string,
  stamps: Stamps,
  state: ManagerState,
  from: number,
  answers: Changes['answers'],
  term = state.term,
): Changes {
  const rows = state.pool(pool).changedSince(from);
  return {
    kind: 'changes',
    pool,
    history: stamps.history,
    term,
    from,
    to: state.position,
    stamp: stamps.of(term, state.position),
    rows,
    answers,
    pace: undefined,
  };
}
