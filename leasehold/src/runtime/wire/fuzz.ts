/**
 * Bytes that no honest peer would send, in any number, from a seed, for every protocol.
 *
 * The samples of a form are written, and then damaged. A reader may do two things with the damaged bytes: refuse them with a
 * {@link MalformedMessageError}, or read a value; and then that value, written, must be read back as the same. First every sample must
 * be read as it was written: a field that the writer leaves out is in none of the frames to be damaged.
 */

import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { wholePayload } from '../codec.ts';
import { Dice } from '../dice.ts';
import { MalformedMessageError } from '../errors.ts';
import { hostileBytes } from '../msgpack/hostile-bytes.ts';
import { decodeEnvelope, encodeEnvelope, type Entry } from './envelope.ts';
import { decode, encode, type Form } from './form.ts';

export interface FuzzOutcome {
  readonly accepted: number;
  readonly refused: number;
}

/** One kind of frame: good frames, and what must hold for all others. */
export interface Subject {
  readonly frames: readonly Uint8Array[];
  /**
   * Reads, writes and reads again.
   *
   * @throws {MalformedMessageError} if the bytes are refused
   * @throws {Error} if the value changes on its way
   */
  pass(bytes: Uint8Array): void;
}

export function subject<T>(
  samples: readonly T[],
  write: (value: T) => Uint8Array,
  read: (bytes: Uint8Array) => T,
): Subject {
  const check = (value: T): void => {
    if (!isDeepStrictEqual(read(write(value)), value)) throw new Error('read back as something else');
  };
  samples.forEach(check);
  return { frames: samples.map(write), pass: (bytes) => check(read(bytes)) };
}

export const subjectOf = <T>(form: Form<T>): Subject =>
  subject(
    form.samples(),
    (value) => encode(form, value),
    (bytes) => decode(form, bytes),
  );

export const envelopeSubject = <T>(form: Entry<T>): Subject =>
  subject(
    form.samples(),
    (message) => wholePayload(encodeEnvelope(form, message)),
    (frame) => decodeEnvelope(form, frame),
  );

/** Heads of MessagePack that are long, deep, or mean nothing here. */
export const TELLING_ENVELOPE: readonly number[] = [
  ...[0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc4, 0xc6, 0xc7, 0xc9, 0xca, 0xcb],
  ...[0xcf, 0xd3, 0xd4, 0xd8, 0xd9, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff],
];

/** Kinds, lengths that are long, and beginnings of doubles that are no numbers. */
const TELLING: readonly number[] = [0, 1, 2, 3, 4, 6, 7, 11, 12, 13, 14, 0x42, 0x7f, 0x80, 0x81, 0xf0, 0xff];

/**
 * @param telling bytes that mean much in this format
 * @throws {Error} naming the input, if a reader does anything else
 */
export function fuzz(
  subjects: readonly Subject[],
  runs: number,
  seed: number,
  telling: readonly number[] = TELLING,
): FuzzOutcome {
  const dice = new Dice(seed);
  let accepted = 0;
  for (let run = 0; run < runs; run += 1) {
    const { frames, pass } = dice.pick(subjects);
    const input = hostileBytes(dice, frames, telling);
    try {
      pass(input);
      accepted += 1;
    } catch (error) {
      if (error instanceof MalformedMessageError) continue;
      throw new Error(`run ${run} of seed ${seed}: ${Buffer.from(input).toString('hex')}`, { cause: error });
    }
  }
  return { accepted, refused: runs - accepted };
}
