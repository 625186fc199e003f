/**
 * Items that wait to be sent, and the chunks that are made of them. Items are encoded when their chunk is made, so a batch of a million items costs
 * one turn no more than 512 of them; a touched item that changes while it waits is sent in its later form, and again when its change comes.
 */

import { CHUNK_BYTES_MAX, CHUNK_ITEMS_MAX, ITEM_BYTES_MAX } from '../../wire/transfer.ts';
import { type CarriedState, nameItem, reason, Uncarriable } from './carried-state.ts';

/** Items of one state, encoded. */
export interface Chunk {
  readonly place: number;
  readonly items: readonly Uint8Array[];
  readonly bytes: number;
}

interface Batch {
  readonly place: number;
  readonly items: readonly unknown[];
  at: number;
}

export class ItemQueue {
  readonly #states: readonly CarriedState[];
  #batches: Batch[] = [];
  #size = 0;
  /** Encoded already, but too large for the chunk before. */
  #ahead: Uint8Array | undefined;

  constructor(states: readonly CarriedState[]) {
    this.#states = states;
  }

  get size(): number {
    return this.#size;
  }

  push(place: number, items: readonly unknown[]): void {
    if (items.length === 0) return;
    this.#batches.push({ place, items, at: 0 });
    this.#size += items.length;
  }

  /**
   * The next items of one state; undefined if none wait.
   *
   * @throws {Uncarriable} if an item cannot travel
   */
  take(): Chunk | undefined {
    const place = this.#batches[0]?.place;
    if (place === undefined) return undefined;
    const items: Uint8Array[] = [];
    let bytes = 0;
    while (items.length < CHUNK_ITEMS_MAX) {
      const batch = this.#batches[0];
      if (batch === undefined || batch.place !== place) break;
      const item = this.#ahead ?? this.#encoded(batch);
      if (items.length > 0 && bytes + item.length > CHUNK_BYTES_MAX) {
        this.#ahead = item;
        break;
      }
      this.#ahead = undefined;
      items.push(item);
      bytes += item.length;
      this.#size -= 1;
      batch.at += 1;
      if (batch.at === batch.items.length) this.#batches.shift();
    }
    return { place, items, bytes };
  }

  #encoded({ place, items, at }: Batch): Uint8Array {
    const state = this.#states[place] as CarriedState;
    const item = items[at];
    let bytes: Uint8Array;
    try {
      bytes = state.codec.encode(item);
      if (!(bytes instanceof Uint8Array)) throw new Error('its codec gave no bytes');
    } catch (thrown) {
      const cure = `store plain values in ${state.name}, or give it a codec that writes them`;
      throw new Uncarriable(`${nameItem(item)} in ${state.name} cannot travel: ${reason(thrown)}; ${cure}`);
    }
    if (bytes.length <= ITEM_BYTES_MAX) return bytes;
    const most = `at most ${ITEM_BYTES_MAX} can travel; divide it among several keys`;
    throw new Uncarriable(`${nameItem(item)} in ${state.name} has ${bytes.length} bytes, and ${most}`);
  }
}
