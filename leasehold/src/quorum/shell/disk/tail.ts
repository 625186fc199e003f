/**
 * What lies behind the last frame of a journal that can be read: nothing, what a crash leaves, or damage.
 *
 * One frame at a time is written, over zeros, and nobody hears of it before the sync. So a crash leaves one frame of which some sectors have not
 * arrived. A disk writes sectors whole, in any order: a sector that is missing is zeros as before, or lies behind the end of the file.
 *
 *     sectors     │ … frame 41 │ frame 42 … │ … frame 42 … │ … frame 42  zeros │
 *     torn                     │  arrived   │    zeros     │     arrived       │      a sector is missing: nobody has heard of frame 42
 *     damaged                  │  arrived   │  one byte    │     arrived       │      none is missing: others may have counted its votes
 *
 * A frame with every sector and a wrong checksum may have been synced, acknowledged and overwritten since. So may bytes behind the place where the
 * frame ends by its own word, and a beginning that no frame has. Such a directory may have lost a vote, and needs the word of every
 * other member, as a copy does (`core/check-in.ts`). A torn one does not: otherwise no cell with one broken machine could start after a power cut.
 *
 * For this, the first and the last byte of a frame are never zero: a part of a frame in its first or last sector is zero only if it is missing. A
 * sector in the middle may hold zeros of a value. Then damage elsewhere in the same frame is taken for a torn write, as is an acknowledged frame of which
 * a whole sector was zeroed, or from which the file was cut.
 */

import { decodeFrameHead } from '../../../log/file/format.ts';

export type TailState = 'clean' | 'torn' | 'damaged';

/** The least unit of a disk; larger ones are multiples. */
const SECTOR_BYTES = 512;

/** @param index of the frame that would come next, at `offset` */
export function stateOfTail(file: Uint8Array, offset: number, index: number): TailState {
  const isZero = (first: number, end: number): boolean =>
    file.subarray(first, end).every((byte) => byte === 0);
  if (isZero(offset, file.length)) return 'clean';
  const hasHole = (end: number): boolean => {
    for (let first = offset; first < end; ) {
      const next = Math.min(end, first - (first % SECTOR_BYTES) + SECTOR_BYTES);
      if (next > file.length || isZero(first, next)) return true;
      first = next;
    }
    return false;
  };
  const head = decodeFrameHead(file, offset);
  if (hasHole(offset + head.bytes)) return 'torn';
  if (!head.isSingle || head.index !== index || !isZero(head.bodyEnd, file.length)) return 'damaged';
  return hasHole(head.bodyEnd) ? 'torn' : 'damaged';
}
