/**
 * Membership as bytes, for a transport. What goes out is frames already, because records may take several; each of them is a whole message.
 */

import type { Codec } from '../../runtime/codec.ts';
import { decode, encode } from '../../runtime/wire/form.ts';
import type { AnyMessage, Records } from '../core/messages.ts';
import { FRAME_BYTES, RECORDS_MAX } from './bounds.ts';
import { message } from './messages.ts';

/** The version changes with every change of a form. */
export const MEMBERSHIP_PROTOCOL: {
  readonly name: string;
  readonly version: number;
  readonly oldest: number;
} = { name: 'leasehold-membership', version: 7, oldest: 7 };

export const membershipCodec: Codec<Uint8Array, AnyMessage> = {
  encode: (frame) => frame,
  decode: decodeMessage,
};

export const encodeMessage = (given: AnyMessage): Uint8Array[] =>
  given.kind === 'records' ? recordFrames(given) : [encode(message, given)];

/** Halves, and halves again, as long as a frame is too large: records that name the same processes are small together. */
function recordFrames(given: Records): Uint8Array[] {
  const { records } = given;
  const frame = records.length > RECORDS_MAX ? undefined : encode(message, given);
  if (frame !== undefined && (frame.length <= FRAME_BYTES || records.length === 1)) return [frame];
  const half = Math.ceil(records.length / 2);
  return [records.slice(0, half), records.slice(half)].flatMap((part) =>
    recordFrames({ kind: 'records', records: part }),
  );
}

/** @throws {MalformedMessageError} and nothing else */
export function decodeMessage(frame: Uint8Array): AnyMessage {
  return decode(message, frame);
}
