/**
 * Watches a Manager from outside and writes down what changes. Show it what the Manager is like after
 * every input; when nothing has changed, that costs four comparisons.
 *
 * What it knows and what there is are two things. A leader that is deposed knows nothing until it has read the log
 * again, and if there is none to read, nothing at all; but nobody has left by that. So what it knew last is kept
 * beside, and compared with what it knows next:
 *
 *     it knows   h1: a, b     nothing      h1: b, c      told: a left, c joined
 *     it knows   h1: a, b     nothing      h2: nobody    told: nothing, for h2 is another log
 *     it knows   h1: a, b     h2: nobody                 told: a and b left; the log was begun anew under its eyes
 */

import type { ManagerObservation } from '../manager/observation.ts';
import type { ManagerState } from '../state.ts';
import type { ManagerCounters } from './counters.ts';
import type { EventLog } from './event-log.ts';
import { type Change, changesBetween, type ManagerEvent, type Reasons } from './events.ts';

/** A part of what a Manager shows; it need not be put together in full for this. */
export type Glimpse = Pick<
  ManagerObservation,
  'id' | 'role' | 'haltedBecause' | 'term' | 'history' | 'state'
>;

const NOTHING: readonly Change[] = [];

export class Recorder {
  readonly #events: EventLog;
  readonly #counters: ManagerCounters;
  readonly #wallMs: () => number;
  #role: Glimpse['role'] = 'standby';
  #term = 0;
  #history: string | undefined;
  #state: ManagerState | undefined;
  /** The last that it knew. Undefined before anything was read: what is found there did not happen just now. */
  #known: { readonly history: string; readonly state: ManagerState } | undefined;

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
    this.#events.append(changes, this.#wallMs(), state.position);
    return changes;
  }

  #poolChanges({ history, state }: Glimpse, reasons?: Reasons): readonly Change[] {
    if (history === undefined) return NOTHING;
    const known = this.#known;
    this.#known = { history, state };
    if (known === undefined || known.state === state) return NOTHING;
    const hasForgotten = this.#history === undefined;
    return hasForgotten && known.history !== history ? NOTHING : changesBetween(known.state, state, reasons);
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
