/**
 * Bytes that no honest member would send, in any number, from a seed.
 *
 * Good frames are damaged a little, since damage all over never gets past the first byte. Every input is
 * refused with a {@link MalformedMessageError}, or it is a packet; and then that packet, written, must be read as
 * the same.
 */

import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { Dice } from '../../runtime/dice.ts';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { hostileBytes } from '../../runtime/msgpack/hostile-bytes.ts';
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
  samples.forEach(readBack); // A field that the encoder leaves out is in none of the frames to be damaged.
  const frames = samples.flatMap(encodePacket);
  let accepted = 0;
  for (let run = 0; run < runs; run += 1) {
    const input = hostileBytes(dice, frames, BYTES);
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
