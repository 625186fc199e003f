/**
 * Watches a Manager from outside and writes down what changes. Show it what the Manager is like after
 * every input; when nothing has changed, that costs three comparisons.
 */

import type { ManagerObservation } from '../manager/observation.ts';
import type { ManagerState } from '../state.ts';
import type { ManagerCounters } from './counters.ts';
import type { EventLog } from './event-log.ts';
import { type Change, changesBetween, type ManagerEvent, type Reasons } from './events.ts';

/** A part of what a Manager shows; it need not be put together in full for this. */
export type Glimpse = Pick<ManagerObservation, 'id' | 'role' | 'haltedBecause' | 'term' | 'state'>;

const NOTHING: readonly Change[] = [];

export class Recorder {
  readonly #events: EventLog;
  readonly #counters: ManagerCounters;
  readonly #wallMs: () => number;
  #role: Glimpse['role'] = 'standby';
  #term = 0;
  /** Undefined before anything was read of the log: what is found there did not happen just now. */
  #state: ManagerState | undefined;

  constructor(events: EventLog, counters: ManagerCounters, wallMs: () => number) {
    this.#events = events;
    this.#counters = counters;
    this.#wallMs = wallMs;
  }

  /**
   * The Manager is like this now. `reasons` says why members left, where that is known: see
   * `reasonsIn` for how it follows from the batches applied since the last call. Returns what was written.
   */
  see(glimpse: Glimpse, reasons?: Reasons): readonly Change[] {
    const { role, term, state } = glimpse;
    const isSame =
      state === this.#state && role === this.#role && (role !== 'leading' || term === this.#term);
    if (isSame) return NOTHING;
    const changes: Change[] = this.#roleChanges(glimpse);
    if (this.#state !== undefined && state !== this.#state) {
      changes.push(...changesBetween(this.#state, state, reasons));
    }
    this.#role = role;
    this.#term = term;
    // An empty state is what there is before the log was read.
    if (this.#state !== undefined || state.position > 0 || role === 'leading') this.#state = state;
    this.#counters.count(changes);
    this.#events.append(changes, this.#wallMs(), state.position);
    return changes;
  }

  #roleChanges({ id: manager, role, term, haltedBecause }: Glimpse): ManagerEvent[] {
    const changes: ManagerEvent[] = [];
    const wasLeading = this.#role === 'leading';
    if (wasLeading && (role !== 'leading' || term !== this.#term)) {
      changes.push({ kind: 'deposed', manager, term: this.#term });
    }
    if (role === 'leading' && !(wasLeading && term === this.#term)) {
      changes.push({ kind: 'elected', manager, term });
    }
    if (role === 'halted' && this.#role !== 'halted') {
      changes.push({ kind: 'halted', manager, why: haltedBecause ?? 'unknown' });
    }
    return changes;
  }
}
