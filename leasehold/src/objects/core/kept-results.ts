/**
 * The results of calls on one object, each kept until its caller has it: a call that is repeated because its answer was lost gets the answer of
 * the run, and does not run again.
 *
 *     run ──► kept ── confirmed by the caller ──► gone
 *              └───── 60 s, or too many ────────► dropped: the object remembers that it dropped a result
 *
 * **Why a call runs at most once.** A repeated call either finds its result, or was never run here, or its result is gone. A confirmed result is
 * not asked for again. For a dropped result the object remembers, of its caller, the highest such counter: a repetition up to that
 * counter is *forgotten*, and its outcome unknown. Of callers beyond the 64th only the highest lease number of a dropped result is remembered, the floor:
 * a repetition that was first sent under a number up to the floor is forgotten too. That covers each dropped result, because a call runs under a number
 * that is not below the one it was first sent under. Too much is forgotten rather than too little: an unknown outcome is told, a second run is not.
 *
 * No clock could say which repetitions are too old: a frame may be late by any time, and a caller suspended for any.
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { Answer } from './messages.ts';

export interface ResultBounds {
  readonly keptMs: number;
  readonly maxResults: number;
  readonly maxBytes: number;
  readonly maxCallers: number;
}

/** Of one object. */
export const RESULT_BOUNDS: ResultBounds = {
  keptMs: 60_000,
  maxResults: 1_000,
  maxBytes: 4 * 1_048_576,
  maxCallers: 64,
};

interface Kept {
  readonly caller: string;
  readonly counter: number;
  readonly answer: Answer;
  /** The lease number under which the call ran. */
  readonly number: number;
  readonly dueAt: Instant;
}

/** For the next owner of the object. */
export interface ResultsCopy {
  readonly results: readonly (Omit<Kept, 'dueAt'> & { readonly leftMs: number })[];
  readonly forgotten: ReadonlyMap<string, number>;
  readonly floor: number;
  readonly highestDropped: number;
}

const idOf = (caller: string, counter: number): string => `${counter}#${caller}`;

export class KeptResults {
  readonly #bounds: ResultBounds;
  /** Oldest first. */
  readonly #results = new Map<string, Kept>();
  readonly #forgotten = new Map<string, number>();
  #floor: number;
  #highestDropped = 0;
  #bytes = 0;

  /** @param floor of objects of which this owner remembers no more than that */
  constructor(floor: number, bounds: ResultBounds = RESULT_BOUNDS) {
    this.#floor = floor;
    this.#bounds = bounds;
  }

  get isEmpty(): boolean {
    return this.#results.size === 0;
  }

  /** When the oldest result is dropped. */
  get dueAt(): Instant | undefined {
    return this.#oldest()?.dueAt;
  }

  /** The highest lease number under which a call ran whose result was dropped here; 0: none. */
  get highestDropped(): number {
    return this.#highestDropped;
  }

  find(caller: string, counter: number): Answer | undefined {
    return this.#results.get(idOf(caller, counter))?.answer;
  }

  keep(caller: string, counter: number, answer: Answer, number: number, now: Instant): void {
    const dueAt = later(now, this.#bounds.keptMs);
    this.#add({ caller, counter, answer, number, dueAt });
    while (this.#results.size > this.#bounds.maxResults || this.#bytes > this.#bounds.maxBytes) this.#drop();
  }

  confirm(caller: string, counter: number): void {
    const kept = this.#results.get(idOf(caller, counter));
    if (kept !== undefined) this.#remove(kept);
  }

  dropDue(now: Instant): void {
    for (let oldest = this.#oldest(); oldest !== undefined && oldest.dueAt <= now; oldest = this.#oldest())
      this.#drop();
  }

  /** The result of the call, if it ran here, may be among the dropped ones. */
  isForgotten(caller: string, counter: number, first: number): boolean {
    return counter <= (this.#forgotten.get(caller) ?? 0) || first <= this.#floor;
  }

  copy(now: Instant): ResultsCopy {
    return {
      results: [...this.#results.values()].map(({ dueAt, ...kept }) => ({ ...kept, leftMs: dueAt - now })),
      forgotten: new Map(this.#forgotten),
      floor: this.#floor,
      highestDropped: this.#highestDropped,
    };
  }

  /** On another machine the rest of a result's time begins when the copy arrives: a result is kept longer, never shorter. */
  static from(copy: ResultsCopy, now: Instant, bounds?: ResultBounds): KeptResults {
    const results = new KeptResults(copy.floor, bounds);
    for (const { leftMs, ...kept } of copy.results) results.#add({ ...kept, dueAt: later(now, leftMs) });
    for (const [caller, counter] of copy.forgotten) results.#forgotten.set(caller, counter);
    results.#highestDropped = copy.highestDropped;
    return results;
  }

  #oldest(): Kept | undefined {
    for (const kept of this.#results.values()) return kept;
    return undefined;
  }

  #add(kept: Kept): void {
    this.#results.set(idOf(kept.caller, kept.counter), kept);
    this.#bytes += kept.answer.bytes.length;
  }

  #remove(kept: Kept): void {
    this.#results.delete(idOf(kept.caller, kept.counter));
    this.#bytes -= kept.answer.bytes.length;
  }

  #drop(): void {
    const kept = this.#oldest();
    if (kept === undefined) return;
    this.#remove(kept);
    this.#remember(kept);
  }

  #remember({ caller, counter, number }: Kept): void {
    this.#highestDropped = Math.max(this.#highestDropped, number);
    const known = this.#forgotten.get(caller);
    if (known !== undefined || this.#forgotten.size < this.#bounds.maxCallers)
      this.#forgotten.set(caller, Math.max(known ?? 0, counter));
    else this.#floor = Math.max(this.#floor, number);
  }
}
