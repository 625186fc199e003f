/**
 * Bytes that no honest member would send, in any number, from a seed.
 *
 * Good frames are damaged a little, since damage all over never gets past the first byte. Whatever comes, it is
 * refused with a {@link MalformedMessageError}, or it is a packet; and then that packet, written, must be read as
 * the same.
 */

import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { Dice } from '../../runtime/dice.ts';
import { MalformedMessageError } from '../../runtime/errors.ts';
import type { Packet } from '../messages.ts';
import { decodePacket } from './decode.ts';
import { encodePacket } from './encode.ts';
import { SAMPLES } from './samples.ts';

export interface FuzzOutcome {
  readonly accepted: number;
  readonly refused: number;
}

/** Kinds, places of names, lengths that are long, and beginnings of doubles that are no numbers. */
const BYTES: readonly number[] = [
  0, 1, 2, 3, 4, 6, 7, 10, 11, 12, 13, 14, 0x7f, 0x80, 0x81, 0xff, 0xf0, 0x42,
];

/** @throws {Error} naming the input, if the codec does anything else */
export function fuzzFlease(runs: number, seed: number): FuzzOutcome {
  const dice = new Dice(seed);
  const samples = Object.values(SAMPLES);
  samples.forEach(readBack); // What the encoder leaves out is in none of the frames to be damaged.
  const frames = samples.flatMap(encodePacket);
  let accepted = 0;
  for (let run = 0; run < runs; run += 1) {
    const input = hostile(dice, frames);
    try {
      if (isAccepted(input)) accepted += 1;
    } catch (error) {
      const hex = Buffer.from(input).toString('hex');
      throw new Error(`run ${run} of seed ${seed}: ${hex}`, { cause: error });
    }
  }
  return { accepted, refused: runs - accepted };
}

function isAccepted(input: Uint8Array): boolean {
  let packet: Packet;
  try {
    packet = decodePacket(input);
  } catch (error) {
    if (error instanceof MalformedMessageError) return false;
    throw error;
  }
  readBack(packet);
  return true;
}

function readBack(packet: Packet): void {
  const again = decodePacket(Buffer.concat(encodePacket(packet))); // So little fits into one frame.
  if (!isDeepStrictEqual(again, packet)) throw new Error('read back as another packet');
}

function hostile(dice: Dice, frames: readonly Uint8Array[]): Uint8Array {
  if (dice.below(20) === 0) return Uint8Array.from({ length: dice.below(120) }, () => dice.below(256));
  let bytes = dice.pick(frames);
  for (let damages = 1 + dice.below(3); damages > 0; damages -= 1) {
    const at = dice.below(bytes.length + 1);
    const { cut, put } = damage(dice, bytes, at);
    bytes = Buffer.concat([bytes.subarray(0, at), Uint8Array.from(put), bytes.subarray(at + cut)]);
  }
  return bytes;
}

/** How many bytes to take out, and what to put there. */
function damage(
  dice: Dice,
  bytes: Uint8Array,
  at: number,
): { readonly cut: number; readonly put: Iterable<number> } {
  const length = 1 + dice.below(12);
  switch (dice.below(6)) {
    case 0:
      return { cut: 1, put: [(bytes[at] ?? 0) ^ (1 << dice.below(8))] };
    case 1:
      return { cut: 1, put: [dice.pick(BYTES)] };
    case 2:
      return { cut: bytes.length, put: [] };
    case 3:
      return { cut: length, put: [] };
    case 4:
      return { cut: 0, put: bytes.subarray(at, at + length) };
    default:
      return { cut: dice.below(2) * 8, put: [dice.pick(BYTES), 0xf0, 0, 0, 0, 0, 0, 0] };
  }
}
