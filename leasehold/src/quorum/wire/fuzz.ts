/** Damages messages, calls and frames, and checks that a reader refuses them or reads something that keeps the rules. */

import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { Dice } from '../../runtime/dice.ts';
import { MalformedMessageError } from '../../runtime/errors.ts';
import { decodeCalls, decodeReplies, encodeCalls, encodeReplies } from './calls.ts';
import { decodeJournalFrame, encodeJournalFrame } from './frames.ts';
import { decodeMessage, encodeMessage } from './messages.ts';
import { CALLS, FRAMES, MESSAGES, REPLIES } from './samples.ts';

interface Subject {
  readonly bytes: Uint8Array;
  again(input: Uint8Array): { readonly value: unknown; readonly back: unknown };
}

const subject = <T>(
  value: T,
  encode: (value: T) => Uint8Array,
  decode: (bytes: Uint8Array) => T,
): Subject => ({
  bytes: encode(value),
  again: (input) => {
    const read = decode(input);
    return { value: read, back: decode(encode(read)) };
  },
});

const SUBJECTS: readonly Subject[] = [
  ...MESSAGES.map((message) => subject(message, encodeMessage, decodeMessage)),
  subject(CALLS, encodeCalls, decodeCalls),
  subject(REPLIES, encodeReplies, decodeReplies),
  ...FRAMES.map((frame) => subject(frame, encodeJournalFrame, decodeJournalFrame)),
];

/** @throws if a reader throws anything but a refusal, or reads a value that no writer writes */
export function fuzzQuorum(
  runs: number,
  seed: number,
): { readonly accepted: number; readonly refused: number } {
  const dice = new Dice(seed);
  let accepted = 0;
  for (let run = 0; run < runs; run += 1) {
    const { bytes, again } = dice.pick(SUBJECTS);
    const input = damaged(dice, bytes);
    try {
      const { value, back } = again(input);
      if (!isDeepStrictEqual(value, back)) throw new Error('read back as something else');
      accepted += 1;
    } catch (error) {
      if (error instanceof MalformedMessageError) continue;
      throw new Error(`run ${run} of seed ${seed}: ${Buffer.from(input).toString('hex')}`, { cause: error });
    }
  }
  return { accepted, refused: runs - accepted };
}

function damaged(dice: Dice, whole: Uint8Array): Uint8Array {
  let bytes = Buffer.from(whole);
  for (let damages = 1 + dice.below(3); damages > 0; damages -= 1) {
    const at = dice.below(bytes.length + 1);
    const cut = dice.pick([0, 1, 1, 8, bytes.length]);
    const put = dice.pick([
      [],
      [dice.below(256)],
      [0xff],
      [0x80],
      [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f],
    ]);
    bytes = Buffer.concat([bytes.subarray(0, at), Uint8Array.from(put), bytes.subarray(at + cut)]);
  }
  return bytes;
}
