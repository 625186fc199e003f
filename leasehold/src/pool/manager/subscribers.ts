/**
 * The look-ups that listen to this Manager, leader or standby, and what they are told.
 *
 * A push goes to everybody alike: "whoever is at `from` is at `to` with these rows". Who was not at
 * `from`, because it missed the push before, sees the gap and syncs; so nothing has to be kept
 * about a look-up but its address.
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { Changes, FromManager, Sync } from '../messages.ts';
import type { ManagerState } from '../state.ts';
import type { LookupObservation } from './observation.ts';
import type { Stamps } from './stamps.ts';

/** A look-up that has not synced for so many sync intervals is taken off the list. */
const FORGOTTEN_AFTER_SYNCS = 4;

export interface Push {
  readonly do: 'send';
  readonly to: string;
  readonly message: FromManager;
}

/** Beyond that many, counted for each pool, nobody new is told of changes unasked. */
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
    if (this.#size >= MOST_LISTENERS) return; // It is answered, but hears of changes only when it asks.
    if (addresses === undefined) this.#pools.set(pool, (addresses = new Map()));
    addresses.set(from, now);
    this.#size += 1;
    for (const [oldest, heardAt] of addresses) {
      if (later(heardAt, this.keepMs(pool)) >= now) break;
      addresses.delete(oldest);
      this.#size -= 1;
    }
  }

  /** Takes those off the list who have not asked for long, also of pools of which nobody else speaks. */
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

  /** Tells everybody of what the last commit changed. */
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

  /** Everybody who is told of changes. */
  *listeners(): Generator<LookupObservation> {
    for (const [pool, addresses] of this.#pools) {
      for (const [address, lastHeardAt] of addresses) yield { pool, address, lastHeardAt };
    }
  }

  /** For how long somebody is told of changes after it has last asked. */
  keepMs(pool: string): number {
    return FORGOTTEN_AFTER_SYNCS * this.#syncEveryMs(pool);
  }
}

/** The answer to a sync, or undefined if the asker knows more than we do. */
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
