/**
 * Several asks or answers in one datagram of a group: all that one server has to say to another in a turn.
 *
 * Each item is written once, as on a connection (`messages.ts`), because its length decides whether there is room in this datagram or in the next.
 */

import { bytes, decode, encode, type Form, list, record, word } from '../../runtime/wire/form.ts';
import type { Answer } from '../core/shared/messages.ts';
import { versioned } from './bounds.ts';
import { answer, type ToOwner, toOwner } from './messages.ts';

export type Bundle =
  | { readonly kind: 'asks'; readonly asks: readonly ToOwner[] }
  | { readonly kind: 'answers'; readonly answers: readonly Answer[] };

interface Packed {
  readonly kind: Bundle['kind'];
  readonly items: readonly Uint8Array[];
}

/** No kind of the form before, in which this was the first byte. */
const VERSION = 4;
/** The longest message of a group. */
const MESSAGE_BYTES_MAX = 64 * 1024;
/** With room for one more item. */
const BUNDLE_BYTES = 48 * 1024;

/** @internal For the fuzzer. */
export const packed: Form<{ readonly version: number; readonly message: Packed }> = versioned(
  VERSION,
  record<Packed>({ kind: word('asks', 'answers'), items: list(bytes(MESSAGE_BYTES_MAX)) }),
);

/** As many messages as are needed. */
export function encodeBundle(bundle: Bundle): Uint8Array[] {
  const { kind } = bundle;
  const frames =
    bundle.kind === 'asks'
      ? bundle.asks.map((ask) => encode(toOwner, ask))
      : bundle.answers.map((each) => encode(answer, each));
  const messages: Uint8Array[] = [];
  let next: Uint8Array[] = [];
  let length = 0;
  const flush = (): void => {
    if (next.length > 0) messages.push(encode(packed, { version: VERSION, message: { kind, items: next } }));
    next = [];
    length = 0;
  };
  for (const frame of frames) {
    if (length + frame.length > BUNDLE_BYTES) flush();
    next.push(frame);
    length += frame.length;
  }
  flush();
  return messages;
}

/** @throws {MalformedMessageError} and nothing else, for all bytes */
export function decodeBundle(datagram: Uint8Array): Bundle {
  const { kind, items: frames } = decode(packed, datagram).message;
  return kind === 'asks'
    ? { kind, asks: frames.map((frame) => decode(toOwner, frame)) }
    : { kind, answers: frames.map((frame) => decode(answer, frame)) };
}
