/**
 * Watches a Manager from outside and writes down the changes. Show the recorder the Manager's state after every input;
 * when nothing has changed, that costs four comparisons.
 *
 * The Manager's knowledge and the real state are two things. A deposed leader knows nothing until that Manager has
 * read the log again, and never if there is no log to read; but no owner has left by that. So the last known state is
 * kept, and compared with the next known state:
 *
 *     known      h1: a, b     nothing      h1: b, c      told: a left, c joined
 *     known      h1: a, b     nothing      h2: nobody    told: nothing, for h2 is another log
 *     known      h1: a, b     h2: nobody                 told: a and b left; the Manager saw the log begin anew
 */

import type { ManagerObservation } from '../../core/manager/observation.ts';
import type { ManagerState } from '../../core/state.ts';
import type { ManagerCounters } from './counters.ts';
import { at, type ManagerEventLog } from './event-log.ts';
import { type Change, changesBetween, type ManagerEvent, type Reasons } from './events.ts';

/** A part of a Manager's observation, because the full observation is costly to build. */
export type Glimpse = Pick<
  ManagerObservation,
  'id' | 'role' | 'haltedBecause' | 'term' | 'history' | 'state'
>;

const NOTHING: readonly Change[] = [];

export class Recorder {
  readonly #events: ManagerEventLog;
  readonly #counters: ManagerCounters;
  readonly #wallMs: () => number;
  #role: Glimpse['role'] = 'standby';
  #term = 0;
  #history: string | undefined;
  #state: ManagerState | undefined;
  /**
   * The last known state. Undefined before anything was read: the contents of the first log did not happen just now.
   */
  #known: { readonly history: string; readonly state: ManagerState } | undefined;

  constructor(events: ManagerEventLog, counters: ManagerCounters, wallMs: () => number) {
    this.#events = events;
    this.#counters = counters;
    this.#wallMs = wallMs;
  }

  /**
   * The Manager is like this now. `reasons` says why members left, as far as known: see `reasonsIn` for how the
   * reasons follow from the batches applied since the last call. Returns the changes that were written.
   */
  see(glimpse: Glimpse, reasons?: Reasons): readonly Change[] {
    const { role, term, history, state } = glimpse;
    const isSame =
      state === this.#state &&
      history === this.#history &&
      role === this.#role &&
      (role !== 'leading' || term === this.#term);
    if (isSame) return NOTHING;
    const changes = [...this.#roleChanges(glimpse), ...this.#poolChanges(glimpse, reasons)];
    this.#role = role;
    this.#term = term;
    this.#history = history;
    this.#state = state;
    this.#counters.count(changes);
    this.#events.append(at(state.position, changes), this.#wallMs());
    return changes;
  }

  #poolChanges({ history, state }: Glimpse, reasons?: Reasons): readonly Change[] {
    if (history === undefined) return NOTHING;
    const known = this.#known;
    this.#known = { history, state };
    if (known === undefined || known.state === state) return NOTHING;
    const changes = changesBetween(known.state, state, reasons);
    if (known.history === history) return changes;
    // Another log has replaced the one before: the old log's pools are gone, but nobody removed them.
    const hasForgotten = this.#history === undefined;
    return hasForgotten ? NOTHING : changes.filter(({ kind }) => kind !== 'pool.removed');
  }

  #roleChanges({ id: manager, role, term, haltedBecause }: Glimpse): ManagerEvent[] {
    const changes: ManagerEvent[] = [];
    const wasLeading = this.#role === 'leading';
    if (wasLeading && (role !== 'leading' || term !== this.#term)) {
      changes.push({ kind: 'manager.deposed', manager, term: this.#term });
    }
    if (role === 'leading' && !(wasLeading && term === this.#term)) {
      changes.push({ kind: 'manager.elected', manager, term });
    }
    if (role === 'halted' && this.#role !== 'halted') {
      changes.push({ kind: 'manager.halted', manager, why: haltedBecause ?? 'unknown' });
    }
    return changes;
  }
}
