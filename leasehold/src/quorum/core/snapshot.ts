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
 *     view       as of S: part 1, part 2, …, then parts with the sessions
 */

import type { Configuration } from './configuration.ts';
import type { Revision } from './operation.ts';
import { type Found, resultBytes } from './result.ts';
import type { Outcome, SessionSnapshot } from './sessions.ts';
import type { StateMachine, StateSnapshot } from './state-machine.ts';

export interface Snapshot {
  readonly slot: number;
  readonly configuration: Configuration;
  readonly state: StateSnapshot;
}

/** Some of the values and sessions of a snapshot. Parts come in order, all values before the sessions. */
export interface SnapshotPart {
  readonly slot: number;
  readonly configuration: Configuration;
  /** How many values and sessions were in the parts before. */
  readonly first: number;
  readonly values: readonly Found[];
  /** A session may come in several pieces: its results may be larger than a part. */
  readonly sessions: readonly SessionSnapshot[];
  readonly isLast: boolean;
}

export const itemsOf = ({ values, sessions }: SnapshotPart): number => values.length + sessions.length;

/** The size of a value besides the key and the bytes. */
const VALUE_BYTES = 16;

/** The size of an outcome, or of a session, besides what was found. */
const OUTCOME_BYTES = 32;

export class SnapshotView {
  readonly slot: number;
  readonly #configuration: Configuration;
  readonly #values: Iterator<Found>;
  readonly #pieces: Iterator<SessionSnapshot>;
  readonly #pin: Disposable;
  #given = 0;
  #value: Found | undefined;
  #piece: SessionSnapshot | undefined;

  /** @param slot is committed, and applied */
  constructor(machine: StateMachine, slot: number, configuration: Configuration) {
    this.slot = slot;
    this.#configuration = configuration;
    this.#pin = machine.pin(slot);
    this.#values = machine.valuesAt(slot);
    this.#pieces = piecesOf(machine.sessions.snapshotAt(slot));
    this.#value = taken(this.#values);
    this.#piece = taken(this.#pieces);
  }

  /** The values and sessions that come next and fit into so many bytes; one at least, if there is one. */
  next(bytesMax: number): SnapshotPart {
    const values: Found[] = [];
    let bytes = 0;
    for (; this.#value !== undefined; this.#value = taken(this.#values)) {
      bytes += VALUE_BYTES + this.#value.key.length + (this.#value.value?.length ?? 0);
      if (bytes > bytesMax && values.length > 0) break;
      values.push(this.#value);
    }
    const sessions: {
      readonly id: Revision;
      readonly answeredBelow: number;
      readonly outcomes: Outcome[];
    }[] = [];
    for (; this.#value === undefined && this.#piece !== undefined; this.#piece = taken(this.#pieces)) {
      const { id, answeredBelow, outcomes } = this.#piece;
      for (const { result } of outcomes) bytes += resultBytes(result);
      bytes += OUTCOME_BYTES;
      if (bytes > bytesMax && values.length + sessions.length > 0) break;
      const last = sessions.at(-1);
      if (last?.id === id) last.outcomes.push(...outcomes);
      else sessions.push({ id, answeredBelow, outcomes: [...outcomes] });
    }
    const first = this.#given;
    this.#given += values.length + sessions.length;
    const isLast = this.#value === undefined && this.#piece === undefined;
    const { slot } = this;
    const whole = this.#configuration;
    return {
      ...{ slot, first, values, sessions, isLast },
      configuration: isLast ? whole : { ...whole, placement: { mode: 'leader' } }, // Tables may be large.
    };
  }

  /** The state machine need not keep old versions any longer. */
  release(): void {
    this.#pin[Symbol.dispose]();
  }
}

function taken<T>(items: Iterator<T>): T | undefined {
  const step = items.next();
  return step.done === true ? undefined : step.value;
}

/** Each session as pieces with one outcome each, or as one piece without any. */
function* piecesOf(sessions: readonly SessionSnapshot[]): Generator<SessionSnapshot, undefined> {
  for (const session of sessions) {
    if (session.outcomes.length === 0) yield session;
    for (const outcome of session.outcomes) yield { ...session, outcomes: [outcome] };
  }
  return undefined;
}
