/**
 * Snapshots: the whole state as of one committed slot, in place of the log up to there.
 *
 * A snapshot is taken at or below the committed prefix, never above: what is only chosen may not be shown yet, and a replica that
 * installed the snapshot would show it. A snapshot has the sessions, or a request that is repeated after the snapshot would be
 * applied twice, and the configuration, or its reader would not know who votes.
 *
 * A state may have a gigabyte, and nothing may stand still for as long as that takes. So a snapshot is never made as a whole: a
 * {@link SnapshotView} names the slot, and gives the values as of that slot in parts, one for each turn of the event loop. Meanwhile
 * slots are applied as always; the state machine keeps the versions as of the slot until the view is released.
 *
 *     slots     … S ─────────────── applied meanwhile ───────────────►
 *     view       as of S: part 1, part 2, …, last part with the sessions
 */

import type { Configuration } from './configuration.ts';
import type { Found } from './result.ts';
import type { SessionSnapshot } from './sessions.ts';
import type { StateMachine, StateSnapshot } from './state-machine.ts';

export interface Snapshot {
  readonly slot: number;
  readonly configuration: Configuration;
  readonly state: StateSnapshot;
}

/** Some of the values of a snapshot. Parts come in order; the last one has the sessions. */
export interface SnapshotPart {
  readonly slot: number;
  readonly configuration: Configuration;
  /** How many values were in the parts before. */
  readonly first: number;
  readonly values: readonly Found[];
  /** In the last part; empty before. */
  readonly sessions: readonly SessionSnapshot[];
  readonly isLast: boolean;
}

/** A snapshot that is in memory as one part. */
export const wholePart = ({ slot, configuration, state }: Snapshot): SnapshotPart => ({
  ...{ slot, configuration, first: 0, values: state.values, sessions: state.sessions, isLast: true },
});

/** The size of a value besides the key and the bytes. */
const VALUE_BYTES = 16;

export class SnapshotView {
  readonly slot: number;
  readonly #configuration: Configuration;
  readonly #sessions: readonly SessionSnapshot[];
  readonly #values: Iterator<Found>;
  readonly #pin: Disposable;
  #given = 0;
  #next: Found | undefined;

  /** @param slot is committed, and applied */
  constructor(machine: StateMachine, slot: number, configuration: Configuration) {
    this.slot = slot;
    this.#configuration = configuration;
    this.#pin = machine.pin(slot);
    this.#sessions = machine.sessions.snapshotAt(slot);
    this.#values = machine.valuesAt(slot);
    this.#next = this.#step();
  }

  /** The values that come next and fit into so many bytes; one at least, if there is one. */
  next(bytesMax: number): SnapshotPart {
    const values: Found[] = [];
    for (let bytes = 0; this.#next !== undefined; this.#next = this.#step()) {
      bytes += VALUE_BYTES + this.#next.key.length + (this.#next.value?.length ?? 0);
      if (bytes > bytesMax && values.length > 0) break;
      values.push(this.#next);
    }
    const first = this.#given;
    this.#given += values.length;
    const isLast = this.#next === undefined;
    const { slot } = this;
    const whole = this.#configuration;
    return {
      ...{ slot, first, values, sessions: isLast ? this.#sessions : [], isLast },
      configuration: isLast ? whole : { ...whole, placement: { mode: 'leader' } }, // Tables may be large.
    };
  }

  /** The state machine need not keep old versions any longer. */
  release(): void {
    this.#pin[Symbol.dispose]();
  }

  #step(): Found | undefined {
    const step = this.#values.next();
    return step.done === true ? undefined : step.value;
  }
}
