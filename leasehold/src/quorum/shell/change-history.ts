/**
 * The changes of the last committed slots, for watches.
 *
 * Slots are shown as they are committed, which is not always in order: a slow holder delays its own keys alone. A watch is in
 * order, so changes wait here for earlier ones.
 *
 *     shown   5 6 8 9        position 6; when 7 is shown, 7, 8 and 9 follow
 *
 * The history is bounded, in slots, changes and bytes. A watch that begins earlier than the history is told so, and can begin with all values instead. The same is
 * told to live watches when a snapshot is installed: nobody here knows the changes that the snapshot contains.
 */

import type { Operation } from '../core/operation.ts';
import { type Found, foundBytes, type Result } from '../core/result.ts';

export interface SlotChanges {
  readonly slot: number;
  readonly found: readonly Found[];
}

const SLOTS_MAX = 10_000;
const CHANGES_MAX = 100_000;
const BYTES_MAX = 64 * 1024 * 1024;

export interface HistoryEvents {
  /** The changes of each slot, in order. */
  changed(changes: SlotChanges): void;
  /** The changes up to this position will never be told. */
  skipped(position: number): void;
}

export class ChangeHistory {
  readonly #events: HistoryEvents;
  readonly #early = new Map<number, readonly Found[]>();
  #kept: SlotChanges[] = [];
  #keptChanges = 0;
  #keptBytes = 0;
  #position: number;
  #oldest: number;

  constructor(position: number, events: HistoryEvents) {
    this.#position = position;
    this.#oldest = position;
    this.#events = events;
  }

  /** Every slot up to this one is in the history, or was. */
  get position(): number {
    return this.#position;
  }

  /** The changes after this position are kept. */
  get oldest(): number {
    return this.#oldest;
  }

  show(slot: number, operation: Operation, results: readonly Result[]): void {
    if (slot <= this.#position) return;
    this.#early.set(slot, changesOf(operation, results));
    this.#advance();
  }

  /** Everything up to this slot came at once: the changes in between are not known. */
  installed(slot: number): void {
    if (slot <= this.#position) return;
    for (const each of this.#early.keys()) if (each <= slot) this.#early.delete(each);
    this.#kept = [];
    this.#keptChanges = 0;
    this.#keptBytes = 0;
    this.#position = slot;
    this.#oldest = slot;
    this.#events.skipped(slot); // Before later changes: a watch must not take those for all there were.
    this.#advance();
  }

  /** The changes after a position; undefined if they are no longer kept. */
  since(position: number): readonly SlotChanges[] | undefined {
    return position < this.#oldest ? undefined : this.#kept.filter(({ slot }) => slot > position);
  }

  #advance(): void {
    for (
      let found = this.#early.get(this.#position + 1);
      found !== undefined;
      found = this.#early.get(this.#position + 1)
    ) {
      const slot = this.#position + 1;
      this.#early.delete(slot);
      this.#position = slot;
      if (found.length > 0) this.#keep({ slot, found });
      this.#events.changed({ slot, found });
    }
  }

  #keep(changes: SlotChanges): void {
    this.#kept.push(changes);
    this.#keptChanges += changes.found.length;
    this.#keptBytes += foundBytes(changes.found);
    while (this.#kept.length > SLOTS_MAX || this.#keptChanges > CHANGES_MAX || this.#keptBytes > BYTES_MAX) {
      const dropped = this.#kept.shift() as SlotChanges;
      this.#keptChanges -= dropped.found.length;
      this.#keptBytes -= foundBytes(dropped.found);
      this.#oldest = dropped.slot;
    }
  }
}

/**
 * Every write of a slot, in the order of the log: a slot may hold several requests that write one key, and each of them was acknowledged. A transaction
 * takes effect at one instant, so of several writes of one key in it only the last is one.
 */
function changesOf(operation: Operation, results: readonly Result[]): readonly Found[] {
  if (operation.kind !== 'batch' || operation.keys.written.length === 0) return [];
  return operation.requests.flatMap(({ command }, place) => {
    const result = results[place];
    if (command.kind !== 'transaction' || result?.kind !== 'done') return [];
    const written = new Map<string, Found>();
    for (const action of command.actions) {
      if (action.do === 'get') continue;
      const value = action.do === 'put' ? action.value : undefined;
      written.set(action.key, { key: action.key, value, revision: result.revision });
    }
    return [...written.values()];
  });
}
