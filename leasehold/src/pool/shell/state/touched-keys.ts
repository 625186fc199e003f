/**
 * Which keys were touched since a snapshot of them began: what a move has to send again.
 *
 *     snapshot ──► reads a ──► reads b ──────────► reads d ──► end
 *                        b touched     c deleted
 *     changes                                                      b, c        (c: a deletion; the snapshot never came to c)
 *
 * **Why nothing is missed.** Notes begin before the first item is read. An item that is never touched is read by the snapshot as it is; one that is
 * touched is in the notes, whether the snapshot has read it before, reads it after, or never comes to it. What is sent for a
 * note is read when it is sent, so a key that is touched a hundred times is sent once, and a note can never be older than the state.
 *
 * **Why a snapshot ends.** A `Map` whose entries are put at its end is never at its end. A snapshot passes over keys that were touched since it
 * began; what remains was there at its start, and comes once.
 *
 * Notes are of disjoint sets of keys. A snapshot of keys of which there are notes replaces these notes: two moves of one key would each have
 * a part of its changes. The earlier snapshot then ends with an error, and never looks like a whole one.
 */

import type { Key } from '../../../runtime/keys/hash.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import { snapshotIsOver } from '../errors.ts';

/** The notes for one snapshot. */
export class KeyNotes<K extends Key> {
  readonly keys: RangeSet;
  #isOver = false;
  /** To be sent; the last touched last. */
  readonly #waiting = new Set<K>();
  /** Touched since the snapshot began, sent or not; undefined once the snapshot has been read. */
  #passed: Set<K> | undefined = new Set();

  constructor(keys: RangeSet) {
    this.keys = keys;
  }

  touched(key: K): void {
    this.#waiting.delete(key);
    this.#waiting.add(key);
    this.#passed?.add(key);
  }

  /** The snapshot need not read this key: its change is sent. */
  isTouched(key: K): boolean {
    return this.#passed?.has(key) === true;
  }

  /** How many keys were touched while the snapshot was read. */
  get touchedSoFar(): number {
    return this.#passed?.size ?? 0;
  }

  /** @throws {UnavailableError} SNAPSHOT_OVER */
  check(): void {
    if (this.#isOver) throw snapshotIsOver();
  }

  /** The snapshot has read everything. */
  endSnapshot(): void {
    this.#passed = undefined;
  }

  /** What is to be sent, and is waiting no more. */
  take(): readonly K[] {
    const keys = [...this.#waiting];
    this.#waiting.clear();
    return keys;
  }

  end(): void {
    this.#isOver = true;
    this.#waiting.clear();
    this.#passed = undefined;
  }
}

export class TouchedKeys<K extends Key> {
  #notes: readonly KeyNotes<K>[] = [];

  /** From now on what is touched among these keys is noted. */
  begin(keys: RangeSet): KeyNotes<K> {
    this.end(keys);
    const notes = new KeyNotes<K>(keys);
    this.#notes = [...this.#notes, notes];
    return notes;
  }

  /** To be called after each change of a key. */
  touched(key: K): void {
    // Not `for … of`: this is asked at each `set` of a map, and mostly nothing moves.
    for (let index = 0; index < this.#notes.length; index += 1) {
      const notes = this.#notes[index] as KeyNotes<K>;
      if (notes.keys.has(key)) notes.touched(key);
    }
  }

  /** The notes of exactly these keys. @throws {UnavailableError} SNAPSHOT_OVER, if there are none */
  of(keys: RangeSet): KeyNotes<K> {
    const found = this.#notes.find((notes) => areEqual(notes.keys, keys));
    if (found === undefined) throw snapshotIsOver();
    return found;
  }

  /** No more notes of these keys; returns those that there were. */
  end(keys: RangeSet): readonly KeyNotes<K>[] {
    const ended = this.#notes.filter((notes) => meet(notes.keys, keys));
    for (const notes of ended) notes.end();
    this.#notes = this.#notes.filter((notes) => !ended.includes(notes));
    return ended;
  }
}

const areEqual = (one: RangeSet, other: RangeSet): boolean =>
  one.subtract(other).isEmpty && other.subtract(one).isEmpty;

const meet = (one: RangeSet, other: RangeSet): boolean => !one.intersect(other).isEmpty;
