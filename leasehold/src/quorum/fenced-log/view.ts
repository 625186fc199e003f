/**
 * The log as this process has seen it committed: values by slot, in order, from the watch of the local replica.
 *
 * A leader starts from this view, once the view has reached the slot of its own election. That is enough: every append of an
 * earlier leader reads `term`, so it conflicts with the write that elected this leader, and conflicts are committed in the
 * order of their slots. An append in an earlier slot is in the view; one in a later slot finds another `term`, and
 * writes nothing. Followers are told from the same view.
 *
 * A value that cannot be read is damage by another user of the cell, who wrote under our tag. The log is then unreadable
 * for every Manager, and the process ends instead of guessing.
 */

import type { LogBatch, LogStart } from '../../log/log.ts';
import type { Revision, Value } from '../core/operation.ts';
import type { Found } from '../core/result.ts';
import { damagedLog } from '../core/errors.ts';
import {
  batchKey,
  decodeHead,
  decodeHolder,
  decodeMeta,
  decodePointer,
  type Holder,
  HEAD_KEY,
  isPart,
  isPartOf,
  managerStorageOf,
  META_KEY,
  type Meta,
  partKey,
  positionOf,
  SNAPSHOT_KEY,
  type SnapshotPointer,
  TERM_KEY,
} from './layout.ts';

interface Versioned<T> {
  readonly value: T;
  readonly revision: Revision;
}

export class LogView {
  /** Everything up to this slot is in the view; undefined before the first values came. */
  slot: number | undefined;
  meta: Meta | undefined;
  term: Versioned<Holder> | undefined;
  head: Versioned<number> | undefined;
  pointer: Versioned<SnapshotPointer> | undefined;
  /** What Managers say of themselves, by the storage id of their replica. */
  readonly managers: Map<string, Value> = new Map<string, Value>();
  readonly #batches = new Map<number, Uint8Array>();
  readonly #parts = new Map<string, Uint8Array>();

  /** @throws {StorageError} */
  whole(found: readonly Found[], slot: number): void {
    this.meta = undefined;
    this.term = undefined;
    this.head = undefined;
    this.pointer = undefined;
    for (const each of [this.managers, this.#batches, this.#parts]) each.clear();
    this.changed(found, slot);
  }

  /** @throws {StorageError} */
  changed(found: readonly Found[], slot: number): void {
    this.slot = slot;
    for (const each of found) this.#take(each);
  }

  /** Batches after a position, in order. */
  batchesAfter(position: number): LogBatch[] {
    return [...this.#batches.keys()]
      .filter((each) => each > position)
      .sort((a, b) => a - b)
      .map((each) => ({ position: each, bytes: this.#batches.get(each) as Uint8Array }));
  }

  /** @throws {StorageError} if there is no log, or a part of the snapshot is missing */
  start(): LogStart {
    if (this.meta === undefined) throw damagedLog(META_KEY);
    const { history, key, floor } = this.meta;
    const snapshot = this.#snapshot();
    return { history, key, floor, snapshot, batches: this.batchesAfter(snapshot?.position ?? 0) };
  }

  /** Keys that the newest snapshot has made superfluous. */
  get rubbish(): string[] {
    const { position = 0, id = '' } = this.pointer?.value ?? {};
    const parts = [...this.#parts.keys()].filter((key) => !isPartOf(id, key));
    const batches = [...this.#batches.keys()].filter((each) => each <= position);
    return [...parts, ...batches.map(batchKey)];
  }

  #snapshot(): LogStart['snapshot'] {
    const pointer = this.pointer?.value;
    if (pointer === undefined) return undefined;
    const { position, id, parts } = pointer;
    const pieces = Array.from({ length: parts }, (_, part) => {
      const piece = this.#parts.get(partKey(id, part));
      if (piece === undefined) throw damagedLog(partKey(id, part));
      return piece;
    });
    const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return { position, bytes };
  }

  #take({ key, value, revision }: Found): void {
    const position = positionOf(key);
    const manager = managerStorageOf(key);
    if (position !== undefined) put(this.#batches, position, value);
    else if (manager !== undefined) put(this.managers, manager, value);
    else if (isPart(key)) put(this.#parts, key, value);
    else if (key === META_KEY) this.meta = value && readable(key, decodeMeta(value));
    else if (key === TERM_KEY) this.term = value && { value: readable(key, decodeHolder(value)), revision };
    else if (key === HEAD_KEY) this.head = value && { value: readable(key, decodeHead(value)), revision };
    else if (key === SNAPSHOT_KEY)
      this.pointer = value && { value: readable(key, decodePointer(value)), revision };
  }
}

function put<Key>(map: Map<Key, Value>, key: Key, value: Value | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

function readable<T>(key: string, decoded: T | undefined): T {
  if (decoded === undefined) throw damagedLog(key);
  return decoded;
}
