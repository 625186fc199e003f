/**
 * A {@link Movable} of four functions on state that the application keeps by key.
 *
 * `touched-keys.ts` says why a snapshot with notes misses nothing, on one condition: `touched(key)` after each change. A change that is not told
 * is in the snapshot if it came before its item was read, and is lost otherwise.
 *
 * **Why the snapshot ends, over an iterable of which nothing is known.** Keys that were touched are passed over. If the application touches keys as
 * fast as they are passed over, and puts them at the end (a `Map`, an entry of which is deleted and set), the iteration would go on for ever. Nobody can see
 * from the outside that only such keys are left. But in one turn nothing is touched. So when more keys were passed over than were
 * ever touched, some key came twice, and the rest is read in one turn; what is touched afterwards is passed over when its batch is made.
 *
 * At the target, items wait in a `Map` until the commit. Before they are written, what the application may have kept of these keys from an earlier time
 * is forgotten: a key that was deleted at the source must not return because the target once had it.
 */

import { invalidKey } from '../../../runtime/errors.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import { assert } from '../../../runtime/assert.ts';
import type { Movable, Stage } from './movable.ts';
import { type KeyNotes, TouchedKeys } from './touched-keys.ts';

/** A value, or undefined for a deletion. */
export type KeyedItem<V> = readonly [key: string, value: V | undefined];

/** What {@link keyedState} needs of the application's state. */
export interface KeyedState<V> {
  /** The entries of these keys, in any order. It may be a live iterator of a `Map`. */
  entries(keys: RangeSet): Iterable<readonly [string, V]>;
  /** The present value of a key; undefined: there is none. */
  read(key: string): V | undefined;
  /** An entry that has arrived: these keys are this owner's now. */
  write(key: string, value: V): void;
  /** Drop what there is of these keys: another owner has them, or their state is about to be written. */
  forget(keys: RangeSet): void;
}

/** How many items make a batch. */
const BATCH = 512;

/** A {@link Movable} of four functions on your own state. Call `touched` after each change of a key, deletions too. */
export function keyedState<V>(state: KeyedState<V>): Movable<KeyedItem<V>> & { touched(key: string): void } {
  const touched = new TouchedKeys<string>();
  return {
    touched: (key) => {
      if (typeof key !== 'string') throw invalidKey(key);
      touched.touched(key);
    },
    snapshot: (keys, signal) => snapshot(state, touched.begin(keys), signal),
    changes: (keys) =>
      touched
        .of(keys)
        .take()
        .map((key) => [key, state.read(key)]),
    done: (keys, moved) => {
      touched.end(keys);
      if (moved) state.forget(keys);
    },
    stage: () => new KeyedStage(state),
  };
}

/** Begun at the call of `snapshot`; this runs later, when the first batch is asked for. */
async function* snapshot<V>(
  state: KeyedState<V>,
  notes: KeyNotes<string>,
  signal: AbortSignal,
): AsyncGenerator<readonly KeyedItem<V>[], void, undefined> {
  let batch: KeyedItem<V>[] = [];
  let passed = 0;
  let looked = 0;
  notes.check();
  for (const [key, value] of state.entries(notes.keys)) {
    looked += 1;
    if (notes.isTouched(key)) passed += 1;
    else batch.push([key, value]);
    if (looked % BATCH !== 0 || passed > notes.touchedSoFar) continue;
    yield batch.filter(([each]) => !notes.isTouched(each));
    check(notes, signal);
    batch = [];
  }
  for (let at = 0; at < batch.length; at += BATCH) {
    yield batch.slice(at, at + BATCH).filter(([key]) => !notes.isTouched(key));
    check(notes, signal);
  }
  notes.endSnapshot();
}

function check(notes: KeyNotes<string>, signal: AbortSignal): void {
  signal.throwIfAborted();
  notes.check();
}

class KeyedStage<V> implements Stage<KeyedItem<V>> {
  readonly #state: KeyedState<V>;
  readonly #items = new Map<string, V>();
  #isDiscarded = false;

  constructor(state: KeyedState<V>) {
    this.#state = state;
  }

  add(items: readonly KeyedItem<V>[]): void {
    assert(!this.#isDiscarded, 'items come before the stage is discarded');
    for (const [key, value] of items) {
      if (value === undefined) this.#items.delete(key);
      else this.#items.set(key, value);
    }
  }

  commit(keys: RangeSet): void {
    assert(!this.#isDiscarded, 'a stage that is discarded is not committed');
    this.#state.forget(keys);
    for (const [key, value] of this.#items) if (keys.has(key)) this.#state.write(key, value);
  }

  discard(): void {
    this.#isDiscarded = true;
    this.#items.clear();
  }
}
