/**
 * Bytes that no honest peer would send, in any number, from a seed.
 *
 * Frames that are good are damaged a little, since damage all over never gets past the first byte. For any bytes the
 * codec may do two things: refuse them with a {@link MalformedMessageError}, or accept them as a message; and then
 * that message, encoded, must be read back as the same.
 */

import { Buffer } from 'node:buffer';
import type { Codec } from '../../runtime/codec.ts';
import { Dice } from '../../runtime/dice.ts';
import { MalformedMessageError } from '../../runtime/errors.ts';
import type { FromManager, ToGate } from '../messages.ts';
import { clientCodec, managerCodec } from './codec.ts';
import { encodeMessage } from './encode.ts';
import { FROM_MANAGER, TO_MANAGER } from './samples.ts';

export interface FuzzOutcome {
  readonly accepted: number;
  readonly refused: number;
}

/** Heads of things that are long, deep, or not ours. */
const HEADS: readonly number[] = [
  ...[0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc4, 0xc6, 0xc7, 0xc9, 0xca, 0xcb],
  ...[0xcf, 0xd3, 0xd4, 0xd8, 0xd9, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff],
];

/**
 * @throws {Error} naming the input, if the codec does anything else
 */
export function fuzzCodec(runs: number, seed: number): FuzzOutcome {
  const dice = new Dice(seed);
  const sides = [
    { decode: managerCodec.decode, frames: framesOf(TO_MANAGER) },
    { decode: clientCodec.decode, frames: framesOf(FROM_MANAGER) },
  ];
  let accepted = 0;
  for (let run = 0; run < runs; run += 1) {
    const { decode, frames } = dice.pick(sides);
    const input = hostile(dice, frames);
    try {
      if (isAccepted(decode, input)) accepted += 1;
    } catch (error) {
      const hex = Buffer.from(input).toString('hex');
      throw new Error(`run ${run} of seed ${seed}: ${hex}`, { cause: error });
    }
  }
  return { accepted, refused: runs - accepted };
}

const framesOf = (samples: Readonly<Record<string, ToGate | FromManager>>): readonly Uint8Array[] =>
  Object.values(samples).map(encodeMessage);

function isAccepted(decode: Codec<never, ToGate | FromManager>['decode'], input: Uint8Array): boolean {
  let message: ToGate | FromManager;
  try {
    message = decode(input);
  } catch (error) {
    if (error instanceof MalformedMessageError) return false;
    throw error;
  }
  const ours = encodeMessage(message);
  if (Buffer.compare(ours, encodeMessage(decode(ours))) !== 0)
    throw new Error('read back as another message');
  return true;
}

function hostile(dice: Dice, frames: readonly Uint8Array[]): Uint8Array {
  if (dice.below(20) === 0) return Uint8Array.from({ length: dice.below(80) }, () => dice.below(256));
  let bytes = dice.pick(frames);
  for (let damages = 1 + dice.below(3); damages > 0; damages -= 1) {
    const at = dice.below(bytes.length + 1);
    const { cut, put } = damage(dice, bytes, at, frames);
    bytes = Buffer.concat([bytes.subarray(0, at), Uint8Array.from(put), bytes.subarray(at + cut)]);
  }
  return bytes;
}

/** How many bytes to take out, and the bytes to put there. */
function damage(
  dice: Dice,
  bytes: Uint8Array,
  at: number,
  frames: readonly Uint8Array[],
): { readonly cut: number; readonly put: Iterable<number> } {
  const length = 1 + dice.below(8);
  switch (dice.below(8)) {
    case 0:
      return { cut: 1, put: [(bytes[at] ?? 0) ^ (1 << dice.below(8))] };
    case 1:
      return { cut: 1, put: [dice.below(256)] };
    case 2:
      return { cut: 1, put: [dice.pick(HEADS)] };
    case 3:
      return { cut: bytes.length, put: [] };
    case 4:
      return { cut: length, put: [] };
    case 5:
      return { cut: 0, put: bytes.subarray(at, at + length) };
    case 6:
      return { cut: 0, put: [dice.pick(HEADS), 0xff, 0xff, 0xff, 0xff] };
    default: {
      const other = dice.pick(frames);
      return { cut: bytes.length, put: other.subarray(dice.below(other.length)) };
    }
  }
}
