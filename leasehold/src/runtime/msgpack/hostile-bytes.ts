/**
 * Frames that no honest peer would send, for the fuzzers of all wire formats. Good frames are damaged a little, since damage all over
 * never gets past the first byte; now and then a frame is noise.
 */

import { Buffer } from 'node:buffer';
import type { Dice } from '../dice.ts';

/** @param telling bytes that mean much in this format, such as kinds and long lengths */
export function hostileBytes(
  dice: Dice,
  frames: readonly Uint8Array[],
  telling: readonly number[],
): Uint8Array {
  if (dice.below(20) === 0) return Uint8Array.from({ length: dice.below(120) }, () => dice.below(256));
  let bytes = dice.pick(frames);
  for (let damages = 1 + dice.below(3); damages > 0; damages -= 1) {
    const at = dice.below(bytes.length + 1);
    const { cut, put } = damage(dice, bytes, at, telling, frames);
    bytes = Buffer.concat([bytes.subarray(0, at), Uint8Array.from(put), bytes.subarray(at + cut)]);
  }
  return bytes;
}

/** How many bytes to take out, and which to put there. */
function damage(
  dice: Dice,
  bytes: Uint8Array,
  at: number,
  telling: readonly number[],
  frames: readonly Uint8Array[],
): { readonly cut: number; readonly put: Iterable<number> } {
  const length = 1 + dice.below(12);
  switch (dice.below(9)) {
    case 0:
      return { cut: 1, put: [(bytes[at] ?? 0) ^ (1 << dice.below(8))] };
    case 1:
      return { cut: 1, put: [dice.pick(telling)] };
    case 2:
      return { cut: bytes.length, put: [] };
    case 3:
      return { cut: length, put: [] };
    case 4:
      return { cut: 0, put: bytes.subarray(at, at + length) };
    case 5:
      return { cut: 0, put: [dice.pick(telling), 0xff, 0xff, 0xff, 0xff] };
    case 6:
      return { cut: 1, put: [dice.below(256)] };
    case 7: {
      const other = dice.pick(frames);
      return { cut: bytes.length, put: other.subarray(dice.below(other.length)) };
    }
    default:
      return { cut: dice.below(2) * 8, put: [dice.pick(telling), 0xf0, 0, 0, 0, 0, 0, 0] };
  }
}
