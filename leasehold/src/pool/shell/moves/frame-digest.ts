/**
 * The frames of an attempt, counted: the number of the next frame, and the digest of those so far. The source counts what it sends and the target what it has staged; if
 * both say the same digest, nothing was lost, altered, or taken twice between them.
 */

import { checksum } from '../../../log/file/checksum.ts';
import type { Digest } from '../../wire/transfer.ts';

export class FrameDigest {
  #sequence = 0;
  #items = 0;
  #bytes = 0;
  #checksum = 0;

  /** Of the frame after those that were added. */
  get next(): number {
    return this.#sequence + 1;
  }

  get digest(): Digest {
    return { items: this.#items, bytes: this.#bytes, checksum: this.#checksum };
  }

  /** @param items those of a chunk; none of another frame */
  add(frame: Uint8Array, items: readonly Uint8Array[] = []): void {
    this.#sequence += 1;
    this.#checksum = checksum(frame, this.#checksum);
    this.#items += items.length;
    this.#bytes += bytesOf(items);
  }
}

export const bytesOf = (items: readonly Uint8Array[]): number =>
  items.reduce((sum, { length }) => sum + length, 0);

export const isSameDigest = (one: Digest, other: Digest): boolean =>
  one.items === other.items && one.bytes === other.bytes && one.checksum === other.checksum;
