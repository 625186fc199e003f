/**
 * Bytes that no honest server would send, in any number, from a seed. Each input is refused with a {@link MalformedMessageError}, or is a
 * message that stays the same when written and read again.
 */

import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { Dice } from '../../runtime/dice.ts';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { hostileBytes } from '../../runtime/msgpack/hostile-bytes.ts';
import type { AnyMessage } from '../core/messages.ts';
import { decodeMessage, encodeMessage } from './codec.ts';
import { SAMPLES } from './samples.ts';

export interface FuzzOutcome {
  readonly accepted: number;
  readonly refused: number;
}

/** Kinds, places of ids, lengths that are long, and beginnings of doubles that are no numbers. */
const TELLING: readonly number[] = [0, 1, 2, 3, 4, 8, 9, 0x7f, 0x80, 0x81, 0xff, 0xf0, 0x42];

/** @throws {Error} naming the input, if the codec does anything else */
export function fuzzMembership(runs: number, seed: number): FuzzOutcome {
  const dice = new Dice(seed);
  const samples = Object.values(SAMPLES);
  samples.forEach(readBack);
  const frames = samples.flatMap(encodeMessage);
  let accepted = 0;
  for (let run = 0; run < runs; run += 1) {
    const input = hostileBytes(dice, frames, TELLING);
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
  let message: AnyMessage;
  try {
    message = decodeMessage(input);
  } catch (error) {
    if (error instanceof MalformedMessageError) return false;
    throw error;
  }
  readBack(message);
  return true;
}

function readBack(message: AnyMessage): void {
  const [frame = new Uint8Array()] = encodeMessage(message); // So little fits into one frame.
  if (!isDeepStrictEqual(decodeMessage(frame), message)) throw new Error('read back as another message');
}
