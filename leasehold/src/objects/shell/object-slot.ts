/**
 * The state of one object: live, as the handlers have it, or saved, as bytes.
 *
 *     empty ── first turn ──► live ◄──────── next turn ───────── saved
 *                              └─ idle: what was saved at the end of the last turn ─┘
 *
 * At the end of each turn the state is saved as plain data, although the live one goes on. So a state that cannot be saved is named at the turn that
 * made it so, and not when the object is to leave the memory; and a read that has changed the state is found, because the bytes differ.
 * A state that could not be saved stays live until a later turn mends it.
 */

import type { CheckedDefinition, Loaded } from '../core/define-object.ts';
import { decodePlain, encodePlain, STATE_BYTES_MAX } from '../wire/plain-data.ts';

interface Saved {
  readonly bytes: Uint8Array;
  readonly version: number;
}

export class ObjectSlot {
  /** Undefined: empty or saved. */
  live: { state: unknown } | undefined;
  #saved: Saved | undefined;
  /** The live state is the saved one. */
  #isSaved = false;

  /** Makes the state live. */
  load(definition: CheckedDefinition, key: string): Loaded | undefined {
    if (this.live !== undefined) return undefined;
    if (this.#saved === undefined) {
      this.live = { state: definition.state(key) };
      return 'new';
    }
    this.live = { state: stateOf(definition, this.#saved) };
    return 'stored';
  }

  /**
   * At the end of a turn.
   *
   * @throws {InvalidArgumentError} for a state that is not plain data, or too large
   */
  save(definition: CheckedDefinition): void {
    this.#isSaved = false;
    if (this.live === undefined) return;
    this.#saved = { bytes: bytesOf(definition, this.live.state), version: definition.version };
    this.#isSaved = true;
  }

  /** At the end of a read: is the state as it was? With `save`, bytes of the same state may differ, and nothing is asked. */
  isUnchanged(definition: CheckedDefinition): boolean {
    if (
      this.live === undefined ||
      this.#saved === undefined ||
      definition.save !== undefined ||
      !this.#isSaved
    )
      return true;
    return equal(bytesOf(definition, this.live.state), this.#saved.bytes);
  }

  /** The next turn loads what was saved. A state that could not be saved stays. */
  evict(): void {
    if (this.#isSaved) this.live = undefined;
  }

  /** Takes back what was done since the last save: loading failed, or a read changed the state. */
  takeBack(): void {
    this.live = undefined;
  }

  copy(): ObjectSlot {
    const copy = new ObjectSlot();
    copy.#saved = this.#saved;
    copy.#isSaved = this.#saved !== undefined;
    return copy;
  }
}

function stateOf(definition: CheckedDefinition, { bytes, version }: Saved): unknown {
  const saved = decodePlain(bytes, STATE_BYTES_MAX);
  return definition.load === undefined ? saved : definition.load(saved, version);
}

function bytesOf(definition: CheckedDefinition, state: unknown): Uint8Array {
  const saved = definition.save === undefined ? state : definition.save(state);
  return encodePlain('state', saved, STATE_BYTES_MAX);
}

const equal = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, index) => byte === other[index]);
